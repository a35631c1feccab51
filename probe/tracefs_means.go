// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/tracefs"
)

// tracefsWitness sees waits by entry and return of functions that sleep, as the
// tracing file system records them: no BPF. All is counted in the program.
type tracefsWitness struct {
	options *Options
	notes   []string

	fs      *tracefs.FS
	owner   tracefs.Owner
	entries *tracefs.Instance // entries, each with its stack
	returns *tracefs.Instance // returns, sleeps, and threads that are made and end
	sight   sleepSight
	reader  *tracefs.Reader
	kinds   map[uint16]*tracedEvent
	calls   []*tracedFunction
	byName  map[string]*tracedFunction

	address  func(symbol string) (uint64, bool) // nil: not told
	tasks    *tasks
	wishes   *wishes
	threads  map[uint32]*tracedThread
	ending   []uint32 // threads that have exited
	queue    []any    // records not yet told
	sites    sitePool
	epoch    uint32
	budget   uint32 // wait records left in the epoch
	detail   Detail
	open     bool   // the gate
	ahead    uint64 // ns: up to here all events have been taken
	walkedAt uint64
	beat     uint64 // the last heartbeat

	tick   time.Duration
	wakeup *os.File // an eventfd
	wakeFD int
	counts tracefsCounts
	final  *kernelCounts // as they were when all was detached; nil before
}

// slack is how long an event may take from its stamp to its place in the buffer.
const slack = 2 * time.Millisecond

// openTracefs makes the probes and the instances, which record nothing yet.
func openTracefs(o *Options) (_ Witness, err error) {
	if !seesInitialPIDs("/") {
		return nil, errors.New("the tracing file system tells threads by the numbers of the initial pid namespace, which is not ours: run in it (--pid=host)")
	}
	w := &tracefsWitness{
		options: o, detail: FullDetail, epoch: 1, tick: firstTick,
		kinds: map[uint16]*tracedEvent{}, byName: map[string]*tracedFunction{}, threads: map[uint32]*tracedThread{}, tasks: newTasks("/"),
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.Close())
		}
	}()
	if w.wishes, err = newWishes("/", o); err != nil {
		return nil, err
	}
	if w.wakeFD, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return nil, os.NewSyscallError("eventfd", err)
	}
	w.wakeup = os.NewFile(uintptr(w.wakeFD), "eventfd")
	if w.fs, err = tracefs.Open("/"); err != nil {
		return nil, err
	}
	if err := w.fs.CheckSwitches(); err != nil {
		return nil, err
	}
	if _, err := w.fs.Probes(); err != nil {
		return nil, err
	}
	if w.owner, err = w.fs.NewOwner(); err != nil {
		return nil, err
	}
	w.clean()
	if err := w.makeInstances(); err != nil {
		return nil, err
	}
	if err := w.makeProbes(); err != nil {
		return nil, err
	}
	w.learnSleeps()
	return w, w.learnTasks()
}

// clean removes what killed runs have left behind. That something cannot be
// removed is no reason not to begin.
func (w *tracefsWitness) clean() {
	found, err := w.fs.Cleanup()
	if err != nil {
		w.note("what killed runs left behind cannot be looked for: %v", err)
	}
	for _, l := range found {
		if l.Err != nil {
			w.note("%v", l)
		}
	}
	w.notes = append(w.notes, w.fs.Others()...)
}

func (w *tracefsWitness) note(format string, a ...any) {
	w.notes = append(w.notes, fmt.Sprintf(format, a...))
}

// Bounds of the buffers. An entry with its stack takes some 250 bytes, a return 28,
// a switch 68.
const (
	leastBuffer = 256 << 10
	allBuffers  = 64 << 20
)

// makeInstances makes one for entries and one for returns, since stacks are switched
// for a whole instance and a return has nothing to tell by its stack.
func (w *tracefsWitness) makeInstances() (err error) {
	size := min(int(w.options.RingBytes), max(leastBuffer, allBuffers/runtime.NumCPU()))
	if w.entries, err = w.fs.NewInstance(w.owner.String()+"_in", size>>10); err != nil {
		return err
	}
	if w.returns, err = w.fs.NewInstance(w.owner.String()+"_out", size>>11); err != nil {
		return err
	}
	if err := w.entries.Stacks(true); err != nil {
		w.note("this kernel takes no stacks at its probes (%v): causes are only known where a function has but one", err)
	}
	if err := w.filterThreads(); err != nil {
		return err
	}
	w.reader, err = w.fs.NewReader(w.entries, w.returns)
	return err
}

func (w *tracefsWitness) instances() []*tracefs.Instance {
	return []*tracefs.Instance{w.entries, w.returns}
}

