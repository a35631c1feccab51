// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/lab"
	"github.com/iowitness/iowitness/lab/fact"
)

// load is a fixed workload of the agreement: reads of a known number and delay.
type load struct {
	name             string
	threads, perEach int
	how              string        // direct or buffered
	delay            time.Duration // of the device, at least
	slow             time.Duration // waits this long are recorded with their stacks; 0: the default
	floor            bool          // also measure programs that do nothing
	device           func(testing.TB) lab.Device
}

func (l *load) reads() int { return l.threads * l.perEach }

func nullBlk(delay time.Duration) func(testing.TB) lab.Device {
	return func(t testing.TB) lab.Device { return lab.NullBlk(t, delay) }
}

func dmDelay(delay time.Duration) func(testing.TB) lab.Device {
	return func(t testing.TB) lab.Device { return lab.DMDelay(t, lab.Disk(t, "plain"), delay) }
}

// loads are the same on each kernel; every one takes some seconds.
func loads() []load {
	many, each := 1000, 500
	if testing.Short() {
		many, each = 500, 250
	}
	return []load{
		{"direct reads, null_blk of 2 ms", 4, each, "direct", 2 * time.Millisecond, 0, false, nullBlk(2 * time.Millisecond)},
		{"direct reads, dm-delay of 10 ms", 4, each / 2, "direct", 10 * time.Millisecond, 0, false, dmDelay(10 * time.Millisecond)},
		{"buffered reads, null_blk of 2 ms", 4, each, "buffered", 2 * time.Millisecond, 0, false, nullBlk(2 * time.Millisecond)},
		{fmt.Sprintf("16 threads × %d direct reads, null_blk of 50 µs", many), 16, many, "direct", 50 * time.Microsecond, time.Minute, true, nullBlk(50 * time.Microsecond)},
	}
}

// sleepers are the functions in which the loads' reads sleep.
var sleepers = []string{"io_schedule", "io_schedule_timeout"}

// start makes the load's process, which waits for Go.
func (l *load) start(t *testing.T, device lab.Device) *lab.Child {
	t.Helper()
	if l.how == "buffered" {
		lab.DropCaches(t)
	}
	return lab.Workload{Name: "counted", Args: []string{device.Path, strconv.Itoa(l.threads), strconv.Itoa(l.perEach), l.how}}.Start(t)
}

// witnessBy runs the load under one means.
func (l *load) witnessBy(t *testing.T, via Means, device lab.Device) *fact.Agreement {
	t.Helper()
	child := l.start(t, device)
	w := openWitness(t, Options{Via: via, PIDs: []uint32{child.PID()}, Functions: sleepers, Module: lab.GuestModule(), RingBytes: 8 << 20, Slow: l.slow})
	stats, err := EnableStats()
	if err != nil {
		t.Fatal(err)
	}
	defer stats.Close()
	before := userCPU(t)
	truth, told := accompany(t, child, w)
	spent := userCPU(t) - before
	a := l.compare(t, w, truth, told[0], child.PID())
	a.UserNS = uint64(spent)
	tellPrograms(t, w)
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	return a
}

// compare puts what a means told beside what the workload knows.
func (l *load) compare(t *testing.T, w Witness, truth lab.Truth, r *witnessed, pid uint32) *fact.Agreement {
	t.Helper()
	sum, flagged, _ := r.sum(pid)
	run, err := w.Stats()
	if err != nil {
		t.Fatal(err)
	}
	a := &fact.Agreement{
		Via: string(w.Facts().Means), Workload: l.name, Threads: l.threads, Ops: truth.Ops, Slept: truth.Slept, Switches: truth.Switches,
		Waits: flagged, Unflagged: sum.Count - flagged, Negative: backwards(r), FloorNS: uint64(l.delay) * uint64(truth.Slept),
		BlockedNS: sum.Blocked, RunQueueNS: sum.RunQueue, TotalNS: uint64(truth.Total),
		RunQueueInside: w.Facts().RunQueueInside, Estimated: w.Facts().Estimated, CostNS: uint64(run.Runtime), Runs: run.Runs, Skipped: run.Misses,
	}
	losses, err := w.Losses()
	if err != nil {
		t.Fatal(err)
	}
	for _, loss := range losses {
		switch loss.ID {
		case "missed_return":
			a.Missed = loss.Count
		case "no_sleep":
			a.NoSleep = loss.Count
		case "state_full", "clock", "deep_call", "no_end":
			a.NotCounted += loss.Count
		case "missed_entry":
			a.Unseen = loss.Count
		}
	}
	for _, loss := range losses {
		if loss.Count > 0 {
			t.Logf("%s: %s %d", a.Via, loss.ID, loss.Count)
		}
	}
	return a
}

// accompany lets a workload run, reads the witnesses until its end, and gives all that each told.
func accompany(t *testing.T, child *lab.Child, all ...Witness) (lab.Truth, []*witnessed) {
	t.Helper()
	told := make([]*witnessed, len(all))
	for i := range told {
		told[i] = &witnessed{tallies: map[uint32]*event.Tally{}}
	}
	ended := make(chan lab.Truth, 1)
	child.Go()
	go func() {
		ended <- child.Wait()
		for _, w := range all {
			w.Interrupt()
		}
	}()
	for {
		for i, w := range all {
			readOnce(t, w, told[i], time.Now().Add(time.Second/time.Duration(len(all))))
		}
		select {
		case truth := <-ended:
			for i, w := range all {
				readOnce(t, w, told[i], time.Unix(1, 0))
				readOnce(t, w, told[i], time.Unix(1, 0)) // what ended after the first walk
			}
			return truth, told
		default:
		}
	}
}

// readOnce takes what a witness tells until an instant, and a walk.
func readOnce(t *testing.T, w Witness, r *witnessed, until time.Time) {
	t.Helper()
	if err := w.Drain(until, r.take); err != nil {
		t.Fatal(err)
	}
	if _, err := w.NextEpoch(); err != nil {
		t.Fatal(err)
	}
	if err := w.Walk(func(tally *event.Tally) { r.take(tally) }); err != nil {
		t.Fatal(err)
	}
}

func userCPU(t *testing.T) time.Duration {
	t.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// backwards counts the waits whose instants are out of order.
func backwards(r *witnessed) (n int) {
	for _, w := range r.waits {
		if w.Start > w.Woken || w.Woken > w.Runs {
			n++
		}
	}
	return n
}
