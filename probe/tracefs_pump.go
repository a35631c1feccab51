// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/tracefs"
)

// The buffers are emptied as often as they fill to a quarter, within bounds.
const (
	firstTick = 50 * time.Millisecond
	leastTick = 5 * time.Millisecond
	mostTick  = 200 * time.Millisecond
	wantFull  = 0.25
)

// Drain takes events until the deadline, and tells the records made of them.
func (w *tracefsWitness) Drain(deadline time.Time, tell func(any)) error {
	for {
		left := time.Until(deadline)
		if left > 0 {
			interrupted, err := w.sleep(min(left, w.tick))
			if err != nil {
				return err
			}
			if err := w.pump(); err != nil {
				return err
			}
			if interrupted {
				left = 0
			}
		}
		for _, record := range w.queue {
			tell(record)
		}
		w.queue = w.queue[:0]
		if left <= 0 {
			return nil
		}
	}
}

// sleep waits so long, or until it is interrupted.
func (w *tracefsWitness) sleep(d time.Duration) (interrupted bool, err error) {
	fds := []unix.PollFd{{Fd: int32(w.wakeFD), Events: unix.POLLIN}}
	n, err := unix.Poll(fds, int(max(d.Milliseconds(), 1)))
	if errors.Is(err, unix.EINTR) {
		return false, nil
	}
	if err != nil {
		return false, os.NewSyscallError("poll", err)
	}
	if n > 0 {
		var b [8]byte
		_, _ = unix.Read(w.wakeFD, b[:])
	}
	return n > 0, nil
}

// pump takes the events that are sure to be complete.
func (w *tracefsWitness) pump() error {
	now, err := monotonic()
	if err != nil || !w.open {
		return err
	}
	return w.take(now, now-uint64(slack))
}

// pumpNow takes all events up to now.
func (w *tracefsWitness) pumpNow() error {
	until, err := monotonic()
	if err != nil || !w.open {
		return err
	}
	time.Sleep(slack)
	now, err := monotonic()
	if err != nil {
		return err
	}
	return w.take(now, until)
}

// take collects what is in the buffers now, and takes the events up to an instant.
func (w *tracefsWitness) take(now, until uint64) error {
	full, err := w.reader.Collect()
	if err != nil {
		return err
	}
	w.adapt(full)
	lost, whole, err := w.reader.Lost(now)
	if err != nil {
		return fmt.Errorf("asking for lost events: %w", err)
	}
	if lost > 0 {
		return w.afterLoss(lost, min(whole, until))
	}
	w.reader.Read(until, w.event)
	w.ahead = max(w.ahead, until)
	w.bury()
	return nil
}

func (w *tracefsWitness) adapt(full float64) {
	next := mostTick
	if full > 0 {
		next = time.Duration(float64(w.tick) * wantFull / full)
	}
	w.tick = min(max(next, leastTick), mostTick)
}

// afterLoss begins anew: of calls that were open when events went missing, and of
// what came after, nobody knows which return belongs to which entry. The gate
// is closed meanwhile, so that all that the buffers hold is from before.
func (w *tracefsWitness) afterLoss(lost, whole uint64) error {
	w.reader.Read(whole, w.event)
	if err := w.gate(false); err != nil {
		return err
	}
	dropped, more, err := w.reader.Restart()
	if err != nil {
		return err
	}
	w.counts.lostEvents += lost + more
	w.counts.discarded += dropped
	w.giveUp()
	now, err := monotonic()
	w.ahead = max(w.ahead, now)
	return errors.Join(err, w.gate(true))
}

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
		w.exited(tid, r.Time)
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