// filterThreads lets only the wanted processes' and followed threads' events pass.
func (w *tracefsWitness) filterThreads() error {
	if !w.options.Follow && len(w.options.PIDs) == 0 {
		return nil
	}
	for _, i := range w.instances() {
		if err := i.OnlyThreads([]uint32{0}, true); err != nil {
			return fmt.Errorf("this kernel cannot limit a trace to some threads: %w", err)
		}
	}
	// Threads that are made while we look are children of threads that pass already.
	added := map[uint32]bool{}
	for again := true; again; {
		again = false
		for _, pid := range w.options.PIDs {
			tids, _ := threadsOf("/", pid)
			for _, tid := range tids {
				if !added[tid] {
					again, added[tid] = true, true
					if err := w.Follow(tid); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

// Follow also serves the filter by process.
func (w *tracefsWitness) Follow(tid uint32) error {
	delete(w.wishes.unfollowed, tid)
	w.tasks.process(tid) // while it can be asked
	for _, i := range w.instances() {
		if err := i.AddThreads([]uint32{tid}); err != nil {
			return fmt.Errorf("following thread %d: %w", tid, err)
		}
	}
	return nil
}

// Unfollow only stops listening: to take a thread out of the kernel's filter, all
// would have to pass for a moment.
func (w *tracefsWitness) Unfollow(tid uint32) error {
	w.wishes.unfollowed[tid] = true
	return nil
}

func (w *tracefsWitness) Options() Options { return *w.options }

func (w *tracefsWitness) Facts() Facts {
	return Facts{Means: Tracefs, State: "program", Clock: "monotonic", RunQueueInside: true, Notes: w.notes}
}

// SetAddresses gives stacks to waits that began before.
func (w *tracefsWitness) SetAddresses(address func(symbol string) (uint64, bool)) error {
	w.address = address
	return nil
}

// Clock is the instant of the last walk.
func (w *tracefsWitness) Clock() (uint64, error) { return w.walkedAt, nil }

// Interrupt makes Drain return.
func (w *tracefsWitness) Interrupt() { _, _ = w.wakeup.Write([]byte{1, 0, 0, 0, 0, 0, 0, 0}) }

// Start opens the gate.
func (w *tracefsWitness) Start(tell func(*event.Tally)) error { return w.Resume(tell) }

// Resume arms the probes, returns first: an open call is one whose return is awaited.
func (w *tracefsWitness) Resume(tell func(*event.Tally)) error {
	w.giveUp()
	if err := w.arm(true); err != nil {
		return err
	}
	now, err := monotonic()
	if err != nil {
		return err
	}
	w.ahead, w.walkedAt, w.beat, w.open = now, now, now, true
	w.renewBudget()
	w.adopt(now)
	return w.Walk(tell)
}

// Pause disarms the probes: they cost nothing then.
func (w *tracefsWitness) Pause() error {
	if !w.open {
		return nil
	}
	err := errors.Join(w.pumpNow(), w.arm(false))
	w.open = false
	_, lost, more := w.reader.Restart()
	w.counts.lostEvents += lost
	w.giveUp()
	return errors.Join(err, more)
}

// Heartbeat: the kernel needs none. While the program is stopped the buffers fill
// and take nothing more, and when it dies the kernel ends the tracing. What was
// noted of calls before such a silence is void.
func (w *tracefsWitness) Heartbeat() (closed bool, err error) {
	if w.options.Silence == 0 || !w.open {
		return false, nil
	}
	now, err := monotonic()
	if err != nil {
		return false, err
	}
	silent := now-w.beat > uint64(w.options.Silence)
	w.beat = now
	if !silent {
		return false, nil
	}
	before := w.counts.lostEvents
	err = w.pumpNow()
	return w.counts.lostEvents != before, err
}

// Detach removes probes and instances; what they counted is kept.
func (w *tracefsWitness) Detach() error {
	if w.fs == nil || w.final != nil {
		return nil
	}
	final, err := w.kernelCounts()
	if err != nil {
		final = &kernelCounts{}
	}
	var errs []error
	if w.reader != nil {
		w.counts.read = w.reader.Counts()
		errs = append(errs, w.reader.Close())
		w.reader = nil
	}
	for _, i := range []**tracefs.Instance{&w.entries, &w.returns} {
		if *i != nil {
			errs = append(errs, (*i).Close())
			*i = nil
		}
	}
	w.open, w.final = false, final
	return errors.Join(append(errs, w.fs.RemoveProbes(w.owner))...)
}

// Close removes all that was made. It may be called more than once.
func (w *tracefsWitness) Close() error {
	errs := []error{w.Detach()}
	if w.fs != nil {
		errs = append(errs, w.fs.Close())
		w.fs = nil
	}
	if w.wakeup != nil {
		w.wakeup.Close() // Interrupt may still be called: it finds it closed
	}
	return errors.Join(errs...)
}
