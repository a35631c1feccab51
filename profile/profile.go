// SPDX-License-Identifier: Apache-2.0

// Package profile has weighted stacks as values: what ran, waited or was woken, and what that
// adds up to by function, caller, process and thread. It reads nothing.
package profile

import (
	"time"

	"github.com/iowitness/iowitness/symbol"
)

// Kind says what a profile's stacks did.
type Kind string

// The kinds of profiles.
const (
	CPU    Kind = "cpu"    // was running when sampled
	OffCPU Kind = "offcpu" // had given up the CPU, for whatever reason
	RunQ   Kind = "runq"   // waited for a CPU
	Wait   Kind = "wait"   // waited for I/O
)

// Profile is what was seen in a stretch of time.
type Profile struct {
	Kind     Kind
	Start    time.Time
	Duration time.Duration
	Period   time.Duration // between samples of one CPU; 0: every event is counted
	Samples  []Sample
	Lost     Lost
}

// Sample is one stack of one thread with all that was seen of it.
type Sample struct {
	PID, TID uint32
	Process  string // name of the process, as it is: views quote it
	Thread   string // the thread's own command
	Cgroup   string
	Kernel   []symbol.Frame // innermost first, and called by
	User     []symbol.Frame // innermost first
	// Truncated: the stack goes on beyond its last frame.
	Truncated bool
	Count     uint64 // samples or events
	Value     uint64 // ns
}

// Lost is what was seen but is in no sample, and what samples lack.
type Lost struct {
	Samples      uint64        // not recorded: buffer or table full
	Time         time.Duration // behind them, as far as known
	KernelStacks uint64        // recorded without
	UserStacks   uint64        // recorded without
	Frames       uint64        // not named for lack of memory or time (symbol.Losses)
}

// Weight is a number of events and the time in them.
type Weight struct {
	Count uint64
	Value uint64 // ns
}

// Function is what frames are summed up by: a symbol of a module, or all of a module that has no
// symbol.
type Function struct {
	Name    string // empty: frames of the module that no symbol covers
	Module  string
	BuildID string // where Name is empty, to find symbols by
	Kind    symbol.Kind
}

// Row is a function with its own weight and that of all stacks it is in. A stack counts once in
// Total however often the function is in it.
type Row struct {
	Function
	Self, Total Weight
}

// ProcessRow is a process or thread with its weight and the functions that have most of it.
type ProcessRow struct {
	PID, TID        uint32 // TID 0: the whole process
	Process, Thread string
	Weight          Weight
	Top             []Row
}
