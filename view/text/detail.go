// SPDX-License-Identifier: Apache-2.0

package text

import (
	"fmt"
	"math"
	"strings"

	"github.com/iowitness/iowitness/blame"
	"github.com/iowitness/iowitness/snapshot"
)

const indent = "    "

var bandTitles = [4]string{"<1 ms", "1-10 ms", "10-100 ms", ">100 ms"}

// histogramLines show the four bands, the quantiles with their bounds, and a bar for each slot in use.
func histogramLines(r *snapshot.Row, width int) []line {
	n := r.Hist.Count()
	if n == 0 {
		return nil
	}
	bands := snapshot.Bands(&r.Hist)
	var parts []string
	for i, title := range bandTitles {
		parts = append(parts, fmt.Sprintf("%s: %s", title, Count(bands[i])))
	}
	parts = append(parts, "p50 "+bounds(r.P50), "p99 "+bounds(r.P99), "max "+Duration(r.Max))
	var lines []line
	for _, l := range wrapped(strings.Join(parts, dot), max(width-len(indent), min(width, 1)), dim) {
		lines = append(lines, line{indent + l.text, dim})
	}
	return append(lines, bars(&r.Hist, width)...)
}

func bounds(e snapshot.Estimate) string {
	return Duration(e.AtLeast) + " to " + Duration(e.Value)
}

const widestBar = 40

func bars(h *snapshot.Histogram, width int) []line {
	var most uint64
	for _, n := range h {
		most = max(most, n)
	}
	room := widestBar
	if width > 0 {
		room = max(min(widestBar, width-44), 4)
	}
	var lines []line
	for slot, n := range h {
		if n == 0 {
			continue
		}
		lo, hi := snapshot.Bounds(slot)
		to := Duration(hi)
		if hi == math.MaxUint64 {
			to = "more"
		}
		lines = append(lines, line{fmt.Sprintf("%s%s to %s %s %s", indent, pad(Duration(lo), 7, true), pad(to, 7, true), pad(Count(n), 9, true), bar(n, most, room)), plain})
	}
	return lines
}

var eighths = []rune(" ▏▎▍▌▋▊▉")

// bar is n of most in so many columns, down to an eighth of one; n > 0 is always seen.
func bar(n, most uint64, columns int) string {
	fill := max(int(float64(n)/float64(most)*float64(columns*8)+0.5), 1)
	s := strings.Repeat("█", fill/8)
	if fill%8 > 0 {
		s += string(eighths[fill%8])
	}
	return s
}

// stackLines show the largest stacks, innermost function first.
func stackLines(r *snapshot.Row, width int) []line {
	var lines []line
	for _, st := range r.Stacks {
		what := Duration(st.Total) + " " + blame.Words(st.Cause, "")
		if st.Total == 0 {
			what = "in progress: " + blame.Words(st.Cause, "")
		}
		lines = append(lines, line{cut(indent+what, width), dim})
		for _, frame := range st.Frames {
			lines = append(lines, line{cut(indent+"  "+quote(frame), width), dim})
		}
	}
	return lines
}
