// SPDX-License-Identifier: Apache-2.0

// Package filesystem turns what was counted of calls to file systems into rows: by file
// system and operation, and by file and process. It divides the time of calls that
// synchronize by cause, compares two file systems, and holds the tables of its fields.
// It knows nothing of formatting.
package filesystem

import (
	"time"

	"github.com/iowitness/iowitness/blame"
	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/snapshot"
)

// Report is one stretch of time, ready to be shown. Names are raw bytes: a view quotes them.
type Report struct {
	Version, Kernel string
	Means           string
	Start, End      time.Time
	Scope           string    // what was asked for, such as "pid 4711"; empty: everything
	Mounts          []Mount   // those asked for, and all on which there were calls
	Rows            []Row     // by file, process and operation, by falling total; the last may sum up others
	UnderWay        []Call    // at the end, of those that have taken a second or more, oldest first
	Compared        *Compared // nil: nothing is compared
	Lost            []snapshot.Loss
	Cost            snapshot.Cost
	Notes           []string
}

// Call is one that has not returned.
type Call struct {
	Dev      event.Dev
	Op       event.FSOp
	File     string
	Inode    uint64
	PID, TID uint32
	Comm     string
	Age      uint64      // ns
	Cause    blame.Cause // Unattributed: it does not sleep, or is none whose sleeps are watched
}

// Mounted is where a file system is mounted.
type Mounted struct {
	Dev      event.Dev // the superblock's
	Point    string    // empty: not where we can see it
	FSType   string
	Device   string    // names of the device or devices it is on
	Disk     event.Dev // the whole device it is on; 0: none, or several
	DiskName string
	Gone     bool // it was unmounted meanwhile
}

// Mount is a file system with the calls to it.
type Mount struct {
	Mounted
	Operations []Row             // one for each kind of call, in the order of event.FSOp
	Division   Division          // of all calls that synchronize
	Journal    *event.JournalSum // nil: it has none that is witnessed, or there was no commit
	Flushes    *event.FlushSum   // of Disk, whoever asked for them; nil: none
}

// Row is calls of one kind.
type Row struct {
	Dev    event.Dev
	Op     event.FSOp
	File   string // path, as its process sees it; empty: not known, or more than one
	Inode  uint64 // 0: more than one
	PID    uint32 // 0: more than one process
	Comm   string
	Others int // not 0: sums up this many other rows, of any kind and file system

	Count, Errors uint64
	Total, Max    uint64 // ns
	Bytes         uint64
	P50, P99      snapshot.Estimate
	Division      Division
}

// Mean is the average latency in ns; 0 where there were no calls.
func (r *Row) Mean() uint64 { return mean(r.Total, r.Count) }

func mean(total, count uint64) uint64 {
	if count == 0 {
		return 0
	}
	return total / count
}

// Division is where the time of calls that synchronize went: Causes, RunQueue, OnCPU and
// Unattributed add up to Total. All are ns.
type Division struct {
	Calls, Total uint64
	Causes       []Part // asleep until woken, by falling time
	RunQueue     uint64 // ready, but waiting for a CPU
	OnCPU        uint64
	Unattributed uint64 // asleep, but where was not noted
}

// Part is one cause's share.
type Part struct {
	Cause  blame.Cause
	Sleeps uint64
	NS     uint64
}

// Of is the time by a cause, in ns.
func (d *Division) Of(cause blame.Cause) uint64 {
	for i := range d.Causes {
		if d.Causes[i].Cause == cause {
			return d.Causes[i].NS
		}
	}
	return 0
}
