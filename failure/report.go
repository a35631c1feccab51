// SPDX-License-Identifier: Apache-2.0

package failure

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/iowitness/iowitness/snapshot"
)

// Argument is one of a system call.
type Argument struct {
	Name string
	Text string
	Path bool // Text is the path that was given
}

// Call is a system call that failed.
type Call struct {
	Name      string
	Arguments []Argument
	Errno     unix.Errno
	PID, TID  uint32
	Comm      string
	Start     uint64 // CLOCK_MONOTONIC in ns
	NS        uint64
	Chain     Chain
}

// Origin is failed calls whose error was first returned by the same function.
type Origin struct {
	Function string // "": by none that is witnessed
	Count    uint64 // of those told one by one
	Example  Call   // the last
	Paths    []Path // with which: the first so many different ones
	Others   uint64 // calls with other paths
}

// Path is one that failed calls were given.
type Path struct {
	Text  string
	Count uint64
}

// Row is all failed calls of a name and error.
type Row struct {
	Call    string
	Errno   unix.Errno
	Count   uint64 // exact
	NS      uint64 // in these calls
	Told    uint64 // of Count one by one, by which Origins are known
	Origins []Origin
}

// Sender is who sent a signal that ended its receiver.
type Sender struct {
	Kernel    bool // the kernel by itself: a fault, or what the receiver was in
	Code      string
	Address   uint64 // of a fault
	IsFault   bool   // Address is one
	PID, TID  uint32 // who ran then
	Comm      string
	Functions []string // of the sender's stack, innermost first; nil: not known
}

// Death is a process that a signal ended.
type Death struct {
	PID    uint32
	Comm   string
	Signal string
	Dumped bool
	Time   uint64  // CLOCK_MONOTONIC in ns
	Sender *Sender // nil: not seen
	During *Call   // the failed system call in which the receiver itself was sent it; nil: none
}

// Report is what failed, and what went missing.
type Report struct {
	Version, Kernel, Means, Scope string
	Start, End                    time.Time
	Functions                     int // that are witnessed
	Attach                        time.Duration
	Rows                          []Row
	Deaths                        []Death
	MoreDeaths                    uint64 // beyond those listed
	Lost                          []snapshot.Loss
	Cost                          snapshot.Cost
	Notes                         []string
}

// Failed is how many calls failed, without those that were restarted.
func (r *Report) Failed() (n uint64) {
	for i := range r.Rows {
		if !Restarts(r.Rows[i].Errno) {
			n += r.Rows[i].Count
		}
	}
	return n
}
