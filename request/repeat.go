// SPDX-License-Identifier: Apache-2.0

package request

import (
	"cmp"
	"maps"
	"slices"

	"github.com/iowitness/iowitness/event"
)

// What is told of blocks that are used again and again.
const (
	keptExtents   = 8192 // whose uses are counted
	leastUses     = 10   // of an extent, to be told
	leastRepeated = 100  // requests that use such extents, to be told
)

// Repeats finds out who reads or writes the same blocks again and again. Of any number of extents it
// counts those that are used most, by the algorithm of Misra and Gries: no count is ever too high, nor
// too low by more than Missed. Not safe for concurrent use.
type Repeats struct {
	uses   map[extent]uint64
	files  map[repeater]event.File
	totals map[repeater]uint64
	disks  map[trackKey]uint64
	Missed uint64 // by so much each count may be too low; requests that were lost are for the caller to add
}

// repeater is whose requests are looked at together: of one kind, to a disk, by a process, for a file.
type repeater struct {
	trackKey
	pid     uint32
	comm    string
	fileDev event.Dev
	ino     uint64
}

// extent is where a request goes.
type extent struct {
	by     repeater
	sector uint64
	bytes  uint32
}

// Repeat are extents that one process used again and again.
type Repeat struct {
	Disk event.Dev
	Op   event.OpKind
	PID  uint32
	Comm string
	File event.File

	Extents  uint64 // different ones that were used ten times or more
	Bytes    uint64 // of all of them, once
	Requests uint64 // to them, at least
	Least    uint64 // of one extent, at least
	Most     uint64
	Own      uint64  // requests of this process for this file, whatever their extents
	Share    float64 // percent of the disk's requests of this kind that go to the extents
}

// Path is the file's, as far as it is known.
func (f *Repeat) Path(names Names) string { return filePath(names, f.File, f.PID) }

// NewRepeats begins to look.
func NewRepeats() *Repeats {
	return &Repeats{uses: map[extent]uint64{}, files: map[repeater]event.File{}, totals: map[repeater]uint64{}, disks: map[trackKey]uint64{}}
}

// Add takes in a request.
func (r *Repeats) Add(o *event.IO) {
	kind := o.Kind()
	if o.Flags&(event.IOBio|event.IOUnfinished) != 0 || kind != event.KindRead && kind != event.KindWrite || o.Bytes == 0 {
		return
	}
	by := repeater{trackKey{diskOfIO(o), kind}, o.Owner.PID, o.Owner.Comm, o.File.Dev, o.File.Ino}
	r.disks[by.trackKey]++
	if _, known := r.totals[by]; known || len(r.totals) < keptExtents {
		r.totals[by]++
		if r.files[by].Path == "" {
			r.files[by] = o.File // it may not be named each time
		}
	}
	e := extent{by, o.Sector, o.Bytes}
	if _, known := r.uses[e]; known || len(r.uses) < keptExtents {
		r.uses[e]++
		return
	}
	// None is left of those that were used no more often than others came.
	r.Missed++
	for e, n := range r.uses {
		if n == 1 {
			delete(r.uses, e)
		} else {
			r.uses[e] = n - 1
		}
	}
}

// Found are those who use the same blocks again and again, who does so most first.
func (r *Repeats) Found() []Repeat {
	found := map[repeater]*Repeat{}
	for e, n := range r.uses {
		if n < leastUses || r.totals[e.by] == 0 {
			continue
		}
		f := found[e.by]
		if f == nil {
			f = &Repeat{Disk: e.by.disk, Op: e.by.op, PID: e.by.pid, Comm: e.by.comm, File: r.files[e.by], Own: r.totals[e.by], Least: n}
			found[e.by] = f
		}
		f.Extents++
		f.Bytes += uint64(e.bytes)
		f.Requests += n
		f.Least, f.Most = min(f.Least, n), max(f.Most, n)
	}
	all := slices.SortedFunc(maps.Values(found), func(a, b *Repeat) int {
		return cmp.Or(cmp.Compare(b.Requests, a.Requests), cmp.Compare(a.Disk, b.Disk), cmp.Compare(a.PID, b.PID), cmp.Compare(a.Comm, b.Comm), cmp.Compare(a.Op, b.Op), cmp.Compare(a.File.Ino, b.File.Ino))
	})
	told := []Repeat{}
	for _, f := range all {
		if f.Requests >= leastRepeated {
			f.Share = 100 * ratio(f.Requests, r.disks[trackKey{f.Disk, f.Op}])
			told = append(told, *f)
		}
	}
	return told
}
