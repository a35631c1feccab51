// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"hash/maphash"
	"slices"
	"unsafe"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/tracefs"
)

// event takes one event.
func (w *tracedCalls) event(r *tracefs.Record) {
	e := w.kinds[r.ID]
	if e == nil {
		w.counts.undecoded++
		return
	}
	number, ok := e.thread.Uint(r.Data)
	if !ok {
		w.counts.undecoded++
		return
	}
	switch tid := uint32(number); e.kind {
	case callEntered:
		w.enter(tid, e, r)
	case callReturned:
		w.leave(tid, e, r)
	case threadMade:
		child, ok1 := e.child.Uint(r.Data)
		flags, ok2 := e.cloneFlags.Uint(r.Data)
		if !ok1 || !ok2 {
			w.counts.undecoded++
			return
		}
		w.finish(uint32(child)) // one that had its number before has ended
		w.tasks.made(uint32(child), tid, flags)
	case threadExited:
		w.tasks.exits(tid, r.Time)
	}
}

func (w *tracedCalls) enter(tid uint32, e *callEvent, r *tracefs.Record) {
	pointer, ok := e.pointer.Uint(r.Data)
	var comm []byte
	if w.wantsComm() && ok {
		comm, ok = e.comm.Text(r.Data)
	}
	c := tracedCall{function: e.function, number: e.number, start: r.Time, pointer: pointer}
	for i := range e.args {
		if ok && e.args[i].Size > 0 {
			c.input.Args[i], ok = e.args[i].Uint(r.Data)
		}
	}
	if !ok {
		w.counts.undecoded++
		return
	}
	t := w.thread(tid, comm, r.Time)
	if t == nil || !t.wanted || w.options.Inside && !e.function.Root && !t.inside() {
		return
	}
	e.function.balance.Entries++
	c.input.Comm, c.input.TGID, c.input.TID, c.input.CPU = t.comm, t.pid, tid, uint32(r.CPU)
	if w.takesStacks() {
		address, _ := e.address.Uint(r.Data)
		c.stack = callersOf(address, r.Stack)
		if r.Stack == nil {
			w.counts.noStack++
		}
	}
	missed(t.enter(c))
}

func (w *tracedCalls) takesStacks() bool {
	return w.detail.Stacks && (w.options.Stacks || w.options.By.Stack)
}

// callersOf is a stack without the function itself.
func callersOf(address uint64, stack []uint64) []uint64 {
	if len(stack) > 0 && stack[0]-address < nearEntry {
		stack = stack[1:]
	}
	return slices.Clone(stack)
}

// missed counts calls that returned unseen.
func missed(calls []tracedCall) {
	for i := range calls {
		calls[i].function.balance.Missed++
	}
}

// thread is what is known of a thread; nil where there is no room for it.
func (w *tracedCalls) thread(tid uint32, comm []byte, now uint64) *callThread {
	t := w.threads[tid]
	if t == nil {
		if len(w.threads) >= mostThreads {
			w.counts.noRoom++
			return nil
		}
		t = &callThread{tid: tid, pid: w.tasks.process(tid)}
		if t.pid == 0 {
			t.pid = tid // it may be its own process, and nobody knows better
			w.counts.noProcess++
		}
		w.threads[tid] = t
	}
	if string(comm) != t.comm {
		t.comm, t.checked = string(comm), 0
	}
	if t.checked == 0 || w.wishes.cgroup != nil && now > t.checked+recheckAfter {
		t.checked, t.wanted = now, w.wishes.want(tid, t.pid, t.comm)
	}
	return t
}

func (w *tracedCalls) leave(tid uint32, e *callEvent, r *tracefs.Record) {
	pointer, ok1 := e.pointer.Uint(r.Data)
	ret, ok2 := e.ret.Uint(r.Data)
	if !ok1 || !ok2 && e.function.Returns() {
		w.counts.undecoded++
		return
	}
	t := w.threads[tid]
	if t != nil && !t.wanted {
		return
	}
	b := &e.function.balance
	if t == nil {
		w.stray(b)
		return
	}
	c, within, ok := t.leave(e.function, pointer, r.Time)
	missed(within)
	if !ok {
		w.stray(b)
		return
	}
	b.Returns++
	if r.Time < c.start {
		w.counts.clock++
		return
	}
	w.end(t, &c, ret, r)
}

// stray is a return without an entry: of a call that began before the gate opened, or
// whose entry was left out.
func (w *tracedCalls) stray(b *CallBalance) {
	if w.detail.Ratio > 1 {
		b.Skipped++
		return
	}
	b.Strays++
}

