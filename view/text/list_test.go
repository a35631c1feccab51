// SPDX-License-Identifier: Apache-2.0

package text

import (
	"bytes"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/iowitness/iowitness/diagnosis"
	"github.com/iowitness/iowitness/diagnosis/diagnosistest"
)

func showCatalog(t *testing.T, c *diagnosis.Catalog, o Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := Catalog(&b, c, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestCatalogGolden(t *testing.T) {
	for name, got := range map[string]string{
		"list":         showCatalog(t, diagnosistest.Catalog(), Options{}),
		"list_width50": showCatalog(t, diagnosistest.Catalog(), Options{Width: 50, ASCII: true}),
		"list_locked":  showCatalog(t, diagnosistest.LockedCatalog(), Options{Width: 100}),
		"list_hostile": showCatalog(t, diagnosistest.HostileCatalog(), Options{}),
	} {
		golden(t, name, got)
	}
}

func TestCatalogFitsAnyWidthAndQuotes(t *testing.T) {
	for _, c := range []*diagnosis.Catalog{diagnosistest.Catalog(), diagnosistest.LockedCatalog(), diagnosistest.HostileCatalog(), {}} {
		for width := 1; width < 120; width++ {
			out := showCatalog(t, c, Options{Width: width})
			for l := range strings.Lines(out) {
				if n := columnsOf(strings.TrimSuffix(l, "\n")); n > width {
					t.Fatalf("%d columns where there are %d: %q", n, width, l)
				}
			}
			for _, r := range out {
				if r != '\n' && !unicode.IsGraphic(r) || !utf8.ValidString(out) {
					t.Fatalf("%q", r)
				}
			}
		}
	}
}
