// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/kernel"
	"github.com/iowitness/iowitness/lab"
)

// during profiles a workload from before its begin until after its end.
func during(t *testing.T, p *Profile, w lab.Workload) (*event.ProfileInterval, lab.Truth, []any) {
	t.Helper()
	return duringAll(t, p, w.Start(t))
}

// duringAll is during for a workload's process, which is followed if the profiler follows any.
func duringAll(t *testing.T, p *Profile, c *lab.Child) (*event.ProfileInterval, lab.Truth, []any) {
	t.Helper()
	if p.options.Follow {
		tids, err := threadsOf("/", c.PID())
		if err != nil {
			t.Fatal(err)
		}
		for _, tid := range tids {
			if err := p.Follow(tid); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	c.Go()
	var records []any
	done := make(chan lab.Truth, 1)
	go func() {
		truth := c.Wait()
		p.Interrupt()
		done <- truth
	}()
	var truth lab.Truth
	for ended := false; !ended; {
		if err := p.Drain(time.Now().Add(time.Second), func(r any) { records = append(records, r) }); err != nil {
			t.Fatal(err)
		}
		select {
		case truth = <-done:
			ended = true
		default:
		}
	}
	if err := p.Pause(); err != nil {
		t.Fatal(err)
	}
	iv, err := p.Interval()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Drain(time.Unix(1, 0), func(r any) { records = append(records, r) }); err != nil {
		t.Fatal(err)
	}
	return iv, truth, records
}

// often is a frequency of samples, which an emulated machine cannot take as often.
func often() uint32 {
	if lab.Guest() {
		return 99
	}
	return 997
}

// within holds a time to one by another clock. On an emulated machine that is only told: its clocks
// differ, and its host takes time away between any two readings.
func within(t *testing.T, what string, got, want time.Duration, percent float64) {
	t.Helper()
	if lab.Guest() {
		t.Logf("%s: %v, by another clock %v", what, got, want)
		return
	}
	if off := float64(got-want) / float64(want) * 100; off > percent || off < -percent {
		t.Errorf("%s: %v, not %v: %.2f%% off", what, got, want, off)
	}
}

// TestSamplesAreTheCPUTime: two threads of 3 to 1, by samples and by the kernel's own clock of their CPU time.
func TestSamplesAreTheCPUTime(t *testing.T) {
	p := openProfile(t, ProfileCPU, ProfileOptions{Event: EventCPUClock, Frequency: often(), Stacks: 32768})
	iv, truth, _ := during(t, p, lab.Workload{Name: "spin", Args: []string{"3000", "1000"}})
	samples := map[string]time.Duration{}
	var all time.Duration
	for i := range iv.Stacked {
		s := &iv.Stacked[i]
		if s.PID == uint32(truth.PID) && strings.HasPrefix(s.Comm, "spin") {
			samples[s.Comm] += time.Duration(s.NS)
			all += time.Duration(s.NS)
			if s.User == nil && s.NoUser != event.StackAbsent { // at its very end a thread has none
				t.Errorf("%d samples without the program's stack (%d)", s.Count, s.NoUser)
			}
		}
	}
	// Interrupts that come upon a thread, those of the samples too, are in its samples but not in its CPU time.
	within(t, "CPU time of both", all, truth.CPU, 5)
	for i, name := range []string{"spin0", "spin1"} {
		got, want := 100*float64(samples[name])/float64(all), 100*float64(truth.Each[i])/float64(truth.CPU)
		if !lab.Guest() && (got < want-2 || got > want+2) {
			t.Errorf("%s has %.1f%% of the samples, and %.1f%% of the CPU time", name, got, want)
		}
	}
	noLosses(t, p, "name_cut", "prof_gaps", "samples_late")
}

// TestSleepsAreTheSleepersOwn: time off the CPU against the sleeper's clock, with where and by what it is woken.
func TestSleepsAreTheSleepersOwn(t *testing.T) {
	symbols, err := kernel.LoadSymbols("/")
	if err != nil {
		t.Fatal(err)
	}
	for _, via := range byTracepoints {
		p := openProfile(t, ProfileOffCPU, ProfileOptions{Via: via})
		iv, truth, _ := during(t, p, lab.Workload{Name: "sleeper", Args: []string{"40", "25"}})
		var slept, count, preempted, unwoken uint64
		for i := range iv.Stacked {
			s := &iv.Stacked[i]
			if s.TID == uint32(truth.TID) && s.State == event.OffPreempted {
				preempted += s.NS // on its way out of the system call
			}
			if s.TID != uint32(truth.TID) || s.State != event.OffSleeps || !holds(symbols, s.Kernel, "nanosleep") {
				continue
			}
			slept += s.NS
			count += s.Count
			if s.WakerIs == event.WakerUnseen {
				unwoken += s.Count // its wake-up was kept from every program, as ends are
			}
			if s.WakerIs == event.WakerThread || unwoken > 1 {
				t.Errorf("%s: a timer's wake-up is told as by %s, of %s (%d)", via, s.WakerIs, s.WakerComm, s.Waker)
			}
			if len(s.User) == 0 {
				t.Errorf("%s: no stack of the program (%d)", via, s.NoUser)
			}
		}
		unseen := noEnd(t, p)
		if count+unseen.Count < uint64(truth.Switches) || count > uint64(truth.Switches) {
			t.Errorf("%s: %d sleeps, not %d in %d operations", via, count, truth.Switches, truth.Ops)
			for i := range iv.Stacked {
				if s := &iv.Stacked[i]; s.PID == uint32(truth.PID) {
					t.Logf("%+v", *s)
				}
			}
		}
		if off := truth.Total - truth.CPU; unseen.Count == 0 || slept+preempted+unseen.NS < uint64(off) {
			within(t, string(via), time.Duration(slept+preempted), off, 2)
		}
		if slept+unseen.NS < uint64(truth.Slept)*25e6 {
			t.Errorf("%s: %v in %d sleeps of 25 ms", via, time.Duration(slept), truth.Slept)
		}
		noLosses(t, p, "name_cut", "no_wake", "no_end")
		p.Close()
	}
}

// noEnd are the times off the CPU of which a kernel under load has told no program the end.
func noEnd(t *testing.T, p *Profile) Loss {
	t.Helper()
	losses, err := p.Losses()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(losses, func(l Loss) bool { return l.ID == "no_end" })
	return losses[i]
}

func holds(symbols *kernel.Symbols, stack []uint64, part string) bool {
	for _, address := range stack {
		if name, _, _ := symbols.Lookup(address); strings.Contains(name, part) {
			return true
		}
	}
	return false
}

// TestThoseThatStillSleepAreCounted, though their sleep began before and does not end.
func TestThoseThatStillSleepAreCounted(t *testing.T) {
	c := lab.Workload{Name: "sleeper", Args: []string{"1", "60000"}}.Start(t)
	c.Go()
	time.Sleep(500 * time.Millisecond)
	p := openProfile(t, ProfileOffCPU, ProfileOptions{PIDs: []uint32{c.PID()}})
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	for range 2 {
		time.Sleep(700 * time.Millisecond)
		length := time.Since(began)
		began = time.Now()
		iv, err := p.Interval()
		if err != nil {
			t.Fatal(err)
		}
		var slept uint64
		for i := range iv.Stacked {
			if s := &iv.Stacked[i]; s.Comm == "sleeper" {
				slept += s.NS
				if s.Count != 0 {
					t.Errorf("%d sleeps have ended", s.Count)
				}
			}
		}
		within(t, "interval", time.Duration(slept), length, 5)
	}
	c.Kill()
}

// TestWaitsForACPUAreTheSchedulers: threads that compete for one CPU, by its own account of their delays.
func TestWaitsForACPUAreTheSchedulers(t *testing.T) {
	for _, via := range byTracepoints {
		p := openProfile(t, ProfileRunQ, ProfileOptions{Via: via, Long: time.Millisecond})
		iv, truth, records := during(t, p, lab.Workload{Name: "compete", Args: []string{"700", "700", "700"}})
		var woken, preempted event.RunQPart
		for i := range iv.Processes {
			if q := &iv.Processes[i]; q.PID == uint32(truth.PID) {
				woken, preempted = q.Parts[event.RunQWoken], q.Parts[event.RunQPreempted]
			}
		}
		within(t, string(via), time.Duration(woken.NS+preempted.NS), truth.RunQueue, 5)
		if preempted.NS < woken.NS {
			t.Errorf("%s: threads that spin waited %d ns as woken, %d as preempted", via, woken.NS, preempted.NS)
		}
		ran := 0
		for _, r := range records {
			w, ok := r.(*event.RunQWait)
			if !ok || w.PID != uint32(truth.PID) {
				continue
			}
			for i := range w.Ran {
				if w.Ran[i].Task.PID == w.PID && w.Ran[i].From < w.Runs && w.Ran[i].To > w.Since {
					ran++
					break
				}
			}
		}
		if ran < 20 {
			t.Errorf("%s: of the long waits %d name a competitor", via, ran)
		}
		noLosses(t, p, "name_cut", "prof_budget", "no_wake", "no_end")
		p.Close()
	}
}

// TestNoProcessIsMissed: of a storm of short processes each first wait for a CPU is counted.
func TestNoProcessIsMissed(t *testing.T) {
	processes := 300
	if lab.Guest() {
		processes = 60
	}
	for _, via := range byTracepoints {
		p := openProfile(t, ProfileRunQ, ProfileOptions{Via: via})
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("sh", "-c", fmt.Sprintf("i=0; while [ $i -lt %d ]; do /bin/true; i=$((i+1)); done", processes))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		executed := 0
		if err := p.Drain(time.Unix(1, 0), func(r any) {
			if e, ok := r.(*event.Process); ok && e.Event == event.ProcessForked && e.Parent == uint32(cmd.Process.Pid) {
				executed++
			}
		}); err != nil {
			t.Fatal(err)
		}
		iv, err := p.Interval()
		if err != nil {
			t.Fatal(err)
		}
		made := uint64(0)
		for _, pair := range iv.Pairs {
			if pair.WakerIs == event.WakerNew && pair.Waker == uint32(cmd.Process.Pid) {
				made += pair.Count
			}
		}
		if unseen := noEnd(t, p).Count; made > uint64(processes) || made+unseen < uint64(processes) || executed != processes {
			t.Errorf("%s: first waits of %d processes and %d ends unseen, records of %d; there were %d", via, made, unseen, executed, processes)
		}
		noLosses(t, p, "name_cut", "no_wake", "prof_budget", "no_end")
		p.Close()
	}
}

// TestStacksThatFindNoRoomAreCounted (case J4), with the time behind them.
func TestStacksThatFindNoRoomAreCounted(t *testing.T) {
	p := openProfile(t, ProfileCPU, ProfileOptions{Event: EventCPUClock, Frequency: often(), Stacks: 1})
	iv, truth, _ := during(t, p, lab.Workload{Name: "spin", Args: []string{"300", "300"}})
	var without, ns uint64
	for i := range iv.Stacked {
		s := &iv.Stacked[i]
		if s.PID == uint32(truth.PID) {
			ns += s.NS
		}
		for _, miss := range []event.StackMiss{s.NoKernel, s.NoUser} {
			if miss == event.StackNoRoom {
				without += s.NS
			}
		}
	}
	losses, err := p.Losses()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range losses {
		if l.ID == "prof_room" && (l.Count == 0 || l.NS != without) {
			t.Errorf("%d stacks with %d ns found no room, but %d ns are told without", l.Count, l.NS, without)
		}
	}
	within(t, "CPU time", time.Duration(ns), truth.CPU, 10)
}
