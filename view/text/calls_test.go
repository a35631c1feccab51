// SPDX-License-Identifier: Apache-2.0

package text

import (
	"bytes"
	"strings"
	"testing"
	"unicode"

	"github.com/iowitness/iowitness/call"
	"github.com/iowitness/iowitness/call/calltest"
)

func showCalls(t *testing.T, r *call.Report, o Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := Calls(&b, r, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func showCallTree(t *testing.T, o Options) string {
	t.Helper()
	var b bytes.Buffer
	tree := calltest.Tree()
	line := calltest.Line(tree.Call)
	if err := CallHeader(&b, o); err != nil {
		t.Fatal(err)
	}
	if err := CallLine(&b, &line, calltest.At(tree.Call), o); err != nil {
		t.Fatal(err)
	}
	if err := CallTree(&b, tree, calltest.Line, calltest.At, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestCallsGolden(t *testing.T) {
	for name, got := range map[string]string{
		"calls":         showCalls(t, calltest.Report(), Options{Histogram: true}),
		"calls_width80": showCalls(t, calltest.Report(), Options{Width: 80, ASCII: true}),
		"calls_empty":   showCalls(t, calltest.Empty(), Options{}),
		"calls_single":  showCallTree(t, Options{}),
	} {
		golden(t, name, got)
	}
}

func TestCallsFitAnyTerminal(t *testing.T) {
	for width := 1; width < 160; width++ {
		for l := range strings.Lines(showCalls(t, calltest.Report(), Options{Width: width, Histogram: true}) + showCallTree(t, Options{Width: width})) {
			if n := columnsOf(strings.TrimSuffix(l, "\n")); n > width {
				t.Fatalf("%d columns where there are %d: %q", n, width, l)
			}
		}
	}
	for height := 1; height < 40; height++ {
		if n := strings.Count(showCalls(t, calltest.Report(), Options{Width: 100, Height: height}), "\n"); n > height {
			t.Fatalf("%d lines where there are %d", n, height)
		}
	}
}

func TestCallsAreQuoted(t *testing.T) {
	for _, r := range showCalls(t, calltest.Report(), Options{}) + showCallTree(t, Options{}) {
		if r != '\n' && !unicode.IsGraphic(r) {
			t.Fatalf("%q is shown", r)
		}
	}
}
