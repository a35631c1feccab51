// SPDX-License-Identifier: Apache-2.0

package text

import (
	"bytes"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/iowitness/iowitness/filesystem"
	"github.com/iowitness/iowitness/filesystem/filesystemtest"
)

func showFilesystem(t *testing.T, r *filesystem.Report, o Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := Filesystem(&b, r, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestFilesystemGolden(t *testing.T) {
	for name, got := range map[string]string{
		"fs_compared": showFilesystem(t, filesystemtest.Compared(), Options{}),
		"fs_width80":  showFilesystem(t, filesystemtest.Compared(), Options{Width: 80, ASCII: true}),
		"fs_height":   showFilesystem(t, filesystemtest.Compared(), Options{Width: 120, Height: 24}),
		"fs_hostile":  showFilesystem(t, filesystemtest.Hostile(), Options{}),
		"fs_empty":    showFilesystem(t, filesystemtest.Empty(), Options{}),
	} {
		golden(t, name, got)
	}
}

func TestFilesystemFitsAnyTerminal(t *testing.T) {
	for _, r := range []*filesystem.Report{filesystemtest.Compared(), filesystemtest.Hostile(), filesystemtest.Empty()} {
		for width := 1; width < 180; width++ {
			for l := range strings.Lines(showFilesystem(t, r, Options{Width: width})) {
				if n := columnsOf(strings.TrimSuffix(l, "\n")); n > width {
					t.Fatalf("%d columns where there are %d: %q", n, width, l)
				}
			}
		}
		for height := 1; height < 50; height++ {
			if n := strings.Count(showFilesystem(t, r, Options{Width: 100, Height: height}), "\n"); n > height {
				t.Fatalf("%d lines where there are %d", n, height)
			}
		}
	}
}

func TestFilesystemQuotes(t *testing.T) {
	out := showFilesystem(t, filesystemtest.Hostile(), Options{})
	if !utf8.ValidString(out) {
		t.Error("not UTF-8")
	}
	for _, r := range out {
		if r != '\n' && !unicode.IsGraphic(r) {
			t.Errorf("%q", r)
		}
	}
}
