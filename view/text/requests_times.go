// SPDX-License-Identifier: Apache-2.0

package text

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/request"
	"github.com/iowitness/iowitness/snapshot"
)

// devicesDrawn is how many devices get a histogram unasked.
const devicesDrawn = 3

// histograms show how long requests were in each device, and the peaks of that.
func (p *requestsPage) histograms() {
	drawn := 0
	for i := range p.s.Devices {
		r := &p.s.Devices[i]
		if r.Stacked || r.Others > 0 || r.Rest || r.DeviceTimes.Count() == 0 {
			continue
		}
		peaks := snapshot.Peaks(&r.DeviceTimes)
		all := p.o.Histogram || drawn < devicesDrawn
		if !all && peaks == nil {
			continue
		}
		p.section("TIMES in " + deviceName(p.names, r.Device))
		if peaks != nil {
			p.hang("", PeaksSentence(peaks), bold)
		}
		if all {
			p.bars(request.Octaves(&r.DeviceTimes))
			drawn++
		}
		if p.o.Histogram {
			p.sizes(&r.Sizes)
		}
	}
}

// PeaksSentence tells two or more peaks, such as "two peaks: 80 µs, 4.2 ms: 71% / 29%".
func PeaksSentence(peaks []snapshot.Peak) string {
	number := map[int]string{2: "two", 3: "three", 4: "four"}[len(peaks)]
	if number == "" {
		number = strconv.Itoa(len(peaks))
	}
	var at, shares []string
	for _, peak := range peaks {
		at = append(at, roughly(peak.NS))
		shares = append(shares, fmt.Sprintf("%.0f%%", peak.Percent))
	}
	return number + " peaks: " + strings.Join(at, ", ") + ": " + strings.Join(shares, " / ")
}

// roughly is a duration with two digits: more would claim a precision that is not there.
func roughly(ns uint64) string {
	if ns < 100 {
		return Duration(ns)
	}
	power := math.Pow(10, math.Floor(math.Log10(float64(ns)))-1)
	rounded := math.Round(float64(ns)/power) * power
	for i := len(steps) - 1; i >= 0; i-- {
		if v := rounded / steps[i].ns; v >= 1 && (steps[i].unit != "min" || v >= 2) {
			if v < 9.95 {
				return strings.TrimSuffix(strconv.FormatFloat(v, 'f', 1, 64), ".0") + " " + steps[i].unit
			}
			return strconv.FormatFloat(v, 'f', 0, 64) + " " + steps[i].unit
		}
	}
	return Duration(ns)
}

func (p *requestsPage) bars(bars []request.Bar) {
	var most uint64
	for _, b := range bars {
		most = max(most, b.Count)
	}
	for _, b := range bars {
		p.bar(pad(Duration(b.Lo), 7, true)+" to "+pad(upTo(b.Hi), 7, true), b.Count, most)
	}
}

func upTo(hi uint64) string {
	if hi == math.MaxUint64 {
		return "more"
	}
	return Duration(hi)
}

func (p *requestsPage) bar(title string, n, most uint64) {
	text := "  " + title + " " + pad(Count(n), 9, true)
	if room := p.barRoom(columnsOf(text) + 1); n > 0 && room > 0 {
		text += " " + bar(n, most, room)
	}
	p.add(text, plain)
}

func (p *requestsPage) barRoom(used int) int {
	if p.width <= 0 {
		return widestBar
	}
	return min(p.width-used, widestBar)
}

func (p *requestsPage) sizes(sizes *request.Sizes) {
	var most uint64
	first, last := request.SizeSlots, -1
	for i, n := range sizes {
		most = max(most, n)
		if n > 0 {
			first, last = min(first, i), i
		}
	}
	if last < 0 {
		return
	}
	p.add("sizes", bold)
	for i := first; i <= last; i++ {
		title := "up to " + pad(Bytes(request.SizeLimit(i)), 8, true)
		if i == request.SizeSlots-1 {
			title = "larger" + strings.Repeat(" ", 8)
		}
		p.bar(title, sizes[i], most)
	}
}

// shades are the cells of a heat map, from few requests to many.
var shades = []rune("░▒▓█")

