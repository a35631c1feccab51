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

func showDoctor(t *testing.T, r *diagnosis.Report, o Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := Doctor(&b, r, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestDoctorGolden(t *testing.T) {
	for name, got := range map[string]string{
		"doctor":         showDoctor(t, diagnosistest.LockedDown(), Options{}),
		"doctor_width60": showDoctor(t, diagnosistest.LockedDown(), Options{Width: 60, ASCII: true}),
		"doctor_nothing": showDoctor(t, diagnosistest.Nothing(), Options{Width: 80}),
		"doctor_hostile": showDoctor(t, diagnosistest.Hostile(), Options{}),
	} {
		golden(t, name, got)
	}
}

func TestDoctorFitsAnyWidth(t *testing.T) {
	for _, r := range []*diagnosis.Report{diagnosistest.LockedDown(), diagnosistest.Hostile(), diagnosistest.Nothing()} {
		for width := 1; width < 140; width++ {
			for l := range strings.Lines(showDoctor(t, r, Options{Width: width})) {
				if n := columnsOf(strings.TrimSuffix(l, "\n")); n > width {
					t.Fatalf("%d columns where there are %d: %q", n, width, l)
				}
			}
		}
	}
}

func TestDoctorQuotes(t *testing.T) {
	out := showDoctor(t, diagnosistest.Hostile(), Options{})
	if !utf8.ValidString(out) {
		t.Error("not UTF-8")
	}
	for _, r := range out {
		if r != '\n' && !unicode.IsGraphic(r) {
			t.Errorf("%q", r)
		}
	}
}
