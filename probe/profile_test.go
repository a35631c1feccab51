// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"strings"
	"testing"
)

func TestParseProfile(t *testing.T) {
	const profile = "  io_schedule                                              1917            1738\n" +
		"  twice                                                       1               1\n  twice  2  2\n  broken  1  x\n"
	for name, want := range map[string]uint64{"io_schedule": 1738} {
		if got, found := parseProfile(strings.NewReader(profile), name); !found || got != want {
			t.Errorf("%s: %d, %v", name, got, found)
		}
	}
	for _, name := range []string{"twice", "broken", "none", ""} {
		if got, found := parseProfile(strings.NewReader(profile), name); found {
			t.Errorf("%s: %d", name, got)
		}
	}
}

func FuzzParseProfile(f *testing.F) {
	f.Add("  io_schedule  1 2\n", "io_schedule")
	f.Fuzz(func(_ *testing.T, text, name string) { parseProfile(strings.NewReader(text), name) })
}