// heatMap draws times over time, the longest times on top.
func (p *requestsPage) heatMap() {
	const label = 23
	columns := 100
	if p.width > 0 {
		columns = max(p.width-label-1, 1)
	}
	grid := p.s.Heat.Grid(columns)
	if len(grid.Rows) == 0 {
		return
	}
	p.section(fmt.Sprintf("HEAT MAP of whole times, a column is %s, ░▒▓█ up to %s",
		Duration(grid.StepNS), plural(grid.Most, "request")))
	for i := len(grid.Rows) - 1; i >= 0; i-- {
		r := &grid.Rows[i]
		var b strings.Builder
		for _, n := range r.Counts {
			b.WriteRune(shade(n, grid.Most))
		}
		p.add("  "+pad(Duration(r.Lo), 8, true)+" to "+pad(upTo(r.Hi), 8, true)+" "+b.String(), plain)
	}
}

// shade goes by the logarithm: a rare slow request is to be seen beside thousands.
func shade(n, most uint64) rune {
	if n == 0 {
		return ' '
	}
	if most == 1 {
		return shades[len(shades)-1]
	}
	level := math.Log(float64(n)) / math.Log(float64(most)) * float64(len(shades))
	return shades[min(int(level), len(shades)-1)]
}

// findings say what the figures speak for, in their terms.
func (p *requestsPage) findings() {
	t := &p.s.Total
	if len(p.s.Findings) == 0 && len(p.s.Repeats) == 0 && t.Backwards == 0 {
		return
	}
	p.section("FINDINGS")
	for i := range p.s.Findings {
		p.hang("  ", findingWords(&p.s.Findings[i], p.names), plain)
	}
	p.repeats()
	if t.Backwards > 0 {
		p.hang("  ", fmt.Sprintf("%s had instants that run backwards, of a clock that jumped or a broken trace: counted, but in no time and no histogram",
			plural(t.Backwards, "request")), plain)
	}
}

func findingWords(f *request.Finding, names request.Names) string {
	device, now := deviceName(names, f.Device), &f.Now
	rate := rateWords(now.PerSecond) + " a second"
	if f.Even {
		rate += ", evenly"
	}
	what := map[event.OpKind]string{event.KindRead: "reads", event.KindWrite: "writes"}[f.Op]
	if f.Before == nil {
		return fmt.Sprintf("%s: %s took %s in the device on average though only %s requests were in flight and they are small (%s): %s. "+
			"Is the device itself slow, or throttled below? A disk that turns may look the same",
			device, what, Duration(now.MeanNS), rateWords(now.Depth), Bytes(now.MeanBytes), rate)
	}
	before := f.Before
	return fmt.Sprintf("%s: for the last %s %s took %s in the device on average, in the %s before %s, though no more was asked of it: "+
		"depth %s (%s before), %s (%s before). Is the device itself slow, or throttled below?",
		device, Duration(now.NS), what, Duration(now.MeanNS), Duration(before.NS), Duration(before.MeanNS),
		rateWords(now.Depth), rateWords(before.Depth), rate, rateWords(before.PerSecond))
}

func (p *requestsPage) foot() {
	l := &p.s.Losses
	p.add("", plain)
	text := lossesOf(l) + fmt.Sprintf("started %s, completed %s, in flight %s, unmatched %s", Count(l.Started), Count(l.Completed), Count(l.InFlight), Count(l.Unmatched))
	st := dim
	if l.Dropped > 0 {
		text += fmt.Sprintf(", lost %s", Count(l.Dropped))
		st = bold
	}
	p.hang("", text, st)
	if n := p.s.Total.Unfinished; n > 0 {
		p.hang("", plural(n, "request")+" whose completion was not seen: in no figure above", dim)
	}
	if p.s.Folded > 0 {
		p.hang("", plural(p.s.Folded, "request")+" of further processes, cgroups and files are not told apart", bold)
	}
	for _, n := range p.s.Notes {
		p.hang("note: ", quote(n), dim)
	}
}

// lossesOf says what losses are of, where that is more than what is shown.
func lossesOf(l *request.Losses) string {
	if l.Wider {
		return "of all, whatever was asked for: "
	}
	return ""
}
