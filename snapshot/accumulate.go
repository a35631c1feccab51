// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"iter"
	"slices"

	"github.com/iowitness/iowitness/blame"
)

// Limits bound what an Accumulator remembers. Totals stay exact: what is over
// a limit loses detail, not time.
type Limits struct {
	Threads          int // beyond it threads fold into one entry a process, ended ones first
	Processes        int // such entries; beyond it they fold into one with pid 0
	ChargesPerThread int // beyond it charges lose their file, then device and system call
	Charges          int // of all threads together, likewise
}

// DefaultLimits take some 20 MB where every thread waits for files of its own.
var DefaultLimits = Limits{Threads: 10_000, Processes: 2_000, ChargesPerThread: 64, Charges: 20_000}

// OtherProcesses is the command name of the entry of processes beyond the limit.
const OtherProcesses = "(other processes)"

// Accumulator sums up intervals for the summary at the end of a run.
type Accumulator struct {
	limits  Limits
	total   Interval
	system  systemSums
	threads map[entryID]*entry
	charges int
	folded  int // entries that hold more than one thread
	stacks  map[string][]string
	added   int // intervals
}

// entryID names a thread, or with nothing but a pid the folded threads of a process.
type entryID struct {
	pid, tid uint32
	comm     string
}

// NewAccumulator makes an empty one.
func NewAccumulator(limits Limits) *Accumulator {
	return &Accumulator{limits: limits, threads: map[entryID]*entry{}, stacks: map[string][]string{}}
}

// Add sums up one more interval.
func (a *Accumulator) Add(iv *Interval) {
	a.addHead(iv)
	for _, e := range a.threads {
		e.pending = nil
	}
	a.added++
	for i := range iv.Threads {
		t := &iv.Threads[i]
		e := a.entry(entryID{t.PID, t.TID, t.Comm}, t.Comm)
		e.add(a, t)
		e.last = a.added
	}
	if len(a.threads)-a.folded > a.limits.Threads {
		a.fold()
	}
}

func (a *Accumulator) entry(id entryID, comm string) *entry {
	e := a.threads[id]
	if e == nil {
		e = &entry{comm: comm}
		a.threads[id] = e
	}
	return e
}

// Build is Build over all that was added. Waits in progress are those of the last interval.
func (a *Accumulator) Build(names Names, options Options) *Snapshot {
	a.system.into(&a.total)
	return build(&a.total, a.all(), names, options)
}

// all walks the sums in a stable order, through one thread that it uses again and again.
func (a *Accumulator) all() iter.Seq[*blame.Thread] {
	ids := make([]entryID, 0, len(a.threads))
	for id := range a.threads {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, entryID.compare)
	return func(yield func(*blame.Thread) bool) {
		var t blame.Thread
		for _, id := range ids {
			a.threads[id].into(&t, id)
			if !yield(&t) {
				return
			}
		}
	}
}
