// SPDX-License-Identifier: Apache-2.0

package blame

import (
	"cmp"

	"github.com/iowitness/iowitness/event"
)

// Joins sums up recorded waits that were joined to the block request whose completion
// ended them. A wait is divided backwards from its end: the device had the request last,
// before that it was queued, and what is left of the wait lies before its making.
type Joins struct {
	Waits uint64 // joined
	Timed uint64 // of these, the time in the device is known
	// Of the Timed waits alone, in ns: Before, their part of the queueing, where that is
	// known, and Within add up to Blocked.
	Blocked uint64
	Before  uint64
	Within  uint64 // while the device had the request
	// The requests' own times in ns, which may begin before the wait does.
	Device      uint64 // of Timed requests
	Queue       uint64 // of QueueTimed requests
	QueueTimed  uint64 // of the Timed ones
	Longest     event.Request
	LongestWait uint64 // ns, of the wait that Longest ended
}

// Split is how a wait divides by its request, in ns; the parts add up to what was waited.
type Split struct{ Before, Queued, Within uint64 }

// SplitBy divides a wait of so many ns by its request. Where it is not known how long that was
// queued, Before holds it; where nothing is known of it, it is all in Before.
func SplitBy(blocked uint64, r event.Request) Split {
	within := min(r.Device, blocked)
	queued := min(r.Queue, blocked-within)
	return Split{Before: blocked - within - queued, Queued: queued, Within: within}
}

// Mean divides the mean Timed wait; nothing if there is none.
func (j *Joins) Mean() (s Split, ok bool) {
	if j.Timed == 0 {
		return Split{}, false
	}
	blocked := j.Blocked / j.Timed
	s.Within = min(j.Within/j.Timed, blocked)
	s.Before = min(j.Before/j.Timed, blocked-s.Within)
	s.Queued = blocked - s.Within - s.Before
	return s, true
}

// add takes in a wait that was joined.
func (j *Joins) add(w *event.Wait) {
	r, blocked := w.Request, w.Blocked()
	one := Joins{Waits: 1, Longest: r, LongestWait: blocked}
	if r.Device > 0 {
		s := SplitBy(blocked, r)
		one.Timed, one.Blocked, one.Before, one.Within, one.Device = 1, blocked, s.Before, s.Within, r.Device
		if r.Queue > 0 {
			one.QueueTimed, one.Queue = 1, r.Queue
		}
	}
	j.Merge(&one)
}

// Merge adds the sums of other waits.
func (j *Joins) Merge(o *Joins) {
	if o.Waits == 0 {
		return
	}
	if j.Waits == 0 || j.compareLongest(o) < 0 {
		j.Longest, j.LongestWait = o.Longest, o.LongestWait
	}
	j.Waits += o.Waits
	j.Timed += o.Timed
	j.Blocked += o.Blocked
	j.Before += o.Before
	j.Within += o.Within
	j.Device += o.Device
	j.Queue += o.Queue
	j.QueueTimed += o.QueueTimed
}

// compareLongest knows an order among equals, so that sums do not depend on theirs.
func (j *Joins) compareLongest(o *Joins) int {
	a, b := &j.Longest, &o.Longest
	return cmp.Or(
		cmp.Compare(j.LongestWait, o.LongestWait), cmp.Compare(a.Device, b.Device), cmp.Compare(a.Queue, b.Queue),
		cmp.Compare(a.Dev, b.Dev), cmp.Compare(a.Sector, b.Sector), cmp.Compare(a.Bytes, b.Bytes), cmp.Compare(a.Op, b.Op))
}
