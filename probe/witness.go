// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"time"

	"github.com/iowitness/iowitness/event"
)

// Witness sees waits by one means, from Start to Close. It is not safe for
// concurrent use, but for Interrupt.
type Witness interface {
	// Facts are what there is to know of the means in use.
	Facts() Facts
	// Options are those in force, defaults filled in.
	Options() Options

	// Start opens the gate, and tells the waits that are already in progress.
	Start(tell func(*event.Tally)) error
	// NextEpoch closes an interval and returns its number, by which event.Max tells
	// the longest wait of an interval.
	NextEpoch() (closed uint32, err error)
	// Walk gives the tally of every thread that waits or has waited since the last walk.
	Walk(tell func(*event.Tally)) error
	// Clock is the instant of the last walk, by the clock of all events, in ns.
	Clock() (uint64, error)
	// Drain gives records in the order in which they were made: *event.Wait,
	// *event.Identity, and *event.Tally of threads that have ended. It returns at the
	// deadline or when interrupted; at a deadline that has passed it only takes what is there.
	Drain(deadline time.Time, tell func(any)) error
	// Interrupt makes Drain return early. It may be called by any goroutine.
	Interrupt()

	// SetAddresses tells the addresses of kernel symbols. Without them fewer files
	// and causes are found.
	SetAddresses(address func(symbol string) (uint64, bool)) error
	// Follow witnesses a thread, by its id in the caller's pid namespace, and all
	// that descends from it from now on; Unfollow forgets a thread, not its descendants.
	Follow(tid uint32) error
	Unfollow(tid uint32) error

	// Heartbeat tells the kernel side that somebody still listens. Without one for
	// Options.Silence it does no work: closed says that this has happened, and asks for Resume.
	Heartbeat() (closed bool, err error)
	// SetDetail says how much is witnessed from now on.
	SetDetail(Detail) error
	// Pause closes the gate, and Resume opens it again and tells the waits in
	// progress; waits that are under way when the gate closes are given up.
	Pause() error
	Resume(tell func(*event.Tally)) error

	// Detach takes everything out of the kernel's way; what was counted can still be read.
	Detach() error
	// Losses are all counts since the start, zero ones included.
	Losses() ([]Loss, error)
	// Stats is what the means costs in the kernel.
	Stats() (RunStats, error)
	// Close detaches and frees everything. It may be called more than once.
	Close() error
}

// Facts say what a means is and what figures by it are worth.
type Facts struct {
	Means Means
	State string // where threads' counters are kept, such as "task_storage"
	Clock string // of all instants: "scheduler" or "monotonic"
	// RunQueueInside: the delay from wake-up to running is part of the waiting time and not told apart.
	RunQueueInside bool
	// OwnMeter: what it costs is measured all the time, at no price worth mentioning.
	OwnMeter bool
	// RunQueueUnknown: it is neither told apart nor part of the waiting time.
	RunQueueUnknown bool
	// Joins: waits are joined to the block requests that end them.
	Joins bool
	// Estimated: every figure is an estimate, counts included.
	Estimated bool
	Refused   []string // why no better means is used, where none was asked for
	Notes     []string // what cannot be witnessed here, in sentences
}

// Detail is how much is witnessed.
type Detail struct {
	Stacks bool   // stacks, files and requests of single waits; else counts and times only
	Ratio  uint32 // of the waits one in this many is measured at all; 1: each
}

// FullDetail leaves nothing out.
var FullDetail = Detail{Stacks: true, Ratio: 1}

// Open loads the kernel side and attaches it, with its gate still closed: nothing
// is witnessed before Start. An error that wraps ErrUnsupported says what is missing.
func Open(o Options) (Witness, error) {
	o.fill()
	return choose(&o)
}
