// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"time"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/tracefs"
)

// tracedCalls witnesses calls by the tracing file system: no BPF. Entries and returns
// are events, which are paired and summed up in the program.
type tracedCalls struct {
	tracePump
	options   CallOptions
	targets   []*CallTarget // by number; those that could not be probed are nil
	functions []*tracedTarget
	kinds     map[uint16]*callEvent
	wishes    *wishes
	tasks     *tasks
	threads   map[uint32]*callThread
	sums      map[event.CallKey]*event.CallSum
	stacks    map[uint64][]uint64 // by their key
	budget    uint32              // single calls left in the epoch
	detail    Detail
	beat      uint64 // the last heartbeat
	counts    tracedCounts
	final     *kernelCounts // as they were when all was detached; nil before
}

// tracedTarget is a function with what became of its calls.
type tracedTarget struct {
	*CallTarget
	filter  string // of its entries, in the tracer's terms; "": none
	events  []string
	returns []string
	out     []byte // room for its fields
	balance CallBalance
}

// tracedCounts is what went missing, or was left out.
type tracedCounts struct {
	undecoded, noStack, noRoom, noSum, overBudget, noProcess, clock uint64
}

// Bounds of what the program keeps.
const (
	mostTraced     = 200 // functions: each is made by a line that the kernel reads anew
	mostCallKeys   = 16384
	mostCallStacks = 2048
	mostThreads    = 65536
	callBuffer     = 2 << 20
)

// openTracedCalls makes the probes and the instances, which record nothing yet.
func openTracedCalls(targets []*CallTarget, o CallOptions) (_ *tracedCalls, err error) {
	if err := tracedCanDo(targets, &o); err != nil {
		return nil, err
	}
	w := &tracedCalls{
		options: o, detail: FullDetail, kinds: map[uint16]*callEvent{}, tasks: newTasks("/"),
		threads: map[uint32]*callThread{}, sums: map[event.CallKey]*event.CallSum{}, stacks: map[uint64][]uint64{},
	}
	w.detail.Ratio = max(o.Ratio, 1)
	w.each, w.giveUpAll, w.settle = w.event, w.giveUp, w.bury
	defer func() {
		if err != nil {
			err = errors.Join(err, w.Close())
		}
	}()
	if w.wishes, err = newWishes("/", &Options{PIDs: o.PIDs, Comm: o.Comm, Cgroup: o.Cgroup, IncludeSelf: o.IncludeSelf}); err != nil {
		return nil, err
	}
	if err := w.openPump(); err != nil {
		return nil, err
	}
	if o.RingBytes == 0 {
		o.RingBytes = callBuffer
	}
	if err := w.newInstances(int(o.RingBytes)); err != nil {
		return nil, err
	}
	if o.Follow || len(o.PIDs) > 0 {
		if err := w.filterThreads(o.PIDs, w.Follow); err != nil {
			return nil, err
		}
	}
	if err := w.openReader(); err != nil {
		return nil, err
	}
	if err := w.makeProbes(targets); err != nil {
		return nil, err
	}
	w.note("by tracefs each call is two events that are copied to the program: what they cost the kernel is not measured")
	return w, w.SetDetail(w.detail)
}

// tracedCanDo refuses what only a program in the kernel can do.
func tracedCanDo(targets []*CallTarget, o *CallOptions) error {
	switch {
	case o.By.Cgroup:
		return errors.New("threads' cgroups are not told, so rows cannot be by cgroup")
	case o.Returns:
		return errors.New("returns are not witnessed alone")
	case len(targets) > mostTraced:
		return fmt.Errorf("%d functions are more than the %d that are probed at once: write a narrower pattern", len(targets), mostTraced)
	}
	for _, t := range targets {
		if t.Program == nil {
			continue
		}
		if text := t.Program.Reads(); text != "" {
			return fmt.Errorf("only registers are known of a call, arguments that are numbers, arg1 to arg6 and ret, and %q reads memory", text)
		}
		if len(t.Program.Registers()) > 0 && argumentRegisters == nil {
			return fmt.Errorf("the registers of arguments are not known on %s", runtime.GOARCH)
		}
	}
	return nil
}

// Means is the one in use; Notes say in sentences what cannot be told here.
func (w *tracedCalls) Means() Means    { return Tracefs }
func (w *tracedCalls) Notes() []string { return w.notes }

// Targets are the functions by their number; nil: it could not be probed.
func (w *tracedCalls) Targets() []*CallTarget { return w.targets }

// Start opens the gate.
func (w *tracedCalls) Start() error { return w.Resume() }

// Resume arms the probes, returns first: an open call is one whose return is awaited.
func (w *tracedCalls) Resume() error {
	w.giveUp()
	if err := w.arm(true); err != nil {
		return err
	}
	now, err := monotonic()
	if err != nil {
		return err
	}
	w.ahead, w.beat, w.open = now, now, true
	w.renewBudget()
	w.knowThreads()
	return nil
}

