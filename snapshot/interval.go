// SPDX-License-Identifier: Apache-2.0

// Package snapshot turns the accounts of threads into rows: grouped, filtered,
// ranked and named. It also holds the field table, from which every view
// derives its columns, keys and help. It knows nothing of formatting.
package snapshot

import (
	"time"

	"github.com/iowitness/iowitness/blame"
)

// Interval is all that was witnessed in one stretch of time.
type Interval struct {
	Version    string // of iowitness
	Kernel     string // release
	Means      map[string]string
	Start, End time.Time
	Wall       time.Duration // witnessed: the gate was open
	Coverage   Coverage
	Threads    []blame.Thread
	System     System
	Lost       []Loss
	Cost       Cost
	Notes      []string // sentences: what could not be witnessed, and the way out
	// Estimated says that every figure is an estimate, counts included: the means does not see each wait.
	Estimated bool
	// RunQueueUnknown says that the delay from wake-up to running is not known.
	RunQueueUnknown bool
	// Joins says that the means joins waits to the block requests that end them.
	Joins       bool
	Scope       string // what the kernel side was told to witness, such as "pid 4711"; empty: everything
	SlowNS      uint64 // every wait of at least this many ns has its stack taken,
	SampleEvery uint64 // and one in this many of the shorter ones
}

// Coverage is how much of an interval was witnessed, and how finely.
type Coverage struct {
	Elapsed time.Duration // from start to end, the times of a closed gate included; never less than Wall
	Ratio   uint32        // of the waits one in this many was measured at all; 0 and 1: each
	Shed    bool          // for some of the time no stacks, files and requests were looked for
}

// System is what the kernel itself says about waiting for I/O.
type System struct {
	IOWaitPercent float64 // of the time of all CPUs, from /proc/stat
	IOWaitKnown   bool
	CPUs          int
	PressureSome  float64 // percent of wall time, from /proc/pressure/io
	PressureFull  float64
	PressureKnown bool
}

// Loss is one kind of thing that went missing in the interval.
type Loss struct {
	ID, Title string
	Count     uint64
	NS        uint64 // waiting time behind it, where that is known
	AtMost    bool   // NS is the most that it can be
	Harmless  bool   // counted for the record: no figure is the worse for it
}

// Cost is what iowitness itself used.
type Cost struct {
	CPUPercent float64       // user and system time of its own process, percent of one core
	Wall       time.Duration // of which it is the percent; 0: not known
	// The probes' run time in the kernel is measured only now and then, because
	// the meter itself costs: these are of the last measured stretch.
	ProbeNS    uint64
	ProbeRuns  uint64
	ProbeWall  time.Duration // how long that was; 0: never measured
	ProbeFresh bool          // it was this interval
	RSSBytes   uint64
}

// Add adds what was used in another stretch of time.
func (c *Cost) Add(other Cost) {
	c.CPUPercent, _ = average(c.CPUPercent*float64(c.Wall)+other.CPUPercent*float64(other.Wall), c.Wall+other.Wall)
	c.Wall += other.Wall
	if other.ProbeFresh {
		c.ProbeNS += other.ProbeNS
		c.ProbeRuns += other.ProbeRuns
		c.ProbeWall += other.ProbeWall
		c.ProbeFresh = true
	}
	c.RSSBytes = max(c.RSSBytes, other.RSSBytes)
}

// Usage is what a command took, as time(1) tells it.
type Usage struct {
	Command         []string
	Real, User, Sys time.Duration
	MinorFaults     uint64 // page faults that needed no I/O
	MajorFaults     uint64 // and those that did
	ExitCode        int
	Signal          string // that ended it, such as "SIGKILL"; empty: it exited
}
