// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/tracefs"
)

// event takes one event.
func (w *tracefsWitness) event(r *tracefs.Record) {
	e := w.kinds[r.ID]
	if e == nil {
		w.counts.undecoded++
		return
	}
	thread, ok := e.thread.Uint(r.Data)
	if !ok {
		w.counts.undecoded++
		return
	}
	tid := uint32(thread)
	switch e.kind {
	case callEntered:
		w.enter(tid, e, r)
	case callReturned:
		w.leave(tid, e.function, r)
	case threadMade:
		child, okChild := e.child.Uint(r.Data)
		flags, okFlags := e.cloneFlags.Uint(r.Data)
		if !okChild || !okFlags {
			w.counts.undecoded++
			return
		}
		w.made(uint32(child), tid, flags, r.Time)
	case threadExited:
		w.tasks.exits(tid, r.Time)
	case threadSlept:
		if t := w.threads[tid]; t != nil {
			t.calls.sleep()
		}
	}
}

func (w *tracefsWitness) enter(tid uint32, e *tracedEvent, r *tracefs.Record) {
	pointer, ok1 := e.pointer.Uint(r.Data)
	address, ok2 := e.address.Uint(r.Data)
	comm, ok3 := e.comm.Text(r.Data)
	if !ok1 || !ok2 || !ok3 {
		w.counts.undecoded++
		return
	}
	t := w.thread(tid, comm, r.Time)
	if t == nil || !t.wanted {
		return
	}
	e.function.entries++
	call := openCall{
		function: e.function, start: r.Time, pointer: pointer, flagged: e.function.Flagged,
		site: siteOf(address, r.Stack, w.sites.take()),
	}
	w.unreturned(t, t.calls.enter(call))
	if r.Stack == nil && w.detail.Stacks {
		w.counts.noStack++
	}
}

// nearEntry is how far into a function the kernel's unwinder may put its begin.
const nearEntry = 16

// siteOf is a stack that begins in the probed function itself. A frame that lies at
// a function's very begin would be taken for a pointer to it, no place of a call.
func siteOf(address uint64, stack, into []uint64) []uint64 {
	if len(stack) > 0 && stack[0]-address < nearEntry {
		stack = stack[1:]
	}
	return append(append(into[:0], address+1), stack...)
}

// sitePool keeps the memory of stacks that nobody was told of, for the next ones.
type sitePool [][]uint64

const maxSitePool = 256

func (p *sitePool) take() (site []uint64) {
	if last := len(*p) - 1; last >= 0 {
		site, *p = (*p)[last], (*p)[:last]
	}
	return site
}

func (p *sitePool) give(site []uint64) {
	if len(*p) < maxSitePool && site != nil {
		*p = append(*p, site)
	}
}

func (w *tracefsWitness) leave(tid uint32, f *tracedFunction, r *tracefs.Record) {
	t := w.threads[tid]
	if t != nil && !t.wanted {
		return
	}
	if t == nil {
		w.stray(f)
		return
	}
	call, within, ok := t.calls.leave(f, r.Time)
	w.unreturned(t, within)
	if !ok {
		w.stray(f)
		return
	}
	f.returns++
	if !w.end(t, &call, r.Time, r.CPU) && !call.siteTold {
		w.sites.give(call.site)
	}
}

// stray is a return without an entry: of a call that began before the gate
// opened, whose entry was lost, or was not chosen.
func (w *tracefsWitness) stray(f *tracedFunction) {
	if w.detail.Ratio > 1 {
		w.counts.byRatio++
		return
	}
	f.strayReturns++
}

// end makes a wait of a call that has returned. told: its record has the call's stack.
func (w *tracefsWitness) end(t *tracedThread, c *openCall, end uint64, cpu int) (told bool) {
	if end < c.start {
		w.counts.clock++
		return false
	}
	start, flags, slept := c.wait(end, w.sight)
	if !slept {
		w.counts.noSleep++
		return false
	}
	blocked := end - start
	if blocked < uint64(w.options.Min) {
		return false
	}
	if blocked >= uint64(w.options.Slow) {
		flags |= event.Slow
	}
	t.count(start, end, flags, w.epoch)
	flags, weight, chosen := t.sample(flags, w.epoch, w.options)
	switch {
	case !chosen:
		return false
	case !w.detail.Stacks:
		w.counts.shed.add(blocked)
		return false
	case w.budget == 0:
		w.counts.overBudget.add(blocked)
		return false
	}
	w.budget--
	w.queue = append(w.queue, &event.Wait{
		TID: t.tally.TID, PID: t.tally.PID, Comm: t.tally.Comm,
		Start: start, Woken: end, Runs: end, Seq: t.tally.Count, Born: t.tally.Born,
		Flags: flags, CPU: uint32(cpu), Weight: weight, Site: event.Site{Syscall: -1, Stack: c.site},
	})
	return true
}
