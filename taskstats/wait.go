// SPDX-License-Identifier: Apache-2.0

package taskstats

import "github.com/iowitness/iowitness/event"

// Flag says whether the kernel calls a wait iowait, which /proc does not show:
// delay accounting grows with such waits, and with no others.
type Flag uint8

// What a wait's flag can be.
const (
	FlagUnknown Flag = iota
	Flagged
	Unflagged
)

// Wait is a wait that was seen: one or more sightings of a thread that did not
// run in between. Instants are by CLOCK_MONOTONIC, in ns.
type Wait struct {
	TID, PID uint32
	Comm     string
	Born     uint64 // see Account
	// Start and End are estimates: half-way between the polls that did and did not see it. Over
	// many waits that gives the right total, however short they are: each sighting stands for
	// the time of one poll.
	Start, End    uint64
	First, Last   uint64 // the first and the last sighting
	Seen          int    // sightings
	Adopted       bool   // it began before the watch did: Start is when the thread last ran, if the kernel tells, or First
	Interruptible bool   // an io_uring wait, in state S
	Flag          Flag   // while it goes on, that of earlier waits in the same functions
	Site          event.Site
	Hidden        bool // the kernel does not show us where the thread sleeps

	before mark   // of the accounting, when it was first seen
	place  string // the functions it sleeps in, as one string
}

// Blocked is the estimated length, in ns, from the start on.
func (w *Wait) Blocked() uint64 { return since(w.End, w.Start) }

// begin is when it began, as far as it lies within the watch.
func (w *Wait) begin() uint64 {
	if w.Adopted {
		return w.First
	}
	return w.Start
}

// counted is the part of it that lies within the watch.
func (w *Wait) counted() uint64 { return since(w.End, w.begin()) }

// mark is delay accounting at an instant.
type mark struct {
	blockIO Delay  // where it was asked for
	asked   bool   // blockIO is known
	ticks   uint64 // from the stat file
}

// shortWait is how long a wait may have been without showing in ticks of 10 ms.
const shortWait = 2 * TickNS

// slack is by how much accounting may fall short of what was seen: the two are not read at once.
const slack = 1_000_000

// judge says whether a wait that has just ended was iowait, by what the
// accounting has grown since it was first seen. It was at least as long as
// between its first and last sighting.
func (w *Wait) judge(after mark) Flag {
	least := since(w.Last, w.First)
	if w.before.asked && after.asked {
		grown := after.blockIO.Since(w.before.blockIO)
		if grown.Count > 0 && grown.Total+slack >= least {
			return Flagged
		}
		return Unflagged
	}
	ticks := since(after.ticks, w.before.ticks)
	switch {
	case ticks > 0 && ticks*TickNS+TickNS >= least:
		return Flagged
	case ticks == 0 && least < shortWait:
		return FlagUnknown
	}
	return Unflagged
}

// between is half-way, and never before the earlier instant.
func between(earlier, later uint64) uint64 { return earlier + since(later, earlier)/2 }
