// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"math/rand/v2"
	"slices"

	"github.com/iowitness/iowitness/event"
)

// tracedThread is a thread that has entered a function of the table.
type tracedThread struct {
	tally   event.Tally // counters; its site and instants are filled in at a walk
	calls   callStack
	walked  uint64 // waits told by the last walk
	wanted  bool
	checked uint64 // when wanted was last decided

	// As in bpf/sample.h: which waits get a record.
	epoch      uint32
	inEpoch    [2]uint32 // waits ended in the epoch: unflagged, flagged
	nextSample [2]uint32
}

// count adds a wait to the counters.
func (t *tracedThread) count(start, end uint64, flags event.Flags, epoch uint32) {
	blocked := end - start
	if t.tally.Born == 0 {
		t.tally.Born = start
	}
	sum := &t.tally.Sums[flags&(event.Slow|event.Flagged)]
	sum.Count++
	sum.Blocked += blocked
	t.tally.Count++
	t.tally.Hist.Add(event.HistSlot(blocked), 1)
	longest := &t.tally.Max[epoch&1]
	if longest.Epoch != epoch {
		*longest = event.Max{Epoch: epoch}
	}
	longest.NS = max(longest.NS, blocked)
}

// sample chooses the waits that get a record: the first few of an interval, of
// the rest one in some, and all slow ones.
func (t *tracedThread) sample(flags event.Flags, epoch uint32, o *Options) (chosen event.Flags, weight uint32, ok bool) {
	if t.epoch != epoch {
		t.epoch, t.inEpoch, t.nextSample = epoch, [2]uint32{}, [2]uint32{}
	}
	class := 0
	if flags&event.Flagged != 0 {
		class = 1
	}
	t.inEpoch[class]++
	number := t.inEpoch[class]
	if number <= o.SampleFirst {
		t.nextSample[class] = o.SampleFirst + randomStep(o.SampleEvery)
		return flags | event.First, 1, true
	}
	period := o.SampleEvery
	if period > 1 {
		period += number / 16
	}
	if number >= t.nextSample[class] {
		t.nextSample[class] = number + randomStep(period)
		return flags, period, true
	}
	return flags, period, flags&event.Slow != 0
}

// randomStep is the period on the average: a regular choice would meet a regular
// program always at the same step.
func randomStep(period uint32) uint32 { return 1 + rand.Uint32N(2*period-1) }

// tell is the thread's tally as of an instant, with its wait in progress.
func (t *tracedThread) tell(now uint64, c *openCall) *event.Tally {
	tally := t.tally
	tally.Hist = slices.Clone(tally.Hist)
	tally.Now = now
	if c == nil {
		return &tally
	}
	tally.Start, tally.Flags = c.start, 0
	if c.flagged {
		tally.Flags = event.Flagged
	}
	if c.pointer == 0 {
		tally.Flags |= event.Adopted
	}
	if tally.Born == 0 {
		// A thread is known by the start of its first wait, which this is.
		tally.Born, t.tally.Born = c.start, c.start
	}
	return &tally
}
