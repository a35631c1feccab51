// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"cmp"
	"slices"
)

func (id entryID) compare(o entryID) int {
	return cmp.Or(cmp.Compare(id.pid, o.pid), cmp.Compare(id.tid, o.tid), cmp.Compare(id.comm, o.comm))
}

// fold makes room: a tenth below the limit, so that it is rarely needed.
func (a *Accumulator) fold() {
	ids := a.foldable()
	for _, id := range ids[:len(ids)-a.limits.Threads*9/10] {
		e := a.threads[id]
		delete(a.threads, id)
		a.charges -= len(e.charges)
		a.processEntry(id.pid, e.comm).merge(a, e)
	}
}

// foldable lists the threads in the order in which they may go: ended ones, those
// that did not wait lately, then those that waited least; those that wait now are last.
func (a *Accumulator) foldable() []entryID {
	var ids []entryID
	for id := range a.threads {
		if id.tid != 0 {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(x, y entryID) int {
		ex, ey := a.threads[x], a.threads[y]
		return cmp.Or(
			trueFirst(ex.pending == nil, ey.pending == nil), trueFirst(ex.exited, ey.exited),
			cmp.Compare(ex.last, ey.last), cmp.Compare(ex.blocked, ey.blocked), x.compare(y))
	})
	return ids
}

func trueFirst(x, y bool) int {
	switch {
	case x == y:
		return 0
	case x:
		return -1
	}
	return 1
}

// processEntry is where the threads of a process fold into.
func (a *Accumulator) processEntry(pid uint32, comm string) *entry {
	id := entryID{pid: pid}
	if a.threads[id] == nil && a.folded >= a.limits.Processes {
		id, comm = entryID{}, OtherProcesses
	}
	if a.threads[id] == nil {
		a.folded++
	}
	return a.entry(id, comm)
}
