// SPDX-License-Identifier: Apache-2.0

package filesystem

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/iowitness/iowitness/blame"
	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/snapshot"
)

// MaxRows bounds the files, processes and operations that are kept apart: of twice as
// many, those with the least time are summed up by file system and operation.
const MaxRows = 5_000

// Interval is all that was witnessed in one stretch of time.
type Interval struct {
	Start, End time.Time
	Counted    *event.FSInterval
	Lost       []snapshot.Loss
	Cost       snapshot.Cost
}

// Names turns ids into names. An empty string means that there is no name.
type Names interface {
	Stack(addresses []uint64) []string
	Process(pid uint32) snapshot.ProcessName
	Device(dev event.Dev) string
	// File is the path by which the process sees the file.
	File(file event.File, pid uint32) string
}

// Accumulator sums up intervals.
type Accumulator struct {
	names    Names
	start    time.Time
	end      time.Time
	entries  map[event.FSKey]*entry
	journals map[event.Dev]event.JournalSum
	flushes  map[event.Dev]event.FlushSum
	underWay []event.FSCall // at the end of the last interval
	folded   int            // rows that were summed up
	lost     map[string]*snapshot.Loss
	order    []string // of lost
	cost     snapshot.Cost
}

// entry is the calls of one row.
type entry struct {
	sum   event.FSSum
	parts map[blame.Cause]Part
}

// NewAccumulator begins empty.
func NewAccumulator(names Names) *Accumulator {
	return &Accumulator{
		names: names, entries: map[event.FSKey]*entry{}, lost: map[string]*snapshot.Loss{},
		journals: map[event.Dev]event.JournalSum{}, flushes: map[event.Dev]event.FlushSum{},
	}
}

// Add adds an interval.
func (a *Accumulator) Add(iv *Interval) {
	if a.start.IsZero() {
		a.start = iv.Start
	}
	a.end = iv.End
	for key, sum := range iv.Counted.Sums {
		a.entry(key).sum.Add(sum)
	}
	for i := range iv.Counted.Parts {
		a.addPart(&iv.Counted.Parts[i])
	}
	for dev, j := range iv.Counted.Journals {
		a.journals[dev] = a.journals[dev].Add(j)
	}
	for dev, l := range iv.Counted.Flushes {
		a.flushes[dev] = a.flushes[dev].Add(l)
	}
	if len(a.entries) > 2*MaxRows {
		a.fold()
	}
	a.underWay = iv.Counted.UnderWay
	for _, l := range iv.Lost {
		a.lose(l)
	}
	a.cost.Add(iv.Cost)
}

func (a *Accumulator) entry(key event.FSKey) *entry {
	e := a.entries[key]
	if e == nil {
		e = newEntry()
		a.entries[key] = e
	}
	return e
}

// ranked are the keys by falling time.
func (a *Accumulator) ranked() []event.FSKey {
	return slices.SortedFunc(maps.Keys(a.entries), func(x, y event.FSKey) int {
		return cmp.Or(cmp.Compare(a.entries[y].sum.NS, a.entries[x].sum.NS), cmp.Compare(x.Dev, y.Dev),
			cmp.Compare(x.Ino, y.Ino), cmp.Compare(x.PID, y.PID), cmp.Compare(x.Op, y.Op))
	})
}

// fold sums up what took the least time; what of it comes again begins anew.
func (a *Accumulator) fold() {
	for _, key := range a.ranked()[MaxRows:] {
		several := event.FSKey{Dev: key.Dev, Op: key.Op}
		if key == several {
			continue
		}
		e := a.entries[key]
		delete(a.entries, key)
		a.entry(several).merge(e)
		a.folded++
	}
}

func (a *Accumulator) addPart(p *event.FSPart) {
	cause := a.cause(p.Key.Op, p.Stack, p.Flagged)
	parts := a.entry(p.Key).parts
	part := parts[cause]
	part.Cause = cause
	part.Sleeps += p.Count
	part.NS += p.NS
	parts[cause] = part
}

func (a *Accumulator) cause(op event.FSOp, stack []uint64, flagged bool) blame.Cause {
	return blame.Classify(blame.Evidence{Stack: a.names.Stack(stack), Flagged: flagged, Syscall: op.String()})
}

func (a *Accumulator) lose(l snapshot.Loss) {
	known := a.lost[l.ID]
	if known == nil {
		first := l
		a.lost[l.ID] = &first
		a.order = append(a.order, l.ID)
		return
	}
	known.Count += l.Count
	known.NS += l.NS
}

// division divides what calls took. No part is believed beyond what is left for it, so that
// none is negative and all add up.
func (e *entry) division() Division {
	d := Division{Calls: e.sum.Divided, Total: e.sum.DividedNS}
	left := d.Total
	take := func(ns uint64) uint64 {
		ns = min(ns, left)
		left -= ns
		return ns
	}
	asleep := e.sum.Blocked
	for _, p := range slices.SortedFunc(maps.Values(e.parts), byTime) {
		p.NS = take(min(p.NS, asleep))
		asleep -= p.NS
		d.Causes = append(d.Causes, p)
	}
	d.Unattributed = take(asleep)
	d.RunQueue = take(e.sum.RunQueue)
	d.OnCPU = left
	return d
}

func byTime(a, b Part) int {
	return cmp.Or(cmp.Compare(b.NS, a.NS), cmp.Compare(a.Cause, b.Cause))
}

// merge adds the calls of another entry.
func (e *entry) merge(o *entry) {
	e.sum.Add(&o.sum)
	for cause, p := range o.parts {
		part := e.parts[cause]
		part.Cause = cause
		part.Sleeps += p.Sleeps
		part.NS += p.NS
		e.parts[cause] = part
	}
}
