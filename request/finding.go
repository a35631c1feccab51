// SPDX-License-Identifier: Apache-2.0

package request

import (
	"cmp"
	"math"
	"slices"

	"github.com/iowitness/iowitness/event"
)

// FindingID says what was found. Ids are stable.
type FindingID string

// The findings. They are evidence, not a verdict: a device that turns, or that clears up
// after writes, may look like one with a limit below it.
const (
	DeviceSlower FindingID = "device_slower" // requests take far longer in the device than before, though no more are asked of it
	DeviceSlow   FindingID = "device_slow"   // they take long all the time, though few and small ones are in flight
)

// Pace is how a disk did for a while, for one kind of request.
type Pace struct {
	NS        uint64  // how long the while is
	Count     uint64  // requests that completed
	PerSecond float64 // of them
	MeanNS    uint64  // in the device
	MeanBytes uint64
	Depth     float64 // mean at issue
}

// Finding is something that the figures of a disk speak for.
type Finding struct {
	ID     FindingID
	Device event.Dev
	Op     event.OpKind
	Before *Pace // nil: nothing to compare with
	Now    Pace
	Even   bool // requests complete at a rate that hardly varies, as by a limit on it
}

// What makes a finding.
const (
	leastTimed  = 30    // requests whose time in the device is known, on each side
	leastCells  = 3     // in which requests completed, on each side
	slowerBy    = 5.0   // times the mean of before,
	slowerLeast = 2e6   // and no less than this, in ns
	steadyBy    = 2.0   // each cell is slower by this, so that it is no single hiccup
	sameRatio   = 1.5   // by which depth, size and rate may grow and still be called the same
	sameShare   = 0.2   // by which the share of sequential requests may fall
	evenSpread  = 0.15  // standard deviation of the rate to its mean
	slowEach    = 15e6  // ns in the device for each request in flight: more than a turning disk takes
	slowDepth   = 4.0   // in flight at most
	slowBytes   = 65536 // of a request at most
	slowFor     = 5e9   // ns at least
	slowBusy    = 0.8   // of the time at least one is in flight
	pastCells   = 60    // the past is looked at in so many parts
)

func (c *Collector) findings() []Finding {
	var found []Finding
	for k, t := range c.tracks {
		if f, ok := t.finding(); ok {
			f.Device, f.Op = k.disk, k.op
			found = append(found, f)
		}
	}
	slices.SortFunc(found, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(b.Now.MeanNS, a.Now.MeanNS), cmp.Compare(a.Device, b.Device), cmp.Compare(a.Op, b.Op))
	})
	return found
}

func (t *track) finding() (Finding, bool) {
	per := (len(t.line.cells) + pastCells - 1) / pastCells
	if per == 0 {
		return Finding{}, false
	}
	cells, step := t.line.by(per), t.line.step*uint64(per)
	if i := slowerFrom(cells, step); i > 0 {
		before := paceOf(cells[:i], step)
		return Finding{ID: DeviceSlower, Before: &before, Now: paceOf(cells[i:], step), Even: even(cells[i:])}, true
	}
	if slowThroughout(cells, step) {
		return Finding{ID: DeviceSlow, Now: paceOf(cells, step), Even: even(cells)}, true
	}
	return Finding{}, false
}

func sumOf(cells []pace) (sum pace) {
	for i := range cells {
		sum.add(&cells[i])
	}
	return sum
}

func paceOf(cells []pace, step uint64) Pace {
	p, ns := sumOf(cells), step*uint64(len(cells))
	return Pace{
		NS: ns, Count: p.count, PerSecond: float64(p.count) / (float64(ns) / 1e9),
		MeanNS: uint64(ratio(p.ns, p.timed)), MeanBytes: uint64(ratio(p.bytes, p.count)), Depth: ratio(p.depth, p.depthCount),
	}
}

// slowerFrom is the cell from which on the disk is slower though no more is asked of it; 0: there is none.
func slowerFrom(cells []pace, step uint64) int {
	best, at := 0.0, 0
	before, after := pace{}, sumOf(cells)
	for i := 1; i < len(cells); i++ {
		before.add(&cells[i-1])
		after.timed, after.ns = after.timed-cells[i-1].timed, after.ns-cells[i-1].ns
		if before.timed < leastTimed || after.timed < leastTimed {
			continue
		}
		if by := ratio(after.ns, after.timed) / max(ratio(before.ns, before.timed), 1); by > best {
			best, at = by, i
		}
	}
	if best < slowerBy || !sameWork(cells[:at], cells[at:]) || !steady(cells[:at], cells[at:]) {
		return 0
	}
	return at
}

// sameWork says that no more is asked of the disk than before, and nothing harder. What is not
// known speaks against it.
func sameWork(before, after []pace) bool {
	b, a := sumOf(before), sumOf(after)
	if a.depthCount == 0 || b.depthCount == 0 || a.placed == 0 || b.placed == 0 {
		return false
	}
	rate := (float64(a.count) / float64(len(after))) / (float64(b.count) / float64(len(before)))
	return rate <= sameRatio &&
		ratio(a.depth, a.depthCount) <= sameRatio*ratio(b.depth, b.depthCount) &&
		ratio(a.bytes, a.count) <= sameRatio*ratio(b.bytes, b.count) &&
		ratio(b.sequential, b.placed)-ratio(a.sequential, a.placed) <= sameShare
}

// steady says that each part after is slow, and that there are enough parts on both sides.
func steady(before, after []pace) bool {
	b := sumOf(before)
	limit := steadyBy * ratio(b.ns, b.timed)
	busy := 0
	for i := range after {
		if p := &after[i]; p.timed > 0 {
			busy++
			if p.timed >= leastCells && ratio(p.ns, p.timed) < limit {
				return false
			}
		}
	}
	a := sumOf(after)
	return busy >= leastCells && inUse(before) >= leastCells && ratio(a.ns, a.timed) >= slowerLeast
}

func inUse(cells []pace) (n int) {
	for i := range cells {
		n += int(one(cells[i].timed > 0))
	}
	return n
}

// slowThroughout says that the disk takes longer than a turning one would, while little is asked of it.
func slowThroughout(cells []pace, step uint64) bool {
	p, ns := sumOf(cells), float64(step)*float64(len(cells))
	depth := ratio(p.depth, p.depthCount)
	return p.timed >= leastTimed && p.depthCount > 0 && ns >= slowFor && inUse(cells) >= leastCells &&
		depth <= slowDepth && ratio(p.bytes, p.count) <= slowBytes &&
		ratio(p.ns, p.timed)/max(depth, 1) >= slowEach && float64(p.ns)/ns >= slowBusy
}

// even says that requests complete at a rate that hardly varies. The cells at both ends are parts of ones.
func even(cells []pace) bool {
	if len(cells) < leastCells+2 {
		return false
	}
	cells = cells[1 : len(cells)-1]
	// A rate of its own to each cell would vary by chance where few requests fall into one.
	per := max(int(math.Ceil(20/max(ratio(sumOf(cells).count, uint64(len(cells))), 0.01))), 1)
	var counts []float64
	var sum, squares float64
	for i := 0; i+per <= len(cells); i += per {
		n := float64(sumOf(cells[i : i+per]).count)
		counts = append(counts, n)
		sum += n
	}
	if len(counts) < leastCells || sum == 0 {
		return false
	}
	mean := sum / float64(len(counts))
	for _, n := range counts {
		squares += (n - mean) * (n - mean)
	}
	return math.Sqrt(squares/float64(len(counts)))/mean <= evenSpread
}
