// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"math"

	"github.com/iowitness/iowitness/event"
)

// Peak is one mode of a distribution.
type Peak struct {
	NS      uint64  // where it is highest, good to some 10%
	Count   uint64  // what lies between the valleys on both sides
	Percent float64 // of all
}

// What makes a peak. Each bound keeps one kind of false ones out: chance, the shoulders of a
// wide distribution, clocks that tick coarsely, and stray outliers.
const (
	leastCount  = 100  // of the whole
	leastShare  = 0.02 // of a peak, in the whole
	deepest     = 0.5  // a valley's density to that of the lower peak beside it, at most
	certainty   = 5.0  // standard deviations between them
	leastApart  = 5    // slots between peaks: 5/4 octaves
	smoothReach = 1    // slots on each side that smooth one
)

// Peaks finds the modes of a histogram of times, in ascending order; nil where fewer than two
// can be told with certainty.
func Peaks(h *Histogram) []Peak {
	n := h.Count()
	if n < leastCount {
		return nil
	}
	l := landscapeOf(h)
	hills := l.hills()
	for len(hills) > 1 {
		i := l.weakest(hills, n)
		if i < 0 {
			break
		}
		hills = l.join(hills, i)
	}
	if len(hills) < 2 {
		return nil
	}
	peaks := make([]Peak, 0, len(hills))
	for _, x := range hills {
		c := l.count(x.from, x.to)
		peaks = append(peaks, Peak{NS: l.center(x), Count: c, Percent: 100 * float64(c) / float64(n)})
	}
	return peaks
}

// landscape is a histogram as a density over the logarithm of time: slots are not equally
// wide there, and counts alone would show ripples.
type landscape struct {
	counts  []uint64
	width   []float64 // octaves
	mid     []float64 // log2 of ns
	density []float64 // smoothed
}

// hill reaches from one valley's slot up to before the next one's.
type hill struct{ from, top, to int }

func landscapeOf(h *Histogram) *landscape {
	l := &landscape{}
	for slot, c := range h {
		lo, hi := Bounds(slot)
		if slot > LastUsedSlot && slot < event.HistSlots-1 {
			continue // never in use
		}
		from, to := logOf(lo, hi)
		l.counts = append(l.counts, c)
		l.width = append(l.width, to-from)
		l.mid = append(l.mid, (from+to)/2)
	}
	for i := range l.counts {
		c, w := l.window(i)
		l.density = append(l.density, c/w)
	}
	return l
}

// LastUsedSlot is the last slot before the one that holds all longer times: those between are never used.
const LastUsedSlot = (event.HistLastLog2 - event.HistFirstLog2 + 1) * 4

// logOf gives the open slots at both ends an octave.
func logOf(lo, hi uint64) (from, to float64) {
	switch {
	case lo == 0:
		to = math.Log2(float64(hi))
		return to - 1, to
	case hi == math.MaxUint64:
		from = math.Log2(float64(lo))
		return from, from + 1
	}
	return math.Log2(float64(lo)), math.Log2(float64(hi))
}

// window is what lies in a slot and its neighbours.
func (l *landscape) window(i int) (count, width float64) {
	for j := max(i-smoothReach, 0); j <= min(i+smoothReach, len(l.counts)-1); j++ {
		count += float64(l.counts[j])
		width += l.width[j]
	}
	return count, width
}

func (l *landscape) count(from, to int) (n uint64) {
	for _, c := range l.counts[from:to] {
		n += c
	}
	return n
}

// hills parts the landscape at each lowest point between two tops.
func (l *landscape) hills() []hill {
	var hills []hill
	x := hill{}
	for i := 1; i < len(l.density); i++ {
		if falls := l.density[i] < l.density[i-1]; falls {
			i = l.bottom(i)
			x.to = i
			hills = append(hills, x)
			x = hill{from: i, top: i}
			continue
		}
		if l.density[i] > l.density[x.top] {
			x.top = i
		}
	}
	x.to = len(l.density)
	return append(hills, x)
}

// bottom follows a fall to its last slot, in the middle of level ground.
func (l *landscape) bottom(i int) int {
	for i+1 < len(l.density) && l.density[i+1] < l.density[i] {
		i++
	}
	level := i
	for level+1 < len(l.density) && l.density[level+1] == l.density[i] {
		level++
	}
	if level == len(l.density)-1 {
		return level
	}
	return (i + level + 1) / 2
}

// weakest is the hill that is the least sure to be one of its own, with that on its right;
// -1 if all are sure.
func (l *landscape) weakest(hills []hill, n uint64) int {
	worst, at := math.Inf(1), -1
	for i := range len(hills) - 1 {
		left, right := hills[i], hills[i+1]
		if s := l.apart(left, right, n); s < worst {
			worst, at = s, i
		}
	}
	if worst >= 1 {
		return -1
	}
	return at
}

// apart is how well two hills are parted: 1 or more is well enough, by every bound.
func (l *landscape) apart(left, right hill, n uint64) float64 {
	small := min(l.count(left.from, left.to), l.count(right.from, right.to))
	sure := min(float64(small)/(leastShare*float64(n)), float64(right.top-left.top)/leastApart)
	lower := left.top
	if l.density[right.top] < l.density[left.top] {
		lower = right.top
	}
	peak, peakWidth := l.window(lower)
	valley, valleyWidth := l.window(l.lowest(left.top, right.top))
	valley *= peakWidth / valleyWidth
	if peak == 0 {
		return 0
	}
	sure = min(sure, (peak-valley)/math.Sqrt(peak+valley)/certainty)
	if valley == 0 {
		return sure
	}
	return min(sure, deepest*peak/valley)
}

func (l *landscape) lowest(from, to int) int {
	low := from
	for i := from; i <= to; i++ {
		if l.density[i] < l.density[low] {
			low = i
		}
	}
	return low
}

// join makes one of hill i and the next.
func (l *landscape) join(hills []hill, i int) []hill {
	x := hill{from: hills[i].from, top: hills[i].top, to: hills[i+1].to}
	if l.density[hills[i+1].top] > l.density[x.top] {
		x.top = hills[i+1].top
	}
	hills[i] = x
	return append(hills[:i+1], hills[i+2:]...)
}

// center is the mean of what lies about the top, in ns.
func (l *landscape) center(x hill) uint64 {
	var sum, weight float64
	for i := max(x.top-smoothReach, x.from); i <= min(x.top+smoothReach, x.to-1); i++ {
		sum += l.mid[i] * float64(l.counts[i])
		weight += float64(l.counts[i])
	}
	if weight == 0 {
		return uint64(math.Exp2(l.mid[x.top]))
	}
	return uint64(math.Exp2(sum / weight))
}
