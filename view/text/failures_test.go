// SPDX-License-Identifier: Apache-2.0

package text

import (
	"bytes"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/iowitness/iowitness/failure"
	"github.com/iowitness/iowitness/failure/failuretest"
)

func showFailures(t *testing.T, r *failure.Report, o Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := Failures(&b, r, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestFailuresGolden(t *testing.T) {
	for name, got := range map[string]string{
		"errors_refused": showFailures(t, failuretest.Refused(), Options{}),
		"errors_width80": showFailures(t, failuretest.Refused(), Options{Width: 80, ASCII: true}),
		"errors_hostile": showFailures(t, failuretest.Hostile(), Options{}),
		"errors_empty":   showFailures(t, failuretest.Empty(), Options{}),
	} {
		golden(t, name, got)
	}
}

func TestFailuresFitAnyTerminal(t *testing.T) {
	for _, r := range []*failure.Report{failuretest.Refused(), failuretest.Hostile(), failuretest.Empty()} {
		for width := 1; width < 180; width++ {
			for l := range strings.Lines(showFailures(t, r, Options{Width: width})) {
				l = strings.TrimSuffix(l, "\n")
				if n := utf8.RuneCountInString(l); n > width {
					t.Fatalf("width %d: %d columns: %q", width, n, l)
				}
				if strings.ContainsFunc(l, func(c rune) bool { return !unicode.IsGraphic(c) }) {
					t.Fatalf("%q", l)
				}
			}
		}
	}
}
