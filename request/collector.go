// SPDX-License-Identifier: Apache-2.0

package request

import "github.com/iowitness/iowitness/event"

// Collector takes in requests, or sums of them, and keeps what a Summary is made of, in
// bounded memory. Not safe for concurrent use.
type Collector struct {
	set    *Set
	heat   *Heat
	tracks map[trackKey]*track
	step   uint64
}

// NewCollector makes one. limit is that of its Set; step is the interval at which sums will come,
// in ns, 0 where they do not or come at any time.
func NewCollector(limit int, step uint64) *Collector {
	return &Collector{set: NewSet(limit), heat: NewHeat(step), tracks: map[trackKey]*track{}, step: step}
}

// Add takes in a request.
func (c *Collector) Add(o *event.IO) {
	c.set.Add(o)
	stacked := o.Flags&event.IOBio != 0
	if o.Flags&event.IOUnfinished != 0 || o.Completed == 0 || stacked {
		return
	}
	if ns, ok := o.Phase(event.PhaseTotal); ok && !o.Backwards() {
		c.heat.Add(o.Completed, ns)
	}
	if t := c.track(o.Disk, o.Kind()); t != nil {
		t.add(o)
	}
}

// Merge takes in a sum of requests that completed in an interval; at is an instant in it, in ns.
func (c *Collector) Merge(at uint64, k Key, file event.File, sum *Sum) {
	c.set.Merge(k, file, sum)
	if k.Stacked {
		return
	}
	if sum.Phases[event.PhaseTotal].Count > 0 {
		c.heat.Merge(at, &sum.TotalTimes)
	}
	if t := c.track(k.Disk, k.Op); t != nil && sum.Count > 0 {
		t.merge(at, sum)
	}
}

// maxTracks bounds the devices, twice, whose past is kept.
const maxTracks = 128

type trackKey struct {
	disk event.Dev
	op   event.OpKind
}

// track is the past of a disk for one kind of request; nil where that is not kept: the time of
// flushes and discards says nothing of that of data.
func (c *Collector) track(disk event.Dev, op event.OpKind) *track {
	if op != event.KindRead && op != event.KindWrite {
		return nil
	}
	k := trackKey{disk, op}
	t := c.tracks[k]
	if t == nil && len(c.tracks) < maxTracks {
		t = newTrack(c.step)
		c.tracks[k] = t
	}
	return t
}

// track is how a disk did over time.
type track struct{ line timeline[pace] }

// pace is how it did for a while.
type pace struct {
	count, bytes, sequential, placed uint64
	timed, ns                        uint64 // in the device
	depth, depthCount                uint64
}

func newTrack(step uint64) *track {
	return &track{newTimeline(step, func(into, other *pace) { into.add(other) })}
}

func (p *pace) add(other *pace) {
	p.count += other.count
	p.bytes += other.bytes
	p.sequential += other.sequential
	p.placed += other.placed
	p.timed += other.timed
	p.ns += other.ns
	p.depth += other.depth
	p.depthCount += other.depthCount
}

func (t *track) add(o *event.IO) {
	p := pace{count: 1, bytes: uint64(o.Bytes)}
	if ns, ok := o.Phase(event.PhaseDevice); ok && !o.Backwards() {
		p.timed, p.ns = 1, ns
	}
	if seq, ok := Sequential(o); ok {
		p.placed, p.sequential = 1, one(seq)
	}
	if o.Depth > 0 {
		p.depth, p.depthCount = uint64(o.Depth), 1
	}
	t.line.at(o.Completed).add(&p)
}

func (t *track) merge(at uint64, s *Sum) {
	d := &s.Phases[event.PhaseDevice]
	t.line.at(at).add(&pace{
		count: s.Count, bytes: s.Bytes, sequential: s.Sequential, placed: s.Placed,
		timed: d.Count, ns: d.NS, depth: s.Depth, depthCount: s.DepthCount,
	})
}

// ratio is a mean; 0 of nothing.
func ratio(sum, count uint64) float64 {
	if count == 0 {
		return 0
	}
	return float64(sum) / float64(count)
}
