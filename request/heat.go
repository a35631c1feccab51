// SPDX-License-Identifier: Apache-2.0

package request

import (
	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/snapshot"
)

// heatOctaves is the height of a cell of Heat: the slots of a histogram, by octaves, with those
// at both ends.
const heatOctaves = event.HistLastLog2 - event.HistFirstLog2 + 3

// HeatRows is the greatest height of a Grid.
const HeatRows = 12

type heatCell [heatOctaves]uint64

// Heat is latency over time.
type Heat struct{ line timeline[heatCell] }

// NewHeat makes a map whose columns begin as wide as step ns, such as the interval at which
// Merge is called; 0: by itself.
func NewHeat(step uint64) *Heat {
	return &Heat{newTimeline(step, func(into, other *heatCell) {
		for i, n := range other {
			into[i] += n
		}
	})}
}

// Add counts a request that completed at an instant and took ns.
func (h *Heat) Add(at, ns uint64) { h.line.at(at)[octaveOf(event.HistSlot(ns))]++ }

// Merge counts those that completed in an interval, which at lies in.
func (h *Heat) Merge(at uint64, times *snapshot.Histogram) {
	cell := h.line.at(at)
	for slot, n := range times {
		cell[octaveOf(slot)] += n
	}
}

func octaveOf(slot int) int {
	switch {
	case slot <= 0:
		return 0
	case slot > snapshot.LastUsedSlot:
		return heatOctaves - 1
	}
	return 1 + (slot-1)/4
}

// octaveBounds are lo <= time < hi in ns; the last has math.MaxUint64 for hi.
func octaveBounds(octave int) (lo, hi uint64) {
	switch octave {
	case 0:
		return snapshot.Bounds(0)
	case heatOctaves - 1:
		return snapshot.Bounds(event.HistSlots - 1)
	}
	lo, _ = snapshot.Bounds(1 + (octave-1)*4)
	_, hi = snapshot.Bounds(octave * 4)
	return lo, hi
}

// HeatRow is a row of a Grid: how many requests took from Lo to below Hi ns, by column.
type HeatRow struct {
	Lo, Hi uint64
	Counts []uint64
}

// Grid is a heat map to be drawn, the shortest times first.
type Grid struct {
	StepNS uint64 // width of a column
	Rows   []HeatRow
	Most   uint64 // the largest count of all
}

// Grid is the map in at most so many columns and HeatRows rows, of which the first and the last
// are not empty; a zero Grid if there was no request. columns 0 is no limit.
func (h *Heat) Grid(columns int) Grid {
	per := 1
	if columns > 0 {
		per = max((len(h.line.cells)+columns-1)/columns, 1)
	}
	cells := h.line.by(per)
	first, last := rangeOf(cells)
	if last < first {
		return Grid{}
	}
	high := (last-first)/HeatRows + 1
	g := Grid{StepNS: h.line.step * uint64(per)}
	for o := first; o <= last; o += high {
		r := HeatRow{Counts: make([]uint64, len(cells))}
		r.Lo, _ = octaveBounds(o)
		_, r.Hi = octaveBounds(min(o+high, heatOctaves) - 1)
		for i := range cells {
			for _, n := range cells[i][o:min(o+high, heatOctaves)] {
				r.Counts[i] += n
			}
			g.Most = max(g.Most, r.Counts[i])
		}
		g.Rows = append(g.Rows, r)
	}
	return g
}

// rangeOf are the octaves in use; last is less than first where none is.
func rangeOf(cells []heatCell) (first, last int) {
	first, last = heatOctaves, -1
	for i := range cells {
		for o, n := range cells[i] {
			if n > 0 {
				first, last = min(first, o), max(last, o)
			}
		}
	}
	return first, last
}

// Bar is how many requests took from Lo to below Hi ns.
type Bar struct{ Lo, Hi, Count uint64 }

// Octaves are the times of a histogram, from the first octave in use to the last.
func Octaves(times *snapshot.Histogram) []Bar {
	var cell heatCell
	for slot, n := range times {
		cell[octaveOf(slot)] += n
	}
	first, last := rangeOf([]heatCell{cell})
	var bars []Bar
	for o := first; o <= last; o++ {
		lo, hi := octaveBounds(o)
		bars = append(bars, Bar{lo, hi, cell[o]})
	}
	return bars
}
