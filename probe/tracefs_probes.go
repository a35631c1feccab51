// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/iowitness/iowitness/tracefs"
)

// Kinds of events that are recorded.
type tracedKind uint8

const (
	callEntered tracedKind = iota
	callReturned
	threadMade
	threadExited
	threadSlept
)

// tracedEvent is an event and where its record keeps what is read of it. Fields
// that a kind lacks are empty.
type tracedEvent struct {
	kind     tracedKind
	function *tracedFunction
	name     string // of the event

	thread, pointer, address, comm, child, cloneFlags tracefs.Field
}

// What is fetched at an entry: the stack pointer tells which calls lie within which,
// the tick chooses one wait in some.
const entryFetch = "sp=$stack tick=@jiffies_64:u32 comm=$comm"

// Two functions always give up the CPU, one calls others of the table, in two a signal ends the sleep.
var (
	alwaysSleep = map[string]bool{"io_schedule": true, "io_schedule_timeout": true}
	nesting     = map[string]bool{"mutex_lock_io": true}
	bySignal    = map[string]bool{"io_cqring_wait": true, "request_wait_answer": true}
)

// makeProbes probes each function of the table. One that cannot be is told, and
// no reason to do without the others.
func (w *tracefsWitness) makeProbes() error {
	var refused error
	var absent []string
	active := w.options.MaxActive
	if active == 0 {
		active = MaxActive(len(processors()), threadCount())
	}
	active = min(active, tracefs.MaxActive)
	for _, f := range Functions {
		if w.options.Cancelled != nil && w.options.Cancelled() {
			return ErrCancelled
		}
		if !w.options.wants(f) {
			continue
		}
		names := symbols()[f.Name]
		if len(names) == 0 && f.Module == "" {
			absent = append(absent, f.Name)
		}
		for variant, symbol := range names {
			if err := w.makePair(f, variant, symbol, active); err != nil {
				refused = errors.Join(refused, err)
				w.note("%s (%s) is not witnessed: %v", symbol, f.Witness, err)
			}
		}
	}
	if len(absent) > 0 {
		w.note("this kernel lacks, or has inlined: %s", strings.Join(absent, ", "))
	}
	if len(w.calls) == 0 {
		if refused == nil {
			refused = errors.New("the kernel shows none of them (CONFIG_KALLSYMS, kernel.kptr_restrict)")
		}
		return fmt.Errorf("no function could be probed: %w", refused)
	}
	w.note("the delay from wake-up to running is part of the waiting time; devices, files and system calls are not told")
	return nil
}

// makePair makes a function's probes, the return first: of two probes in one
// place the younger is hit first, and the entry must see the stack before the return is put off.
func (w *tracefsWitness) makePair(f Function, variant int, symbol string, active int) error {
	name := f.Name
	if variant > 0 {
		name = fmt.Sprintf("%s_%d", f.Name, variant)
	}
	leave := tracefs.Probe{Group: w.group("out"), Event: tracefs.EventName(w.owner, name, "out"), Symbol: symbol, Return: true, MaxActive: active}
	enter := tracefs.Probe{Group: w.group("in"), Event: tracefs.EventName(w.owner, name, "in"), Symbol: symbol, Fetch: entryFetch}
	made, err := w.fs.AddProbe(leave)
	if err != nil {
		return err
	}
	if made.MaxActive != leave.MaxActive {
		w.noteOnce("returns may go missing when many threads wait: this kernel lets no return probe have more room than its default")
	}
	if _, err = w.fs.AddProbe(enter); err != nil {
		return errors.Join(err, w.fs.RemoveProbe(leave.Group, leave.Event))
	}
	function := &tracedFunction{Function: f, nests: nesting[f.Name], always: alwaysSleep[f.Name], signal: bySignal[f.Name]}
	if err := errors.Join(w.learn(callEntered, function, enter.Group, enter.Event), w.learn(callReturned, function, leave.Group, leave.Event)); err != nil {
		return err
	}
	w.calls = append(w.calls, function)
	w.byName[f.Name] = function
	return nil
}

