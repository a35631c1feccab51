// SPDX-License-Identifier: Apache-2.0

package kmod

import (
	"fmt"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/lab"
)

const delay = 20 * time.Millisecond

// Each O_DIRECT read is one wait of the device's delay. In a guest that is short
// of CPU, one in many finds its request done before it could sleep, or sleeps twice:
// what is exact is the number of calls.
func TestReadsAreCountedExactly(t *testing.T) {
	load(t, Params{})
	d := lab.NullBlk(t, delay)
	calls := callsOf(t, probed...)
	before := state(t).accounted()
	const reads = 200
	truth := run(t, "direct_read", d.Path, fmt.Sprint(reads))
	called := calls()
	s := state(t)
	p := s.process(truth.PID)
	if p.Returns() != called || s.accounted()-before != called || !about(p.Flagged.Count, reads, 1) || p.Unflagged.Count != 0 {
		t.Errorf("%d reads, %d calls, and %+v", reads, called, p.Counts)
	}
	total := time.Duration(p.Flagged.NS)
	// What a read took is the wait, and time on the CPU or ready for one; some of that lies within the wait.
	if total > truth.Total || total < truth.Total-truth.CPU-truth.RunQueue-truth.Total*2/100 {
		t.Errorf("waited %v; the reads took %v, of which %v on the CPU and %v waiting for it", total, truth.Total, truth.CPU, truth.RunQueue)
	}
	if floor := reads*delay*98/100 - truth.RunQueue; total < floor {
		t.Errorf("waited %v, but the device takes %v", total, reads*delay)
	}
	if longest := time.Duration(p.MaxNS); longest < delay*98/100 || longest > truth.Max {
		t.Errorf("the longest wait took %v, the longest read %v", longest, truth.Max)
	}
	var near uint64
	for _, slot := range p.Slots {
		if int(slot.Slot) >= event.HistSlot(uint64(delay*98/100)) && int(slot.Slot) <= event.HistSlot(p.MaxNS) {
			near += slot.N
		}
	}
	if !about(near, reads, 3) {
		t.Errorf("of %d reads %d are in the slots from the delay to the longest: %v", reads, near, p.Slots)
	}
	if p.Alive || p.Comm == "" || p.Waiting != 0 {
		t.Errorf("after its end: %+v", p)
	}
	s.balanced(t)
	t.Logf("%d reads of %v took %v: %v on a CPU, %v waiting for one; waited %v; a handler's run %v (longest %v)", reads, delay,
		truth.Total, truth.CPU, truth.RunQueue, total, s.Cost.Each(), time.Duration(s.Cost.MaxNS))
}

// Sixteen threads, ten thousand waits each: none is unaccounted for.
func TestManyThreadsLoseNothing(t *testing.T) {
	load(t, Params{})
	d := lab.NullBlk(t, 200*time.Microsecond)
	calls := callsOf(t, probed...)
	before := state(t).accounted()
	truth := run(t, "threads", d.Path, "16", "10000")
	called := calls()
	s := state(t)
	p := s.process(truth.PID)
	if p.Returns() != called || s.accounted()-before != called || !about(called, uint64(truth.Ops), 10) {
		t.Errorf("%d reads, %d calls, %d returns", truth.Ops, called, p.Returns())
	}
	if missed := s.calls(func(p *Probe) uint64 { return p.Missed + p.Recursed }); missed != 0 {
		t.Errorf("%d calls missed", missed)
	}
	s.balanced(t)
	t.Logf("%d reads, %d waits, %d that did not wait; a handler's run %v, both of a wait %v of %v that a read took",
		truth.Ops, p.Flagged.Count, p.NotWaited.Count, s.Cost.Each(), 2*s.Cost.Each(), truth.Total/time.Duration(truth.Ops))
}

// With too few return instances, the kernel's count of misses is the number of calls that are not there.
func TestMissesAreShown(t *testing.T) {
	load(t, Params{MaxActive: 4})
	d := lab.NullBlk(t, delay)
	calls := callsOf(t, probed...)
	const threads, reads = 64, 50
	truth := run(t, "threads", d.Path, fmt.Sprint(threads), fmt.Sprint(reads))
	called := calls()
	if truth.Ops != threads*reads || !about(called, threads*reads, 2) {
		t.Fatalf("the workload did %d reads in %d calls", truth.Ops, called)
	}
	s := state(t)
	seen := s.process(truth.PID).Returns()
	missed, shown := called-seen, s.calls(func(p *Probe) uint64 { return p.Missed })
	if missed < called/2 {
		t.Fatalf("only %d of %d calls were missed: nothing is tested", missed, called)
	}
	if !about(shown, missed, 1) {
		t.Errorf("%d calls were missed, and %d are shown", missed, shown)
	}
	s.balanced(t)
	t.Logf("%d reads, %d calls, %d seen, %d missed, %d shown", truth.Ops, called, seen, missed, shown)
}