// end sums up a call that has returned, and tells it.
func (w *tracedCalls) end(t *callThread, c *tracedCall, ret uint64, r *tracefs.Record) {
	took := r.Time - c.start
	f := c.function
	if f.Program != nil {
		in := &c.input
		in.Ret, in.Latency = ret, took
		if !f.Program.Evaluate(in, f.out) {
			f.balance.Unwanted++
			return
		}
	}
	if took < uint64(max(w.options.Slower, 0)) {
		f.balance.Unwanted++
		return
	}
	if w.options.Sums {
		w.sum(t, c, took, ret, uint32(r.CPU))
	}
	if w.options.Records {
		w.tell(t, c, took, ret, r)
	}
}

func (w *tracedCalls) sum(t *callThread, c *tracedCall, took, ret uint64, cpu uint32) {
	key := w.key(t, c, cpu)
	s := w.sums[key]
	if s == nil {
		if len(w.sums) >= mostCallKeys {
			w.counts.noSum++
			return
		}
		s = &event.CallSum{}
		w.sums[key] = s
	}
	s.Count++
	s.NS += took
	s.Max = max(s.Max, took)
	s.Inner += min(c.inner, took)
	if isErrorResult(ret, c.function.resultBytes()) {
		s.Errors++
	}
	s.Hist.Add(event.HistSlot(took), 1)
}

// isErrorResult says whether so many bytes of a result are -1 to -4095.
func isErrorResult(ret uint64, bytes int) bool {
	value := int64(ret)
	switch bytes {
	case 0:
		return false
	case 4:
		value = int64(int32(ret))
	}
	return value < 0 && value >= -4095
}

func (w *tracedCalls) key(t *callThread, c *tracedCall, cpu uint32) event.CallKey {
	by := &w.options.By
	key := event.CallKey{Function: c.number}
	if by.Process {
		key.PID = t.pid
	}
	if by.Thread {
		key.TID = t.tid
	}
	if by.CPU {
		key.CPU = cpu
	}
	if by.Comm {
		key.Comm = c.input.Comm
	}
	if by.Stack && c.stack != nil {
		key.Stack = w.keepStack(c.stack)
	}
	if words := int(w.options.KeyWords); words > 0 && c.function.out != nil {
		const mask = 8
		key.Fields = string(c.function.out[mask:min(mask+8*words, len(c.function.out))])
	}
	return key
}

var stackSeed = maphash.MakeSeed()

// keepStack gives a stack's key; 0: there is no room for another.
func (w *tracedCalls) keepStack(stack []uint64) uint64 {
	if len(stack) == 0 {
		return 0
	}
	key := max(maphash.Bytes(stackSeed, unsafe.Slice((*byte)(unsafe.Pointer(&stack[0])), 8*len(stack))), 1)
	if w.stacks[key] == nil {
		if len(w.stacks) >= mostCallStacks {
			w.counts.noStack++
			return 0
		}
		w.stacks[key] = stack
	}
	return key
}

// tell makes a record of a call, within the budget.
func (w *tracedCalls) tell(t *callThread, c *tracedCall, took, ret uint64, r *tracefs.Record) {
	if w.budget == 0 {
		w.counts.overBudget++
		return
	}
	w.budget--
	record := &event.Call{
		Task: event.Task{TID: t.tid, PID: t.pid, Comm: c.input.Comm}, Start: c.start, NS: took, Inner: min(c.inner, took),
		Root: c.root, Ret: ret, Function: c.number, CPU: uint32(r.CPU), Depth: uint32(len(t.calls)), Missed: c.missed,
		Out: slices.Clone(c.function.out),
	}
	if w.options.Stacks {
		record.Stack = c.stack
	}
	w.queue = append(w.queue, record)
}

// giveUp forgets all open calls: the gate was closed, or events went missing.
func (w *tracedCalls) giveUp() {
	for _, t := range w.threads {
		t.giveUp()
	}
}

func (t *callThread) giveUp() {
	for i := range t.calls {
		t.calls[i].function.balance.GivenUp++
	}
	t.calls = t.calls[:0]
}

// bury forgets threads that have ended.
func (w *tracedCalls) bury() {
	for _, tid := range w.tasks.gone(w.ahead) {
		w.finish(tid)
	}
}

// buryAll forgets them at once: nothing more is told of them.
func (w *tracedCalls) buryAll() {
	for tid := range w.tasks.ending {
		w.finish(tid)
		w.tasks.forget(tid)
	}
}

func (w *tracedCalls) finish(tid uint32) {
	if t := w.threads[tid]; t != nil {
		missed(t.calls)
		delete(w.threads, tid)
	}
}
