// SPDX-License-Identifier: Apache-2.0

package scheduling

import (
	"slices"

	"github.com/iowitness/iowitness/profile"
)

// renumber tells processes and threads by the numbers that the reader knows them by, after all that
// is told by the kernel's own has been put together: who has no number has no other's.
func (a *Accumulator) renumber(r *Report) {
	number := a.names.Number
	to := func(ids ...*uint32) {
		for _, id := range ids {
			*id = number(*id)
		}
	}
	for _, rows := range [][]profile.ProcessRow{r.Processes, r.Threads} {
		for i := range rows {
			p := &rows[i]
			p.NSPID = a.inner(p.PID)
			to(&p.PID, &p.TID)
		}
	}
	for i := range r.Profile.Samples {
		s := &r.Profile.Samples[i]
		to(&s.PID, &s.TID)
	}
	for i := range r.Stacks {
		s := &r.Stacks[i]
		to(&s.PID, &s.TID, &s.Waker)
	}
	for i := range r.Gaps {
		to(&r.Gaps[i].PID, &r.Gaps[i].TID)
	}
	for _, queues := range [][]Queue{r.Queues, r.OnCPUs} {
		for i := range queues {
			q := &queues[i]
			q.NSPID = a.inner(q.PID)
			to(&q.PID, &q.Parts[0].MaxTID, &q.Parts[1].MaxTID)
		}
	}
	for i := range r.Pairs {
		to(&r.Pairs[i].Waker, &r.Pairs[i].Woken)
	}
	for i := range r.Longest {
		l := &r.Longest[i]
		l.Ran = slices.Clone(l.Ran)
		to(&l.PID, &l.TID, &l.Waker)
		for j := range l.Ran {
			to(&l.Ran[j].PID, &l.Ran[j].TID)
		}
	}
}

// inner is a process's pid in a namespace that is not the reader's; 0: it has none, or it is not known.
func (a *Accumulator) inner(pid uint32) uint32 {
	if inner := a.names.NSPID(pid); inner != a.names.Number(pid) {
		return inner
	}
	return 0
}
