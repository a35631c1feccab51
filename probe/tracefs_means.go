// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"errors"

	"github.com/iowitness/iowitness/event"
)

// tracefsWitness sees waits by entry and return of functions that sleep, as the
// tracing file system records them: no BPF. All is counted in the program.
type tracefsWitness struct {
	tracePump
	options *Options

	sight  sleepSight
	kinds  map[uint16]*tracedEvent
	calls  []*tracedFunction
	byName map[string]*tracedFunction

	address  func(symbol string) (uint64, bool) // nil: not told
	tasks    *tasks
	wishes   *wishes
	threads  map[uint32]*tracedThread
	sites    sitePool
	epoch    uint32
	budget   uint32 // wait records left in the epoch
	detail   Detail
	walkedAt uint64
	beat     uint64 // the last heartbeat

	counts tracefsCounts
	final  *kernelCounts // as they were when all was detached; nil before
}

// openTracefs makes the probes and the instances, which record nothing yet.
func openTracefs(o *Options) (_ Witness, err error) {
	w := &tracefsWitness{
		options: o, detail: FullDetail, epoch: 1,
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
	w.each, w.giveUpAll, w.settle = w.event, w.giveUp, w.bury
	if err := w.openPump(); err != nil {
		return nil, err
	}
	if err := w.makeInstances(); err != nil {
		return nil, err
	}
	if err := w.makeProbes(); err != nil {
		return nil, err
	}
	w.learnSleeps()
	return w, w.learnTasks()
}

// makeInstances makes them with stacks, and lets only wanted threads pass.
func (w *tracefsWitness) makeInstances() error {
	if err := w.newInstances(int(w.options.RingBytes)); err != nil {
		return err
	}
	if err := w.entries.Stacks(true); err != nil {
		w.note("this kernel takes no stacks at its probes (%v): causes are only known where a function has but one", err)
	}
	if w.options.Follow || len(w.options.PIDs) > 0 {
		if err := w.filterThreads(w.options.PIDs, w.Follow); err != nil {
			return err
		}
	}
	return w.openReader()
}

// Follow also serves the filter by process.
func (w *tracefsWitness) Follow(tid uint32) error {
	delete(w.wishes.unfollowed, tid)
	w.tasks.process(tid) // while it can be asked
	return w.addThread(tid)
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
	w.lostEvents += lost
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
	before := w.lostEvents
	err = w.pumpNow()
	return w.lostEvents != before, err
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
	w.final = final
	return w.remove()
}

// Close removes all that was made. It may be called more than once.
func (w *tracefsWitness) Close() error {
	return errors.Join(w.Detach(), w.closePump())
}