// learn reads where an event's record keeps its fields.
func (w *tracefsWitness) learn(kind tracedKind, f *tracedFunction, group, name string) error {
	format, err := w.fs.Format(group, name)
	if err != nil {
		return err
	}
	e := &tracedEvent{kind: kind, function: f, name: name}
	for field, to := range map[string]*tracefs.Field{
		"common_pid": &e.thread, "sp": &e.pointer, "__probe_ip": &e.address, "comm": &e.comm, "pid": &e.child, "clone_flags": &e.cloneFlags,
	} {
		*to, _ = format.Field(field)
	}
	missing := e.thread.Size == 0 || format.ID == 0
	switch kind {
	case callEntered:
		missing = missing || e.pointer.Size == 0 || e.address.Size == 0 || e.comm.Size == 0
	case threadMade:
		missing = missing || e.child.Size == 0 || e.cloneFlags.Size == 0
	}
	if missing {
		return fmt.Errorf("event %s:%s lacks a field that iowitness reads", group, name)
	}
	w.kinds[format.ID] = e
	return nil
}

// The scheduler's switches tell which calls slept. In state D few threads but those
// that wait for I/O give up the CPU, so the others cost no more than this look.
const (
	sleepGroup, sleepEvent = "sched", "sched_switch"
	sleepFilter            = "prev_state == 2"
)

// learnSleeps has threads' sleeps told where the kernel lets it.
func (w *tracefsWitness) learnSleeps() {
	err := w.learn(threadSlept, nil, sleepGroup, sleepEvent)
	if err == nil {
		err = w.returns.Filter(sleepGroup, sleepEvent, sleepFilter)
	}
	if err != nil {
		w.note("calls in which the thread did not sleep may be counted as waits, since switches cannot be told (%v)", err)
		return
	}
	w.sight = bySwitch
}

// learnTasks has threads' begins and ends told, so that a thread that is gone when
// its waits are read still has its process.
func (w *tracefsWitness) learnTasks() error {
	for _, e := range []struct {
		kind        tracedKind
		group, name string
	}{{threadMade, "task", "task_newtask"}, {threadExited, "sched", "sched_process_exit"}} {
		err := w.learn(e.kind, nil, e.group, e.name)
		if err == nil {
			err = w.returns.Enable(e.group, e.name, true)
		}
		if err != nil {
			w.note("short-lived threads may not be joined to their process (%v)", err)
		}
	}
	return nil
}

// arm enables or disables the probes and opens or closes the gate. Returns are
// recorded from before until after entries are: an entry's return is never left out.
func (w *tracefsWitness) arm(on bool) error {
	if !on {
		if err := w.gate(false); err != nil {
			return err
		}
	}
	err := w.returns.Enable(w.group("out"), "", on)
	if err == nil && w.sight == bySwitch {
		err = w.returns.Enable(sleepGroup, sleepEvent, on)
	}
	if err == nil {
		err = w.entries.Enable(w.group("in"), "", on)
	}
	if err != nil {
		return fmt.Errorf("switching the probes: %w", err)
	}
	if on {
		return w.gate(true)
	}
	return nil
}

// SetDetail: without stacks an entry is cheaper by far. A ratio becomes a power of
// two: waits are measured that begin in one timer tick of so many.
func (w *tracefsWitness) SetDetail(d Detail) error {
	d.Ratio = max(d.Ratio, 1)
	if d.Stacks != w.detail.Stacks {
		if err := w.entries.Stacks(d.Stacks); err != nil {
			return fmt.Errorf("switching the stacks: %w", err)
		}
	}
	if d.Ratio != w.detail.Ratio {
		filter := "0"
		if d.Ratio > 1 {
			filter = fmt.Sprintf("!(tick & %d)", ceilPower(d.Ratio)-1)
		}
		if err := w.entries.Filter(w.group("in"), "", filter); err != nil {
			return fmt.Errorf("choosing one wait in %d: %w", d.Ratio, err)
		}
	}
	w.detail = d
	return nil
}

func ceilPower(n uint32) uint32 {
	power := uint32(1)
	for power < n && power < 1<<30 {
		power <<= 1
	}
	return power
}

// processors are those the machine has, offline ones included.
func processors() []string {
	entries, _ := os.ReadDir("/sys/devices/system/cpu")
	var cpus []string
	for _, e := range entries {
		if digits, ok := strings.CutPrefix(e.Name(), "cpu"); ok && strings.Trim(digits, "0123456789") == "" {
			cpus = append(cpus, digits)
		}
	}
	return cpus
}

// threadCount is how many threads there are, from "0.00 0.01 0.05 1/234 5678"; 0: not known.
func threadCount() int {
	text, _ := os.ReadFile("/proc/loadavg")
	fields := strings.Fields(string(text))
	if len(fields) < 4 {
		return 0
	}
	_, total, _ := strings.Cut(fields[3], "/")
	n, _ := strconv.Atoi(total)
	return n
}
