// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"slices"
	"strings"

	"github.com/iowitness/iowitness/blame"
	"github.com/iowitness/iowitness/event"
)

// entry is the sum of one thread, or of the folded threads of a process. There
// are many: it is kept small.
type entry struct {
	comm    string
	count   uint64
	blocked uint64 // ns, like those that follow
	flagged uint64
	queued  uint64
	max     uint64
	hist    event.Hist
	pending *blame.Pending
	charges []charge
	exited  bool
	last    int // interval in which it last was seen
}

func (e *entry) add(a *Accumulator, t *blame.Thread) {
	e.count += t.Count
	e.blocked += t.Blocked
	e.flagged += t.FlaggedBlocked
	e.queued += t.RunQueue
	e.max = max(e.max, t.Max)
	e.exited = t.Exited
	e.hist.Merge(t.Hist)
	e.pending = older(e.pending, t.Pending)
	for i := range t.Charges {
		c := &t.Charges[i]
		a.charge(e, keyOfCharge(c)).add(a, c)
	}
}

func (e *entry) merge(a *Accumulator, o *entry) {
	e.count += o.count
	e.blocked += o.blocked
	e.flagged += o.flagged
	e.queued += o.queued
	e.max = max(e.max, o.max)
	e.exited = e.exited || o.exited
	e.last = max(e.last, o.last)
	e.hist.Merge(o.hist)
	e.pending = older(e.pending, o.pending)
	for i := range o.charges {
		a.charge(e, o.charges[i].chargeKey).merge(&o.charges[i])
	}
}

func older(a, b *blame.Pending) *blame.Pending {
	if a == nil || b != nil && b.Age > a.Age {
		return b
	}
	return a
}

// into writes the entry to a thread, using its memory again.
func (e *entry) into(t *blame.Thread, id entryID) {
	charges := t.Charges[:0]
	for i := range e.charges {
		charges = append(charges, e.charges[i].blame())
	}
	*t = blame.Thread{
		TID: id.tid, PID: id.pid, Comm: e.comm, Exited: e.exited, Count: e.count, Blocked: e.blocked,
		FlaggedBlocked: e.flagged, RunQueue: e.queued, Max: e.max, Hist: e.hist, Pending: e.pending, Charges: charges,
	}
}

// intern keeps one copy of each stack, and no more than a bounded number of them.
func (a *Accumulator) intern(stack []string) []string {
	key := strings.Join(stack, "\n")
	if known, ok := a.stacks[key]; ok {
		return known
	}
	if len(a.stacks) >= maxStacks {
		return nil
	}
	stack = slices.Clone(stack)
	a.stacks[key] = stack
	return stack
}

const maxStacks = 4096