func TestDefaultIsEnoughForSleepers(t *testing.T) {
	load(t, Params{})
	d := lab.NullBlk(t, delay)
	calls := callsOf(t, probed...)
	truth := run(t, "threads", d.Path, "256", "20")
	called := calls()
	s := state(t)
	if n := s.process(truth.PID).Returns(); n != called || !about(n, uint64(truth.Ops), 2) {
		t.Errorf("%d reads, %d calls, and %d returns", truth.Ops, called, n)
	}
	for _, p := range s.Probes {
		if p.Missed != 0 || p.MaxActive < 1024 {
			t.Errorf("%+v", p)
		}
	}
}

// What waits still is told with its age, and counted when it ends.
func TestWaitsInProgress(t *testing.T) {
	load(t, Params{})
	d := lab.NullBlk(t, 2*time.Second)
	child := lab.Workload{Name: "threads", Args: []string{d.Path, "3", "1"}}.Start(t)
	child.Go()
	time.Sleep(1500 * time.Millisecond)
	p := state(t).process(int(child.PID()))
	if p.Waiting != 3 || p.Entries != 3 || p.Returns() != 0 || !p.Alive {
		t.Errorf("while they wait: %+v", p)
	}
	if age := time.Duration(p.Now - p.Oldest); p.Oldest == 0 || age < 300*time.Millisecond || age > 2*time.Second {
		t.Errorf("the oldest is %v old", age)
	}
	child.Wait()
	s := state(t)
	if p := s.process(int(child.PID())); p.Waiting != 0 || p.Flagged.Count != 3 || time.Duration(p.Flagged.NS) < 5800*time.Millisecond {
		t.Errorf("after they waited: %+v", p)
	}
	s.balanced(t)
}

// A hostile name comes through whole, and changes with the process.
func TestNames(t *testing.T) {
	load(t, Params{})
	d := lab.NullBlk(t, delay)
	read := func() {
		fd, err := unix.Open(d.Path, unix.O_RDONLY|unix.O_DIRECT, 0)
		must(t, err)
		defer unix.Close(fd)
		b := make([]byte, 8192)
		at := 4096 - int(addressOf(b)&4095)
		_, err = unix.Pread(fd, b[at:at+4096], 0)
		must(t, err)
	}
	before, err := os.ReadFile("/proc/self/comm")
	must(t, err)
	defer os.WriteFile("/proc/self/comm", before[:len(before)-1], 0)
	for _, name := range []string{"plain", "a b\\\"\x1b]0;\xff\n\t", "x"} {
		must(t, renameProcess(name))
		read()
		if p := state(t).process(os.Getpid()); p.Comm != name {
			t.Errorf("%q is told as %q", name, p.Comm)
		}
	}
}

// When the table is full, waits are counted as lost with their time; places of
// ended processes can be given away.
func TestTableFull(t *testing.T) {
	load(t, Params{Processes: 64})
	c := control(t)
	d := lab.NullBlk(t, delay)
	const children = 80
	for range children {
		run(t, "direct_read", d.Path, "1")
	}
	s := state(t)
	var waits uint64
	for i := range s.Processes {
		waits += s.Processes[i].Returns()
	}
	full := s.loss("table_full")
	if s.Control.ProcessesUsed != 64 || waits+full.Count != s.calls(func(p *Probe) uint64 { return p.Returns }) || full.Count < children-64 {
		t.Errorf("%d places used, %d waits, %+v", s.Control.ProcessesUsed, waits, full)
	}
	if full.NS < full.Count*uint64(delay)*98/100 {
		t.Errorf("lost %+v, of %v at least each", full, delay)
	}
	s.balanced(t)
	must(t, c.Reap())
	after := state(t)
	if after.Ended.Processes < children-20 || after.Control.ProcessesUsed+uint32(after.Ended.Processes) != 64 {
		t.Errorf("%d places used, %d given away", after.Control.ProcessesUsed, after.Ended.Processes)
	}
	after.balanced(t)
	truth := run(t, "direct_read", d.Path, "1")
	if n := state(t).process(truth.PID).Returns(); n != 1 {
		t.Errorf("a new process finds no place: %d waits", n)
	}
}
