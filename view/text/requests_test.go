// SPDX-License-Identifier: Apache-2.0

package text

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/request"
	"github.com/iowitness/iowitness/request/requesttest"
	"github.com/iowitness/iowitness/snapshot"
)

func listed(t *testing.T, list []event.IO, names request.Names, o LineOptions) string {
	t.Helper()
	var b bytes.Buffer
	l, err := NewLines(&b, names, requesttest.Clock(), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Header(); err != nil {
		t.Fatal(err)
	}
	for i := range list {
		if err := l.Write(&list[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Flush(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestLinesGolden(t *testing.T) {
	hostile, hostileNames := requesttest.Hostile()
	for name, got := range map[string]string{
		"lines":          listed(t, requesttest.Requests(), requesttest.NewNames(), LineOptions{}),
		"lines_width120": listed(t, requesttest.Requests(), requesttest.NewNames(), LineOptions{Options: Options{Width: 120}}),
		"lines_width80":  listed(t, requesttest.Requests(), requesttest.NewNames(), LineOptions{Options: Options{Width: 80, ASCII: true}}),
		"lines_columns":  listed(t, requesttest.Requests(), requesttest.NewNames(), LineOptions{Options: Options{Columns: []string{"cgroup", "DEPTH", "seq", "merged", "error", "wait_tid", "wait_ns"}}}),
		"lines_all":      listed(t, requesttest.Requests(), requesttest.NewNames(), LineOptions{All: true}),
		"lines_paths":    listed(t, requesttest.Paths(), requesttest.NewNames(), LineOptions{}),
		"lines_hostile":  listed(t, hostile, hostileNames, LineOptions{Options: Options{Width: 120}}),
	} {
		golden(t, name, got)
	}
}

// The columns that readers of block traces expect come first, and fit.
func TestDefaultLines(t *testing.T) {
	header, _, _ := strings.Cut(listed(t, nil, requesttest.NewNames(), LineOptions{}), "\n")
	want := "TIME(s) COMM PID TYPE DEV SECTOR BYTES LAT(ms) QUE(ms) DEV(ms) FILE"
	if got := strings.Join(strings.Fields(header), " "); got != want {
		t.Errorf("%q, not %q", got, want)
	}
	wide := listed(t, requesttest.Requests(), requesttest.NewNames(), LineOptions{Options: Options{Width: 120}})
	if wide, _, _ := strings.Cut(wide, "\n"); len(strings.Fields(wide)) != len(strings.Fields(want)) {
		t.Errorf("120 columns do not suffice: %q", wide)
	}
}

// Where a terminal is narrow names are cut before columns go, and the latency stays to the last.
func TestNarrowLinesKeepTheLatency(t *testing.T) {
	for width, want := range map[int]string{
		110: "TIME(s) COMM PID TYPE DEV SECTOR BYTES LAT(ms) QUE(ms) DEV(ms) FILE",
		80:  "TIME(s) COMM PID TYPE DEV BYTES LAT(ms) DEV(ms)",
		60:  "TIME(s) COMM PID TYPE DEV LAT(ms)",
		40:  "COMM PID DEV LAT(ms)",
	} {
		header, _, _ := strings.Cut(listed(t, nil, requesttest.NewNames(), LineOptions{Options: Options{Width: width}}), "\n")
		if got := strings.Join(strings.Fields(header), " "); got != want {
			t.Errorf("%d columns: %q, not %q", width, got, want)
		}
	}
}

func TestLinesFitAnyWidth(t *testing.T) {
	hostile, names := requesttest.Hostile()
	for _, list := range [][]event.IO{requesttest.Requests(), hostile} {
		for width := range 200 {
			check(t, listed(t, list, names, LineOptions{Options: Options{Width: width}, All: width%2 == 0}), width)
		}
	}
}

func TestLinesBeginWithTheFirst(t *testing.T) {
	var b bytes.Buffer
	l, err := NewLines(&b, requesttest.NewNames(), request.Clock{}, LineOptions{})
	if err != nil {
		t.Fatal(err)
	}
	l.Write(&event.IO{Issued: 5e9, Completed: 6e9})
	l.Write(&event.IO{Issued: 6e9, Completed: 7.5e9})
	l.Write(&event.IO{Issued: 4e9, Completed: 5e9}) // late: no negative time
	l.Flush()
	var times []string
	for line := range strings.Lines(b.String()) {
		times = append(times, strings.Fields(line)[0])
	}
	if got := strings.Join(times, " "); got != "0.000000 1.500000 -" {
		t.Error(got)
	}
}

func TestUnknownLineColumn(t *testing.T) {
	if _, err := NewLines(&bytes.Buffer{}, nil, request.Clock{}, LineOptions{Options: Options{Columns: []string{"nonsense"}}}); err == nil || !strings.Contains(err.Error(), "choose from") {
		t.Errorf("%v", err)
	}
}

func summed(t *testing.T, s *request.Summary, names request.Names, o RequestOptions) string {
	t.Helper()
	var b bytes.Buffer
	if err := Requests(&b, s, names, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func hostileSummary() (*request.Summary, request.Names) {
	list, names := requesttest.Hostile()
	o := requesttest.Options(time.Second)
	o.Notes, o.Source, o.Kernel = []string{list[0].Owner.Comm}, list[1].Owner.Comm, list[2].Owner.Comm
	return requesttest.Collected(list).Summary(o), names
}

func TestRequestsGolden(t *testing.T) {
	names := requesttest.NewNames()
	hostile, hostileNames := hostileSummary()
	one := requesttest.Collected(requesttest.Requests()[:1]).Summary(requesttest.Options(time.Second))
	empty := request.NewCollector(0, 0).Summary(requesttest.Options(time.Second))
	everything := RequestOptions{Options: Options{Width: 120, Histogram: true}, HeatMap: true}
	for name, got := range map[string]string{
		"requests":           summed(t, requesttest.Summary(), names, RequestOptions{}),
		"requests_width80":   summed(t, requesttest.Summary(), names, RequestOptions{Options: Options{Width: 80}}),
		"requests_ascii":     summed(t, requesttest.Summary(), names, RequestOptions{Options: Options{Width: 100, ASCII: true}, HeatMap: true}),
		"requests_one":       summed(t, one, names, everything),
		"requests_empty":     summed(t, empty, names, everything),
		"requests_million":   summed(t, requesttest.Million(), names, everything),
		"requests_throttled": summed(t, requesttest.Throttled(), names, everything),
		"requests_folded":    summed(t, requesttest.Folded(), names, everything),
		"requests_paths":     summed(t, requesttest.Collected(requesttest.Paths()).Summary(requesttest.Options(time.Second)), names, RequestOptions{}),
		"requests_hostile":   summed(t, hostile, hostileNames, everything),
	} {
		golden(t, name, got)
	}
}

func TestRequestsFitAnyWidth(t *testing.T) {
	hostile, names := hostileSummary()
	for _, s := range []*request.Summary{requesttest.Summary(), requesttest.Throttled(), hostile} {
		for width := range 160 {
			check(t, summed(t, s, names, RequestOptions{Options: Options{Width: width, Histogram: true}, HeatMap: true}), width)
		}
	}
}

func TestPeaksSentence(t *testing.T) {
	for want, peaks := range map[string][]snapshot.Peak{
		"two peaks: 80 µs, 4.2 ms: 71% / 29%":                                 {{NS: 80_400, Percent: 71.2}, {NS: 4_178_000, Percent: 28.8}},
		"three peaks: 72 ns, 1 ms, 2.2 min: 40% / 35% / 25%":                  {{NS: 72, Percent: 40}, {NS: 999_600, Percent: 35}, {NS: 127e9, Percent: 25}},
		"5 peaks: 1 µs, 10 µs, 99 µs, 1 s, 10 s: 20% / 20% / 20% / 20% / 20%": {{NS: 1000, Percent: 20}, {NS: 9960, Percent: 20}, {NS: 99_400, Percent: 20}, {NS: 1e9, Percent: 20}, {NS: 9.96e9, Percent: 20}},
	} {
		if got := PeaksSentence(peaks); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}

func TestRequestErrorsComeBack(t *testing.T) {
	if err := Requests(closedPipe{}, requesttest.Summary(), requesttest.NewNames(), RequestOptions{}); !errors.Is(err, errClosed) {
		t.Error(err)
	}
	l, err := NewLines(closedPipe{}, requesttest.NewNames(), requesttest.Clock(), LineOptions{})
	if err != nil {
		t.Fatal(err)
	}
	l.Header()
	if err := l.Flush(); !errors.Is(err, errClosed) {
		t.Error(err)
	}
}
