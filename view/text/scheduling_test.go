// SPDX-License-Identifier: Apache-2.0

package text

import (
	"bytes"
	"strings"
	"testing"
	"unicode"

	"github.com/iowitness/iowitness/profile"
	"github.com/iowitness/iowitness/scheduling"
	"github.com/iowitness/iowitness/scheduling/schedulingtest"
)

func showScheduling(t *testing.T, r *scheduling.Report, o Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := Scheduling(&b, r, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestSchedulingGolden(t *testing.T) {
	for name, got := range map[string]string{
		"cpu":         showScheduling(t, schedulingtest.CPU("postgres"), Options{}),
		"offcpu":      showScheduling(t, schedulingtest.OffCPU("postgres"), Options{}),
		"runq":        showScheduling(t, schedulingtest.RunQ("postgres"), Options{}),
		"cpu_hostile": showScheduling(t, schedulingtest.CPU(schedulingtest.Hostile), Options{}),
		"runq_width":  showScheduling(t, schedulingtest.RunQ("postgres"), Options{Width: 80, Height: 30}),
		"cpu_empty":   showScheduling(t, &scheduling.Report{Kind: profile.CPU, Profile: &profile.Profile{}}, Options{}),
	} {
		golden(t, name, got)
	}
}

func TestSchedulingFitsAnyTerminal(t *testing.T) {
	for _, name := range []string{"postgres", schedulingtest.Hostile} {
		for _, r := range []*scheduling.Report{schedulingtest.CPU(name), schedulingtest.OffCPU(name), schedulingtest.RunQ(name)} {
			for width := 1; width < 160; width += 1 + width/30 {
				for l := range strings.Lines(showScheduling(t, r, Options{Width: width})) {
					if n := columnsOf(strings.TrimSuffix(l, "\n")); n > width {
						t.Fatalf("%d columns where there are %d: %q", n, width, l)
					}
				}
			}
			for height := 1; height < 50; height++ {
				if n := strings.Count(showScheduling(t, r, Options{Width: 100, Height: height}), "\n"); n > height {
					t.Fatalf("%d lines where there are %d", n, height)
				}
			}
			for _, c := range showScheduling(t, r, Options{}) {
				if c != '\n' && !unicode.IsGraphic(c) {
					t.Fatalf("%q is shown", c)
				}
			}
		}
	}
}
