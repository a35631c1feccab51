// SPDX-License-Identifier: Apache-2.0

package kmod

import "time"

// State is all that the module tells: /proc/iowitness/waits and control.
type State struct {
	Control Control

	Now    uint64 // CLOCK_MONOTONIC in ns, like all instants
	Epoch  uint32
	Time   ByReason // ns since load: looked at, or why not
	Closed ByReason // calls that were not looked at; Open is not used
	Probes []Probe
	Losses []Loss
	Cost   Cost

	Processes []Process // a process may have two entries, whose counts add up
	Ended     Ended     // processes that gave their places in the table away
}

// ByReason divides something by what kept the module from looking.
type ByReason struct {
	Open      uint64 // nothing did
	Gate      uint64 // it was closed by hand
	Duty      uint64 // the pause of the duty cycle
	Heartbeat uint64 // none came in time
}

// Unseen is the sum without Open.
func (r ByReason) Unseen() uint64 { return r.Gate + r.Duty + r.Heartbeat }

// Probe is a function with a return probe.
type Probe struct {
	Function  string
	Flagged   bool   // the kernel sets in_iowait within it
	Error     int    // errno of why it could not be probed; 0: it is
	MaxActive uint32 // returns that can be awaited at once
	Entries   uint64 // calls recorded
	Returns   uint64 // of those
	Skipped   uint64 // calls left out by the sampling ratio
	Nested    uint64 // calls within another probed function: part of that wait
	Missed    uint64 // calls that found no free return instance
	Recursed  uint64 // calls during another probe's handler on that CPU
}

// Loss is something that went missing; ids are those of the module's source.
type Loss struct {
	ID    string
	Count uint64
	NS    uint64 // of waiting, where it is known
}

// Cost is what the module measured of its own handlers, without the kernel's part of a probe.
type Cost struct {
	Runs  uint64 // of handlers, while it was looking
	Timed uint64 // of them measured: one in 64
	NS    uint64 // of those
	MaxNS uint64 // the longest
}

// Each is the mean cost of a run, 0 if none was measured.
func (c Cost) Each() time.Duration {
	if c.Timed == 0 {
		return 0
	}
	return time.Duration(c.NS / c.Timed)
}

// Estimate is the cost of all runs.
func (c Cost) Estimate() time.Duration {
	if c.Timed == 0 {
		return 0
	}
	return time.Duration(float64(c.NS) / float64(c.Timed) * float64(c.Runs))
}

// Sum adds up waits.
type Sum struct {
	Count uint64
	NS    uint64
}

// EpochMax is the longest wait of an epoch, of whose number the lower 20 bits are told.
type EpochMax struct {
	Epoch uint32
	NS    uint64 // at most EpochMaxLimit, which stands for all that is longer
}

// Bounds of EpochMax.
const (
	EpochMask     = 1<<20 - 1
	EpochMaxLimit = 1<<44 - 1
)

// SlotCount is a slot of the histogram in use: event.HistSlot.
type SlotCount struct {
	Slot uint8
	N    uint64
}

// Counts are those of one process, or of many. Waits are from entry to return of
// a function: run-queue delay after the wake-up is part of them. Of a wait that
// began before the gate was opened, only the time since then is in the sums.
type Counts struct {
	Entries   uint64 // calls recorded; those in flight are what it exceeds the others by
	Flagged   Sum    // waits with in_iowait set
	Unflagged Sum    // waits without
	NotWaited Sum    // returned without a voluntary context switch
	BelowMin  uint64 // shorter than Control.MinNS: in no sum
	MaxNS     uint64
	Epochs    [2]EpochMax // by epoch & 1
	Slots     []SlotCount // ascending
}

// Returns are the calls that came back.
func (c *Counts) Returns() uint64 {
	return c.Flagged.Count + c.Unflagged.Count + c.NotWaited.Count + c.BelowMin
}

// Process is what was seen of a process.
type Process struct {
	TGID  uint32
	PPID  uint32 // its parent when it first waited
	Born  uint64 // its start: tells a reused id apart
	Alive bool
	Comm  string // raw bytes, up to 15
	Now   uint64 // when this was told
	Counts
	Waiting uint32 // waits in progress
	Oldest  uint64 // start of the oldest of them, as far as it was looked at; 0: none

	OldestFlagged bool // in_iowait is set in that one
}

// Ended adds up processes that have ended and are listed no more.
type Ended struct {
	Processes uint64
	Counts
}

// Control is how the module is set: /proc/iowitness/control.
type Control struct {
	GateOpen      bool
	Ratio         uint32 // one wait in so many is taken
	MinNS         uint64
	DutyOn        time.Duration // of each DutyEvery; 0: always
	DutyEvery     time.Duration
	Heartbeat     time.Duration // without one for so long, it does nothing; 0: none is needed
	HeartbeatAge  time.Duration
	Lapses        uint32 // heartbeats that came too late
	Looking       string // "open", or what keeps it from looking: "gate", "duty" or "heartbeat"
	Epoch         uint32
	Processes     uint32 // places in the table
	ProcessesUsed uint32
	Loaded        time.Duration // since when it counts
}
