// SPDX-License-Identifier: Apache-2.0

package text

import (
	"bytes"
	"strings"
	"testing"
	"unicode"

	"github.com/iowitness/iowitness/profile"
	"github.com/iowitness/iowitness/profile/profiletest"
)

func showProfile(t *testing.T, p *profile.Profile, o ProfileOptions) string {
	t.Helper()
	var b bytes.Buffer
	if err := Profile(&b, p, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestProfileGolden(t *testing.T) {
	for name, got := range map[string]string{
		"profile":         showProfile(t, profiletest.Database(), ProfileOptions{}),
		"profile_around":  showProfile(t, profiletest.Database(), ProfileOptions{Functions: 3, Around: "ExecProcNode"}),
		"profile_threads": showProfile(t, profiletest.Database(), ProfileOptions{Threads: true, Processes: 2, Functions: 2, Of: 1}),
		"profile_width60": showProfile(t, profiletest.Database(), ProfileOptions{Options: Options{Width: 60, ASCII: true}}),
		"profile_hostile": showProfile(t, profiletest.Hostile(), ProfileOptions{Options: Options{Width: 200}, Around: "\x1b[31mred\x1b[0m"}),
		"profile_empty":   showProfile(t, profiletest.Empty(), ProfileOptions{}),
	} {
		golden(t, name, got)
	}
}

func TestProfileFitsAnyTerminal(t *testing.T) {
	for _, p := range []*profile.Profile{profiletest.Database(), profiletest.Hostile(), profiletest.Empty()} {
		for width := 1; width < 160; width += 1 + width/30 {
			for l := range strings.Lines(showProfile(t, p, ProfileOptions{Options: Options{Width: width}, Around: "main"})) {
				if n := columnsOf(strings.TrimSuffix(l, "\n")); n > width {
					t.Fatalf("%d columns where there are %d: %q", n, width, l)
				}
			}
		}
		for height := 1; height < 50; height++ {
			if n := strings.Count(showProfile(t, p, ProfileOptions{Options: Options{Width: 100, Height: height}}), "\n"); n > height {
				t.Fatalf("%d lines where there are %d", n, height)
			}
		}
		for _, r := range showProfile(t, p, ProfileOptions{}) {
			if r != '\n' && !unicode.IsGraphic(r) {
				t.Fatalf("%q is shown", r)
			}
		}
	}
}
