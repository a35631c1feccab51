// SPDX-License-Identifier: Apache-2.0

// Package scheduling turns what was counted of threads on their CPUs, off them and waiting for
// them into reports, and holds the tables of their fields. It knows nothing of formatting.
package scheduling

import (
	"time"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/profile"
	"github.com/iowitness/iowitness/snapshot"
	"github.com/iowitness/iowitness/symbol"
)

// Report is one stretch of time, ready to be shown. Names are raw bytes: a view quotes them.
type Report struct {
	Kind            profile.Kind // CPU, OffCPU or RunQ
	Version, Kernel string
	Means           string
	Event           string        // of samples: what they come by
	Period          time.Duration // between samples of one CPU; 0: they do not come by time, or there are none
	Start, End      time.Time
	Scope           string // what was asked for; empty: everything

	// Of CPU and OffCPU.
	Profile   *profile.Profile
	Total     profile.Weight
	Functions []Function           // most own weight first
	Processes []profile.ProcessRow // most weight first
	Threads   []profile.ProcessRow
	Stacks    []Stack // most weight first
	CPUs      []CPU   // of CPU
	Gaps      []Gap   // of CPU: longest sum first
	States    []State // of OffCPU: most time first

	// Of RunQ.
	Queues  []Queue // by process, most time first
	OnCPUs  []Queue // by CPU
	Pairs   []Pair  // who woke whom, most time first
	Longest []Long  // longest first
	Single  uint64  // long waits told one by one, those not shown included

	Lost    []snapshot.Loss
	Cost    snapshot.Cost
	Command *snapshot.Usage
	Notes   []string
}

// Function is a function with those that call it.
type Function struct {
	profile.Row
	Callers []profile.Row // most weight first
}

// Stack is one stack of one thread, with how the thread left its CPU and who woke it.
type Stack struct {
	PID, TID      uint32
	Comm, Process string
	State         event.OffState
	WakerIs       event.WakerKind
	Waker         uint32
	WakerComm     string
	Kernel, User  []symbol.Frame // innermost first
	Missing       event.StackMiss
	Cut           bool // it goes on beyond its last frame
	Count, NS     uint64
	Max           uint64 // ns
}

// CPU is what was sampled on one CPU.
type CPU struct {
	event.CPUSamples
}

// Gap is samples that came late, by where the CPU was then. While its clock cannot interrupt it
// a CPU is not seen: what is seen first when it can again is the end of what held it.
type Gap struct {
	CPU      uint32
	PID, TID uint32
	Comm     string
	Kernel   []symbol.Frame
	User     []symbol.Frame
	Count    uint64 // gaps
	Missed   uint64 // samples
	NS, Max  uint64
}

// State is time off the CPU by how it was left.
type State struct {
	State     event.OffState
	Count, NS uint64
}

// Part is waits for a CPU of one kind.
type Part struct {
	Count, NS, Max uint64
	MaxAt          time.Time
	MaxCPU, MaxTID uint32
	Hist           snapshot.Histogram
}

// Mean is the average in ns; 0 where there was none.
func (p *Part) Mean() uint64 { return p.NS / max(p.Count, 1) }

// Queue is waits for a CPU of one process, or on one CPU.
type Queue struct {
	PID, CPU uint32
	NSPID    uint32 // as that of a profile.ProcessRow
	Comm     string
	Parts    [event.RunQKinds]Part // since a wake-up; since it had to give way
}

// NS is the time of both parts.
func (q *Queue) NS() uint64 { return q.Parts[0].NS + q.Parts[1].NS }

// Pair is who woke whom.
type Pair struct{ event.RunQPair }

// Long is a single long wait for a CPU, and what had it meanwhile.
type Long struct {
	PID, TID  uint32
	Comm      string
	At        time.Time // its begin
	NS        uint64
	CPU       uint32
	Kind      event.RunQKind
	WakerIs   event.WakerKind
	Waker     uint32
	WakerComm string
	Ran       []Ran          // on that CPU during the wait, most time first
	RanNS     uint64         // of all of them
	Where     []symbol.Frame // of what ran last, as it gave up the CPU; innermost first
}

// Ran is how long a process ran on a CPU during a wait for it: by one of its threads, which is named.
type Ran struct {
	event.Task
	NS uint64
}
