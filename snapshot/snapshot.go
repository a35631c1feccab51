// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"time"

	"github.com/iowitness/iowitness/blame"
	"github.com/iowitness/iowitness/event"
)

// Snapshot is one interval, ready to be shown. Names are raw bytes: a view
// quotes them.
type Snapshot struct {
	Version     string
	Kernel      string
	Means       map[string]string
	Start, End  time.Time
	Wall        time.Duration
	Coverage    Coverage
	By          []Key
	Estimated   bool   // see Interval
	Scope       string // see Interval
	Filtered    bool   // the options left threads or waits out of Rows, Splits, Largest and InProgress
	Head        Head
	Rows        []Row // by falling total; the last one may sum up the others
	Below       Below // rows that Options.Min left out
	Splits      map[Key][]Row
	InProgress  []InProgress // storage before others, oldest first; at most MaxInProgress
	Hanging     int          // waits in progress, those beyond MaxInProgress included
	Lost        []Loss
	Cost        Cost
	Notes       []string
	SlowNS      uint64
	SampleEvery uint64
	Sampled     Sampled // over all threads
	Joined      Joined  // over all threads
}

// MaxInProgress bounds the list of waits in progress.
const MaxInProgress = 256

// Below sums the rows that were too short to show.
type Below struct {
	Rows  int
	Total uint64 // ns
}

// Sampled says how much of the waits the causes rest on.
type Sampled struct {
	Any  bool   // some causes are estimates
	Seen uint64 // waits whose cause was seen
	Of   uint64 // waits that there were
}

// Joined says how many waits are joined to the block request whose completion ended them.
type Joined struct {
	Can    bool   // the means tells
	Joined uint64 // waits
	Of     uint64 // recorded waits for storage
}

// Row is one line: the waiting of all threads that share the values of its keys.
type Row struct {
	Who
	Others    int // not 0: the row sums up this many others and has no names
	Threads   int
	Processes int
	Exact     bool // Count, Total, Max, RunQueue, FlaggedNS and Hist are no estimates
	// What is not known is told as 0 elsewhere.
	FlagUnknownNS   uint64 // of Total: not in FlaggedNS, but the kernel may call it iowait
	RunQueueUnknown bool

	Count       uint64
	Total       uint64 // ns; what waits in progress took within the interval is included
	WallPercent float64
	Max         uint64 // ns
	RunQueue    uint64 // ns
	FlaggedNS   uint64 // ns of Total
	P50, P99    Estimate
	Hist        Histogram // of the waits that ended

	Top     Top
	Causes  []CauseShare // by falling total; the totals add up to Total
	Pending Pending
	Sampled Sampled
	Stacks  []StackShare // by falling total, at most Options.Stacks
}

// Who names the threads of a row. A value that they do not share is zero.
type Who struct {
	PID, TID  uint32
	NSPID     uint32
	Comm      string
	Exe       string
	Cwd       string
	User      string
	UID       uint32
	UIDKnown  bool
	Cgroup    string
	Container string
	Kernel    bool
}

// Top is the largest of what a row waited for: the largest cause, and within it
// the largest device and file. NS tell how much of the row each of them is.
type Top struct {
	Cause        blame.Cause
	CauseNS      uint64
	Syscall      string
	SyscallNS    uint64
	Device       string
	DeviceSource blame.DeviceSource
	DeviceNS     uint64
	File         string
	Inode        uint64
	FileSource   event.FileSource
	FileNS       uint64
	PID          uint32 // of the process that waited most in the whole row
	Comm         string
	ProcessNS    uint64
}

// CauseShare is one cause's part of a row.
type CauseShare struct {
	Cause blame.Cause
	Count uint64
	Total uint64 // ns
	Share float64

	Recorded uint64 // waits with a record of their own
	Joins    blame.Joins
	Device   string // of Joins.Longest; its number if it has no name
}

// StackShare is one stack's part of a row.
type StackShare struct {
	Cause  blame.Cause
	Frames []string // innermost first
	Total  uint64   // ns
}

// Pending counts the waits of a row that have not ended.
type Pending struct {
	Count  int
	Oldest uint64 // ns
}

// InProgress is one wait that has not ended.
type InProgress struct {
	Who
	Age          uint64 // ns
	Adopted      bool   // Age is an estimate
	Flagged      bool
	FlagUnknown  bool // it may be flagged
	Woken        bool // woken, waits for a CPU
	Cause        blame.Cause
	Syscall      string
	Device       string
	DeviceSource blame.DeviceSource
	File         string
	Inode        uint64
	FileSource   event.FileSource
	Stack        []string
}

// flagUnknown says that a part too large to be passed over may be iowait or not.
func flagUnknown(unknown, whole uint64) bool { return unknown > whole/10 }

// FlagKnown says that it is known how much of the row's waiting the kernel calls iowait.
func (r *Row) FlagKnown() bool { return r.Total > 0 && !flagUnknown(r.FlagUnknownNS, r.Total) }

// FlaggedMostly says whether the kernel calls at least half of the row's waiting iowait.
func (r *Row) FlaggedMostly() bool {
	return r.FlaggedNS > 0 && r.FlaggedNS >= r.Total-min(r.FlaggedNS, r.Total)
}
