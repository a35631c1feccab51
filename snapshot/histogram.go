// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"math"

	"github.com/iowitness/iowitness/event"
)

// The layout of event.HistSlot.
const (
	firstLog2 = event.HistFirstLog2
	lastLog2  = event.HistLastLog2
	overflow  = event.HistSlots - 1
	lastSlot  = (lastLog2 - firstLog2 + 1) * 4 // the slots between it and overflow stay empty
)

// Histogram counts waits by blocked time. It is an event.Hist whose counts are
// wide enough for the sum over many threads and intervals.
type Histogram [event.HistSlots]uint64

// Bounds are the limits of a slot in ns: lo <= wait < hi. The last slot has
// no upper limit, which is told as math.MaxUint64.
func Bounds(slot int) (lo, hi uint64) {
	switch {
	case slot <= 0:
		return 0, 1 << firstLog2
	case slot == overflow:
		return 1 << (lastLog2 + 1), math.MaxUint64
	case slot > lastSlot:
		return 1 << (lastLog2 + 1), 1 << (lastLog2 + 1)
	}
	e, quarter := firstLog2+(slot-1)/4, uint64((slot-1)%4)
	width := uint64(1) << (e - 2)
	lo = 1<<e + quarter*width
	return lo, lo + width
}

// Add counts the waits of a thread's histogram too.
func (h *Histogram) Add(other event.Hist) {
	for _, c := range other {
		h[c.Slot] += uint64(c.N)
	}
}

// Merge counts the waits of other too.
func (h *Histogram) Merge(other *Histogram) {
	for i, n := range other {
		h[i] += n
	}
}

// Count is the number of waits.
func (h *Histogram) Count() uint64 {
	var n uint64
	for _, c := range h {
		n += c
	}
	return n
}

// Quantile gives the bounds of the slot that holds the q-quantile (nearest
// rank), in ns: the true value is not below lo and is below hi. No waits
// give 0, 0.
func Quantile(h *Histogram, q float64) (lo, hi uint64) {
	n := h.Count()
	if n == 0 {
		return 0, 0
	}
	rank := min(max(uint64(math.Ceil(q*float64(n))), 1), n)
	for slot, c := range h {
		if c >= rank {
			return Bounds(slot)
		}
		rank -= c
	}
	return Bounds(overflow)
}

// Estimate is a quantile as views tell it: the true value lies between AtLeast
// and Value, both in ns. Value is the upper bound of the quantile's slot, or
// the exact maximum where that is smaller; it is at most a quarter too high.
type Estimate struct {
	Value, AtLeast uint64
	Known          bool // false: there was no wait
}

// EstimateQuantile is the q-quantile of waits of which the longest took longest ns.
func EstimateQuantile(h *Histogram, q float64, longest uint64) Estimate {
	lo, hi := Quantile(h, q)
	if hi == 0 {
		return Estimate{}
	}
	return Estimate{Value: max(min(hi, longest), lo), AtLeast: lo, Known: true}
}

// BandLimits part the four bands operators use: below 1 ms, to 10 ms, to 100 ms, above. In ns.
var BandLimits = [3]uint64{1e6, 1e7, 1e8}

// Bands counts the waits below 1 ms, from 1 to 10, from 10 to 100 and above
// 100 ms. The three limits lie inside slots of 131, 2,097 and 16,777 µs; waits of
// such a slot are taken as evenly spread over it, so a band's edge is
// approximate while the four add up exactly.
func Bands(h *Histogram) [4]uint64 {
	var bands [4]uint64
	for slot, n := range h {
		if n == 0 {
			continue
		}
		lo, hi := Bounds(slot)
		band := bandOf(lo)
		if band < len(BandLimits) && hi > BandLimits[band] {
			below := math.Round(float64(n) * float64(BandLimits[band]-lo) / float64(hi-lo))
			bands[band] += uint64(below)
			bands[band+1] += n - uint64(below)
			continue
		}
		bands[band] += n
	}
	return bands
}

func bandOf(ns uint64) int {
	for i, limit := range BandLimits {
		if ns < limit {
			return i
		}
	}
	return len(BandLimits)
}