// knowThreads learns everybody's processes while they can be asked; those of filters are known.
func (w *tracedCalls) knowThreads() {
	if w.options.Follow || w.wishes.pids != nil {
		return
	}
	for _, pid := range processes("/") {
		tids, _ := threadsOf("/", pid)
		for _, tid := range tids {
			w.tasks.know(tid, pid)
		}
	}
}

// Pause disarms the probes: calls under way are given up.
func (w *tracedCalls) Pause() error {
	if !w.open {
		return nil
	}
	err := errors.Join(w.pumpNow(), w.arm(false))
	w.open = false
	time.Sleep(slack) // until the last events are in their places
	if _, more := w.reader.Collect(); more != nil {
		err = errors.Join(err, more)
	}
	w.reader.Read(math.MaxUint64, w.event)
	w.buryAll()
	_, lost, more := w.reader.Restart()
	w.lostEvents += lost
	w.giveUp()
	return errors.Join(err, more)
}

// arm enables or disables the probes and opens or closes the gate.
func (w *tracedCalls) arm(on bool) error {
	if !on {
		if err := w.gate(false); err != nil {
			return err
		}
	}
	if err := errors.Join(w.returns.Enable(w.group("out"), "", on), w.entries.Enable(w.group("in"), "", on)); err != nil {
		return fmt.Errorf("switching the probes: %w", err)
	}
	if on {
		return w.gate(true)
	}
	return nil
}

// NextEpoch renews the budget of records.
func (w *tracedCalls) NextEpoch() error {
	w.renewBudget()
	if off := w.fs.CheckSwitches(); off != nil {
		w.noteOnce(off.Error())
	}
	return nil
}

func (w *tracedCalls) renewBudget() {
	each := w.options.Budget
	if each == 0 {
		each = 1000
	}
	w.budget = each * uint32(runtime.NumCPU())
}

// Heartbeat: the kernel needs none. While the program is stopped the buffers fill and
// take nothing more, and when it dies the kernel ends the tracing.
func (w *tracedCalls) Heartbeat() (closed bool, err error) {
	if w.options.Silence == 0 || !w.open {
		return false, nil
	}
	now, err := monotonic()
	if err != nil {
		return false, err
	}
	silent := time.Duration(now-w.beat) > w.options.Silence
	w.beat = now
	if !silent {
		return false, nil
	}
	before := w.lostEvents
	err = w.pumpNow()
	return w.lostEvents != before, err
}

// SetDetail says how finely to witness from now on. A ratio becomes a power of two:
// calls are measured that begin in one timer tick of so many.
func (w *tracedCalls) SetDetail(d Detail) error {
	d.Ratio = max(d.Ratio, 1)
	if err := w.entries.Stacks(d.Stacks && (w.options.Stacks || w.options.By.Stack)); err != nil {
		w.noteOnce(fmt.Sprintf("this kernel takes no stacks at its probes (%v)", err))
	}
	for _, f := range w.functions {
		if f == nil {
			continue
		}
		if err := w.filter(f, d.Ratio); err != nil {
			return err
		}
	}
	w.detail = d
	return nil
}

// filter has the kernel leave out entries that are not wanted.
func (w *tracedCalls) filter(f *tracedTarget, ratio uint32) error {
	condition := f.filter
	if ratio > 1 {
		ticks := fmt.Sprintf("!(tick & %d)", ceilPower(ratio)-1)
		if condition != "" {
			ticks += " && " + condition
		}
		condition = ticks
	}
	if condition == "" {
		condition = "0"
	}
	for _, name := range f.events {
		if err := w.entries.Filter(w.group("in"), name, condition); err != nil {
			return fmt.Errorf("filtering calls of %s by %q: %w", f.Name, condition, err)
		}
	}
	return nil
}

// Follow has a thread and its descendants witnessed; Unfollow only stops listening, as
// to take a thread out of the kernel's filter all would have to pass for a moment.
func (w *tracedCalls) Follow(tid uint32) error {
	delete(w.wishes.unfollowed, tid)
	w.tasks.process(tid) // while it can be asked
	return w.addThread(tid)
}

// Unfollow takes it out again.
func (w *tracedCalls) Unfollow(tid uint32) error {
	w.wishes.unfollowed[tid] = true
	if t := w.threads[tid]; t != nil {
		t.giveUp()
		delete(w.threads, tid)
	}
	return nil
}

// Detach removes probes and instances; sums and counts can still be read.
func (w *tracedCalls) Detach() error {
	if w.fs == nil || w.final != nil {
		return nil
	}
	final, err := w.askKernel()
	if err != nil {
		final = &kernelCounts{}
	}
	w.final = final
	return w.remove()
}

// Close removes all that was made. It may be called more than once.
func (w *tracedCalls) Close() error { return errors.Join(w.Detach(), w.closePump()) }

var _ CallWitness = (*tracedCalls)(nil)

// traceField finds a field of an event, which must be there.
func traceField(f *tracefs.Format, name string) (tracefs.Field, error) {
	field, ok := f.Field(name)
	if !ok || field.Size == 0 {
		return field, fmt.Errorf("event %s lacks the field %s: %w", f.Name, name, os.ErrInvalid)
	}
	return field, nil
}
