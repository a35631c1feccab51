// SPDX-License-Identifier: Apache-2.0

// Package fact carries what tests measure on a kernel of the lab to the
// documents that are made of it.
package fact

import (
	"encoding/json"
	"fmt"
	"strings"
)

// mark begins a line of a test's output that tells a fact.
const mark = "\x1eiowitness-fact "

// Fact is one thing that was measured, on the kernel under whose name it is kept.
type Fact struct {
	Kind  string          `json:"kind"`
	Value json.RawMessage `json:"value"`
}

// Kernel is all that was told on one kernel.
type Kernel struct {
	Line    string `json:"line"`    // such as "6.1"
	Release string `json:"release"` // as uname -r tells it
	Accel   string `json:"accel"`   // how the guest was run: "tcg" is emulation, "icount" one whose clock counts instructions
	Facts   []Fact `json:"facts"`
}

// Kinds of facts, and the type of each one's value.
const (
	KindMeans     = "means"     // Means
	KindProgram   = "program"   // Program
	KindFunctions = "functions" // Functions
	KindAgreement = "agreement" // Agreement
	KindMissed    = "missed"    // Missed
	KindFloor     = "floor"     // Floor
	KindFormat    = "format"    // Format
	KindCallCost  = "callcost"  // CallCost
)

// Means is whether waits can be witnessed by a means.
type Means struct {
	Via     string
	Usable  bool
	Why     string `json:",omitempty"` // not usable
	Default bool   // taken where none is asked for
	State   string `json:",omitempty"`
	Clock   string `json:",omitempty"`
}

// Program is a program of a means; copies for single functions are one.
type Program struct {
	Via      string
	Name     string
	Point    string // the tracepoint; empty: functions, or no probe
	Verified uint32 // instructions that the verifier went through; 0: the kernel does not tell
	Runs     uint64
	NS       uint64 // in all runs
}

// Functions are those of the table that can be probed, and those that cannot.
type Functions struct{ Present, Absent []string }

// Agreement is a workload as one means saw it, beside what the workload knows.
type Agreement struct {
	Via      string
	Workload string
	Order    int // of the workload in the tables
	Threads  int

	Ops      int // operations
	Slept    int // of them, with a switch
	Switches int // voluntary ones within operations, by the kernel's count

	Waits      uint64 // flagged as I/O, as all of these reads' are, counted by the means
	Unflagged  uint64 // other waits of the process: for locks, or outside the operations
	Missed     uint64 // returns that the means says it missed
	NotCounted uint64 // waits that the means says it could not count
	Unseen     uint64 // calls that the means says it did not see begin: whether they slept nobody knows
	NoSleep    uint64 // calls without a switch
	Negative   int    // records with instants out of order

	FloorNS    uint64 // the device's delay, for all operations that slept
	BlockedNS  uint64
	RunQueueNS uint64
	TotalNS    uint64 // of the operations, by the workload's clock

	RunQueueInside bool
	Estimated      bool   // counts are estimates
	CostNS         uint64 // of the means' programs, all together
	UserNS         uint64 // CPU time of the reader
	Runs           uint64 // of the programs
	Skipped        uint64 // runs that the kernel's recursion guard skipped
}

// Floor is what programs that do nothing cost at the points of a means.
type Floor struct {
	Via      string
	Workload string
	Switches int
	CostNS   uint64
	Runs     uint64
}

// Missed is a run with a pool of return probes that is too small for its threads.
type Missed struct {
	Via       string
	MaxActive int
	Threads   int
	Switches  int
	Waits     uint64
	Shown     uint64 // misses that the means tells
	Kernel    int64  // that the kernel tells; -1: it does not
}

// Format is the format file of an event of the tracing file system.
type Format struct{ Group, Event, Text string }

// CallCost is what a call of a function costs while it is witnessed, by the clock of the thread that calls.
type CallCost struct {
	Tool  string // such as "iowitness fexit"
	Load  string // what it is asked for
	Order int    // in the tables
	Why   string `json:",omitempty"` // it could not be measured

	Bare   []float64 `json:",omitempty"` // ns of a call without it, of each round
	Added  []float64 `json:",omitempty"` // ns that it adds
	InBPF  float64   // ns a call within its BPF programs, by the kernel's statistics, whose own measurement is part of it; 0: it has none
	Runs   float64   // of them, a call
	Misses float64   // runs a call that the kernel skipped
}

// Real is how many waits the means did not see.
func (m *Missed) Real() int64 { return int64(m.Switches) - int64(m.Waits) }

// Line is a fact as a line of a test's output. The value is one of this package's types.
func Line(kind string, value any) string {
	v, err := json.Marshal(value)
	if err != nil {
		panic(err) // they are plain strings and numbers
	}
	line, err := json.Marshal(Fact{kind, v})
	if err != nil {
		panic(err)
	}
	return mark + string(line)
}

// Parse reads a line of output: found says whether it tells a fact.
func Parse(line string) (f Fact, found bool, err error) {
	_, text, found := strings.Cut(line, mark)
	if !found {
		return f, false, nil
	}
	if err := json.Unmarshal([]byte(text), &f); err != nil {
		return f, true, fmt.Errorf("a fact of the guest: %w", err)
	}
	return f, true, nil
}
