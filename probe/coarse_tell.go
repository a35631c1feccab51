// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/taskstats"
)

// tell turns an account into a tally. How long a wait was below the slow
// threshold is not known: all count as slow, whose every record stands for itself.
func (w *coarse) tell(a *taskstats.Account, tell func(*event.Tally)) {
	closed := w.epoch - 1
	t := &event.Tally{
		TID: a.TID, PID: a.PID, Comm: a.Comm, Born: a.Born, Now: w.poller.Now(), Exited: a.Exited,
		Count: a.Flagged.Count + a.Unflagged.Count,
	}
	t.Sums[event.Slow] = event.Sum{Count: a.Unflagged.Count, Blocked: a.Unflagged.NS}
	t.Sums[event.Slow|event.Flagged] = event.Sum{Count: a.Flagged.Count, Blocked: a.Flagged.NS}
	t.Max[closed&1] = event.Max{NS: a.Longest, Epoch: closed}
	if a.Wait != nil {
		t.Start, t.Flags, t.Site = a.Wait.Start, flagsOf(a.Wait), &a.Wait.Site
	}
	key := thread{a.TID, a.Born}
	if a.SwappedIn.NS > 0 {
		w.queue = append(w.queue, swappedIn(a, w.poller.Now(), t.Count))
	}
	if w.counts[key] = t.Count; a.Exited {
		w.ended = append(w.ended, key)
	}
	tell(t)
}

func flagsOf(wait *taskstats.Wait) event.Flags {
	flags := event.Slow
	switch wait.Flag {
	case taskstats.Flagged:
		flags |= event.Flagged
	case taskstats.FlagUnknown:
		flags |= event.FlagUnknown
	}
	if wait.Adopted {
		flags |= event.Adopted
	}
	if wait.Interruptible {
		flags |= event.Interruptible
	}
	// Seen at more than one poll, it is one wait for sure; a single sighting stands for the
	// short ones, most of which no poll sees.
	if wait.Seen > 1 {
		flags |= event.First
	}
	return flags
}

// queueWaits makes records of the waits that the last walk has counted.
func (w *coarse) queueWaits() {
	for _, wait := range w.poller.Waits() {
		w.queue = append(w.queue, &event.Wait{
			TID: wait.TID, PID: wait.PID, Comm: wait.Comm, Born: wait.Born,
			Start: wait.Start, Woken: wait.End, Runs: wait.End,
			Seq: w.counts[thread{wait.TID, wait.Born}], Flags: flagsOf(wait), Weight: 1, Site: wait.Site,
		})
	}
	for _, key := range w.ended {
		delete(w.counts, key)
	}
	w.ended = w.ended[:0]
}

// swappedIn stands for waits that nobody saw, but which the accounting says were all for swapped out pages.
func swappedIn(a *taskstats.Account, now, seq uint64) *event.Wait {
	return &event.Wait{
		TID: a.TID, PID: a.PID, Comm: a.Comm, Born: a.Born, Start: now - min(a.SwappedIn.NS, now), Woken: now, Runs: now,
		Seq: seq, Flags: event.Slow | event.Flagged, Weight: 1,
		Site: event.Site{Syscall: event.NoSyscall, Names: []string{"do_swap_page"}},
	}
}
