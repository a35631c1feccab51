// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"fmt"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/taskstats"
)

// coarse witnesses without any probe, by delay accounting and by polling /proc.
// Polls are made within Drain and Walk.
type coarse struct {
	options *Options
	refused []string
	poller  *taskstats.Poller
	pace    *taskstats.Pace
	wake    chan struct{}
	epoch   uint32 // that was closed last
	ratio   uint32
	missed  uint64 // polls, by earlier paces
	paused  bool
	queue   []any
	counts  map[thread]uint64 // of waits, as last told
	ended   []thread          // that are told no more

	settled              time.Time
	pollCost, settleCost time.Duration // CPU time, as last measured
}

// thread tells the threads of one id apart.
type thread struct {
	tid  uint32
	born uint64
}

// openCoarse needs no privilege, only a mounted /proc. It is the last means to
// be tried: refused says why the others were not used.
func openCoarse(o *Options, refused []string) (Witness, error) {
	comm := o.Comm
	if len(comm) > 15 {
		comm = comm[:15]
	}
	config := taskstats.Config{
		Root: "/", PIDs: o.PIDs, Comm: comm, Follow: o.Follow, FDArguments: o.FDArguments, Detail: true, Min: uint64(max(o.Min, 0)),
		Cgroup: taskstats.Cgroup{Controller: o.Cgroup.Controller, Path: o.Cgroup.Path},
	}
	if !o.IncludeSelf {
		config.Skip = uint32(os.Getpid())
	}
	for _, pid := range o.PIDs {
		if _, err := os.Stat(fmt.Sprintf("/proc/%d", pid)); err != nil {
			return nil, &PIDError{pid}
		}
	}
	poller, err := taskstats.Open(config)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	w := &coarse{options: o, refused: refused, poller: poller, ratio: 1, wake: make(chan struct{}, 1), counts: map[thread]uint64{}}
	w.setPace()
	return w, nil
}

func (w *coarse) setPace() {
	if w.pace != nil {
		w.missed += w.pace.Missed()
	}
	w.pace = taskstats.NewPace(float64(w.options.Polls)/float64(w.ratio), w.options.PollBudget, time.Now())
}

// Options are those in force.
func (w *coarse) Options() Options { return *w.options }

// Start makes the first poll, and tells the waits that it finds.
func (w *coarse) Start(tell func(*event.Tally)) error {
	w.epoch = 1
	err := w.measured(&w.pollCost, w.poller.Start)
	if err != nil {
		return err
	}
	w.pace.Plan(time.Now())
	return w.settle(tell)
}

// NextEpoch closes an interval.
func (w *coarse) NextEpoch() (closed uint32, err error) {
	closed = w.epoch
	if w.epoch++; w.epoch == 0 {
		w.epoch = 1
	}
	return closed, nil
}

// Walk gives what the threads have waited by now. It makes a poll of its own, if that is within the budget.
func (w *coarse) Walk(tell func(*event.Tally)) error {
	if !w.paused && w.pace.Rich(w.pollCost) {
		if err := w.poll(); err != nil {
			return err
		}
	}
	return w.settle(tell)
}

// settle asks the accounting about all threads only where that is within the budget.
func (w *coarse) settle(tell func(*event.Tally)) error {
	now := time.Now()
	all := w.pace.Affordable(w.settleCost, now.Sub(w.settled))
	w.settled = now
	var cost time.Duration
	err := w.measured(&cost, func() error {
		return w.poller.Settle(all, func(a taskstats.Account) { w.tell(&a, tell) })
	})
	if all {
		w.settleCost = cost
	}
	w.queueWaits()
	return err
}

// Clock is the instant of the last poll.
func (w *coarse) Clock() (uint64, error) { return w.poller.Now(), nil }

// Drain polls until the deadline. What has ended is told after a walk, whose figures include it.
func (w *coarse) Drain(deadline time.Time, tell func(any)) error {
	for {
		for _, record := range w.queue {
			tell(record)
		}
		w.queue = w.queue[:0]
		now := time.Now()
		if !now.Before(deadline) {
			return nil
		}
		until := deadline
		if next := w.pace.Next(); !w.paused && next.Before(until) {
			until = next
		}
		if !w.sleep(until.Sub(now)) {
			return nil
		}
		if !w.paused && !time.Now().Before(w.pace.Next()) {
			if err := w.poll(); err != nil {
				return err
			}
		}
	}
}

// sleep is false if it was interrupted.
func (w *coarse) sleep(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-w.wake:
		return false
	}
}

// Interrupt makes Drain return early.
func (w *coarse) Interrupt() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func (w *coarse) poll() error {
	err := w.measured(&w.pollCost, w.poller.Poll)
	w.pace.Plan(time.Now())
	for _, who := range w.poller.Identities() {
		w.queue = append(w.queue, &who)
	}
	return err
}

// measured charges the CPU time of some work to the budget.
func (w *coarse) measured(cost *time.Duration, work func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := threadCPU()
	err := work()
	*cost = max(threadCPU()-before, 0)
	w.pace.Spent(time.Now(), *cost)
	return err
}

func threadCPU() time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
}

// SetAddresses has no use for addresses: functions are told by their names.
func (w *coarse) SetAddresses(func(string) (uint64, bool)) error { return nil }

// Follow watches a thread's children from now on, by their parents' ids.
func (w *coarse) Follow(tid uint32) error {
	if err := w.poller.Follow(tid); err != nil {
		return fmt.Errorf("there is no thread with id %d: %w", tid, err)
	}
	return nil
}

// Unfollow forgets a thread; its children stay followed.
func (w *coarse) Unfollow(tid uint32) error { return w.poller.Unfollow(tid) }

// Heartbeat is for what goes on working without us, of which there is nothing.
func (w *coarse) Heartbeat() (closed bool, err error) { return false, nil }

// SetDetail takes a ratio as one in so many polls.
func (w *coarse) SetDetail(d Detail) error {
	w.poller.SetDetail(d.Stacks)
	if ratio := max(d.Ratio, 1); ratio != w.ratio {
		w.ratio = ratio
		w.setPace()
	}
	return nil
}

// Pause ends the watch for a while.
func (w *coarse) Pause() error {
	w.paused = true
	return w.poller.Pause()
}

// Resume goes on with it.
func (w *coarse) Resume(tell func(*event.Tally)) error {
	w.paused = false
	if err := w.measured(&w.pollCost, w.poller.Resume); err != nil {
		return err
	}
	w.pace.Plan(time.Now())
	return w.settle(tell)
}

// Stats has nothing to tell: nothing runs in the kernel.
func (w *coarse) Stats() (RunStats, error) { return RunStats{}, nil }

// Detach ends what the kernel does for us, which is to tell of threads that end.
func (w *coarse) Detach() error { return w.poller.Detach() }

// Close frees everything.
func (w *coarse) Close() error { return w.poller.Close() }
