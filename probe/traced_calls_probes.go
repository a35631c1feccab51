// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"cmp"
	"fmt"
	"runtime"
	"strings"

	"github.com/iowitness/iowitness/expr"
	"github.com/iowitness/iowitness/tracefs"
)

// argumentRegisters are those in which the first six arguments come; nil: not known.
var argumentRegisters = map[string][]string{"amd64": {"di", "si", "dx", "cx", "r8", "r9"}}[runtime.GOARCH]

// returnGap is how far the stack pointer at a return lies above that at the entry: by the
// address of the return, where the processor puts that on the stack.
var returnGap = map[string]uint64{"amd64": 8}[runtime.GOARCH]

// callEvent is an event and where its record keeps what is read of it.
type callEvent struct {
	kind     tracedKind
	number   uint32 // of the function
	function *tracedTarget

	thread, pointer, address, comm, ret, child, cloneFlags tracefs.Field
	args                                                   [mostArguments]tracefs.Field
}

// makeProbes probes each function. One that cannot be is told, and no reason to do
// without the others, unless it is a root.
func (w *tracedCalls) makeProbes(targets []*CallTarget) error {
	var refused error
	var without leftOut
	made := 0
	active := w.options.MaxActive
	if active == 0 {
		active = MaxActive(len(processors()), threadCount())
	}
	active = min(active, tracefs.MaxActive)
	for number, t := range targets {
		if w.options.Cancelled != nil && w.options.Cancelled() {
			return ErrCancelled
		}
		f, err := w.makeTarget(uint32(number), t, active)
		if err == nil {
			made++
			w.targets, w.functions = append(w.targets, t), append(w.functions, f)
			continue
		}
		if t.Root || len(targets) == 1 {
			return err
		}
		refused = cmp.Or(refused, err)
		w.targets, w.functions = append(w.targets, nil), append(w.functions, nil)
		without.refused(t.Name, err)
	}
	if made == 0 {
		return fmt.Errorf("no function could be probed: %w", refused)
	}
	for _, note := range without.notes() {
		w.noteOnce(note)
	}
	w.learnTasks()
	return nil
}

func (w *tracedCalls) makeTarget(number uint32, t *CallTarget, active int) (*tracedTarget, error) {
	f := &tracedTarget{CallTarget: t}
	if t.Program != nil {
		f.filter, _ = t.Program.TraceFilter()
		f.out = make([]byte, t.Program.Size)
	}
	for variant, symbol := range t.Symbols {
		if err := w.makePair(number, variant, symbol, f, active); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// makePair makes a symbol's probes, the return first: of two probes in one place the
// younger is hit first, and the entry must see the stack before the return is put off.
func (w *tracedCalls) makePair(number uint32, variant int, symbol string, f *tracedTarget, active int) error {
	name := func(role string) string {
		return tracefs.EventName(w.owner, f.Name, fmt.Sprintf("%s_%d_%d", role, number, variant))
	}
	leave := tracefs.Probe{Group: w.group("out"), Event: name("out"), Symbol: symbol, Return: true, MaxActive: active, Fetch: f.returnFetch()}
	enter := tracefs.Probe{Group: w.group("in"), Event: name("in"), Symbol: symbol, Fetch: w.entryFetch(f)}
	made, err := w.fs.AddProbe(leave)
	if err != nil {
		return err
	}
	if made.MaxActive != leave.MaxActive {
		w.noteOnce("returns may go missing when many calls are under way: this kernel lets no return probe have more room than its default")
	}
	if _, err = w.fs.AddProbe(enter); err != nil {
		return err
	}
	f.events, f.returns = append(f.events, enter.Event), append(f.returns, leave.Event)
	if err := w.learn(&callEvent{kind: callEntered, number: number, function: f}, enter.Group, enter.Event); err != nil {
		return err
	}
	return w.learn(&callEvent{kind: callReturned, number: number, function: f}, leave.Group, leave.Event)
}

func (w *tracedCalls) wantsComm() bool {
	o := &w.options
	return o.By.Comm || o.Records || o.Comm != "" || o.UsesComm
}

// entryFetch is what is read at an entry: the stack pointer, by which the return is known
// to be that of this call, the tick, by which some are chosen, and registers.
func (w *tracedCalls) entryFetch(f *tracedTarget) string {
	parts := []string{"sp=$stack", "tick=@jiffies_64:u32"}
	if w.wantsComm() {
		parts = append(parts, "comm=$comm")
	}
	for _, r := range f.registers() {
		parts = append(parts, fmt.Sprintf("%s=%%%s:%s", r.Name(), argumentRegisters[r.Argument], r.Type()))
	}
	return strings.Join(parts, " ")
}

// returnFetch is what is read at a return. From 6.6 on kernels refuse to read the result of a function that has none.
func (f *tracedTarget) returnFetch() string {
	if f.Returns() {
		return "sp=$stack ret=$retval:u64"
	}
	return "sp=$stack"
}

func (f *tracedTarget) registers() []expr.Register {
	if f.Program == nil {
		return nil
	}
	return f.Program.Registers()
}

// learn reads where an event's record keeps its fields.
func (w *tracedCalls) learn(e *callEvent, group, name string) error {
	format, err := w.fs.Format(group, name)
	if err != nil {
		return err
	}
	need := map[string]*tracefs.Field{"common_pid": &e.thread}
	switch e.kind {
	case callEntered:
		need["sp"], need["__probe_ip"] = &e.pointer, &e.address
		if w.wantsComm() {
			need["comm"] = &e.comm
		}
		for _, r := range e.function.registers() {
			if r.Bits == 64 && !r.Signed {
				need[r.Name()] = &e.args[r.Argument]
			}
		}
	case callReturned:
		need["sp"] = &e.pointer
		if e.function.Returns() {
			need["ret"] = &e.ret
		}
	case threadMade:
		need["pid"], need["clone_flags"] = &e.child, &e.cloneFlags
	}
	for field, to := range need {
		if *to, err = traceField(format, field); err != nil {
			return err
		}
	}
	w.kinds[format.ID] = e
	return nil
}

// learnTasks has threads' begins and ends told, so that a thread that is gone when its
// calls are read still has its process.
func (w *tracedCalls) learnTasks() {
	for _, e := range []struct {
		kind        tracedKind
		group, name string
	}{{threadMade, "task", "task_newtask"}, {threadExited, "sched", "sched_process_exit"}} {
		err := w.learn(&callEvent{kind: e.kind}, e.group, e.name)
		if err == nil {
			err = w.returns.Enable(e.group, e.name, true)
		}
		if err != nil {
			w.note("short-lived threads may not be joined to their process (%v)", err)
		}
	}
}
