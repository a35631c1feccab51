// SPDX-License-Identifier: Apache-2.0

package filesystem

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/iowitness/iowitness/blame"
	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/snapshot"
)

// Options choose what a report has.
type Options struct {
	Top     int       // rows; 0: all
	Compare bool      // the first two of Mounts
	Mounts  []Mounted // those asked for first, in their order
	Asked   int       // so many of them are shown though there were no calls
	Files   *Files
}

// Build makes a report of all that was added. What is not of the intervals, such as
// version and notes, is for the caller to fill in.
func (a *Accumulator) Build(o Options) *Report {
	r := &Report{Start: a.start, End: a.end, Cost: a.cost}
	for _, id := range a.order {
		r.Lost = append(r.Lost, *a.lost[id])
	}
	r.Mounts = a.mounts(o)
	if o.Compare {
		r.Compared = compare(&r.Mounts[0], &r.Mounts[1])
	}
	r.Rows = a.rows(o)
	r.UnderWay = a.calls(o)
	if a.folded > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("more files and processes than can be kept apart: %d rows with the least time were summed up by file system and call", a.folded))
	}
	return r
}

// maxUnderWay bounds the list of calls that have not returned.
const maxUnderWay = 256

func (a *Accumulator) calls(o Options) (calls []Call) {
	oldest := slices.SortedFunc(slices.Values(a.underWay), func(x, y event.FSCall) int { return cmp.Compare(y.Age, x.Age) })
	for _, u := range oldest[:min(len(oldest), maxUnderWay)] {
		c := Call{
			Dev: u.Key.Dev, Op: u.Key.Op, Inode: u.Key.Ino, PID: u.Key.PID, TID: u.TID, Age: u.Age,
			Comm: a.names.Process(u.Key.PID).Comm, File: a.path(u.Key, o.Files), Cause: blame.Unattributed,
		}
		if len(u.Stack) > 0 {
			c.Cause = a.cause(u.Key.Op, u.Stack, u.Flagged)
		}
		calls = append(calls, c)
	}
	return calls
}

// path is a file's as its process sees it, or within its file system; empty: not known.
func (a *Accumulator) path(key event.FSKey, files *Files) string {
	file, ok := files.find(key)
	if !ok {
		return ""
	}
	if path := a.names.File(file, key.PID); path != "" {
		return path
	}
	return file.Path
}

func (a *Accumulator) rows(o Options) []Row {
	keys := a.ranked()
	shown := keys
	if o.Top > 0 && len(keys) > o.Top {
		shown = keys[:o.Top]
	}
	var rows []Row
	for _, key := range shown {
		rows = append(rows, a.named(key, o.Files))
	}
	if rest := keys[len(shown):]; len(rest) > 0 {
		others := newEntry()
		for _, key := range rest {
			others.merge(a.entries[key])
		}
		row := rowOf(others)
		row.Others = len(rest)
		rows = append(rows, row)
	}
	return rows
}

func newEntry() *entry { return &entry{parts: map[blame.Cause]Part{}} }

// named is a row with its file and process.
func (a *Accumulator) named(key event.FSKey, files *Files) Row {
	r := rowOf(a.entries[key])
	r.Dev, r.Op, r.Inode, r.PID = key.Dev, key.Op, key.Ino, key.PID
	if key.PID != 0 {
		r.Comm = a.names.Process(key.PID).Comm
	}
	r.File = a.path(key, files)
	return r
}

func rowOf(e *entry) Row {
	s := &e.sum
	var h snapshot.Histogram
	h.Add(s.Hist)
	longest := s.Max
	for _, c := range s.Hist { // a longest call that lost a race is at least where its slot begins
		lo, _ := snapshot.Bounds(int(c.Slot))
		longest = max(longest, lo)
	}
	return Row{
		Count: s.Count, Errors: s.Errors, Total: s.NS, Max: longest, Bytes: s.Bytes,
		P50: snapshot.EstimateQuantile(&h, 0.5, longest), P99: snapshot.EstimateQuantile(&h, 0.99, longest),
		Division: e.division(),
	}
}

// mounts are the file systems asked for, and then those with calls, by falling total.
func (a *Accumulator) mounts(o Options) []Mount {
	byDev := map[event.Dev]map[event.FSOp]*entry{}
	for key, e := range a.entries {
		ops := byDev[key.Dev]
		if ops == nil {
			ops = map[event.FSOp]*entry{}
			byDev[key.Dev] = ops
		}
		if ops[key.Op] == nil {
			ops[key.Op] = newEntry()
		}
		ops[key.Op].merge(e)
	}
	var mounts []Mount
	for i, m := range o.Mounts {
		if ops := byDev[m.Dev]; ops != nil || i < o.Asked {
			mounts = append(mounts, a.mount(m, ops))
			delete(byDev, m.Dev)
		}
	}
	for _, dev := range slices.Sorted(maps.Keys(byDev)) {
		mounts = append(mounts, a.mount(Mounted{Dev: dev, Device: a.names.Device(dev)}, byDev[dev]))
	}
	rest := mounts[min(o.Asked, len(mounts)):]
	slices.SortStableFunc(rest, func(x, y Mount) int { return cmp.Compare(y.total(), x.total()) })
	return mounts
}

func (m *Mount) total() (ns uint64) {
	for i := range m.Operations {
		ns += m.Operations[i].Total
	}
	return ns
}

func (a *Accumulator) mount(at Mounted, ops map[event.FSOp]*entry) Mount {
	m := Mount{Mounted: at}
	all := newEntry()
	for _, op := range slices.Sorted(maps.Keys(ops)) {
		row := rowOf(ops[op])
		row.Dev, row.Op = at.Dev, op
		m.Operations = append(m.Operations, row)
		all.merge(ops[op])
	}
	m.Division = all.division()
	if j, ok := a.journals[at.Dev]; ok {
		m.Journal = &j
	}
	if l, ok := a.flushes[at.Disk]; ok && at.Disk != 0 {
		m.Flushes = &l
	}
	return m
}
