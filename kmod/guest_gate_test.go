// SPDX-License-Identifier: Apache-2.0

package kmod

import (
	"fmt"
	"testing"
	"time"

	"github.com/iowitness/iowitness/lab"
)

// reader reads without pause until the test ends it.
func reader(t *testing.T, delay time.Duration) *lab.Child {
	t.Helper()
	d := lab.NullBlk(t, delay)
	child := lab.Workload{Name: "direct_read", Args: []string{d.Path, "1000000"}}.Start(t)
	child.Go()
	t.Cleanup(child.End)
	return child
}

// between checks a duration against what the test's own clock allows.
func between(t *testing.T, what string, got, least, most time.Duration) {
	t.Helper()
	const tick = 10 * time.Millisecond // a little more than two of the kernel's
	if got < least-tick || got > most+tick {
		t.Errorf("%s for %v, not between %v and %v", what, got, least, most)
	}
}

// Without a heartbeat handlers do nothing, which is told; with the next one they go on.
func TestHeartbeat(t *testing.T) {
	const within = 500 * time.Millisecond
	load(t, Params{Heartbeat: within})
	c := control(t)
	child := reader(t, 5*time.Millisecond)
	beforeBeat := time.Now()
	must(t, c.Heartbeat(7))
	start := state(t)
	afterBeat := time.Now()
	time.Sleep(3 * within)
	least := time.Since(afterBeat)
	first := state(t)
	most := time.Since(beforeBeat)
	time.Sleep(within)
	second := state(t)
	a, b := first.process(int(child.PID())), second.process(int(child.PID()))
	if a.Entries == 0 || a.Entries != b.Entries {
		t.Errorf("without a heartbeat: %d, then %d entries", a.Entries, b.Entries)
	}
	if second.Control.Looking != "heartbeat" || second.Closed.Heartbeat <= first.Closed.Heartbeat {
		t.Errorf("looking: %s; %d, then %d calls not looked at", second.Control.Looking, first.Closed.Heartbeat, second.Closed.Heartbeat)
	}
	between(t, "closed", time.Duration(first.Time.Heartbeat-start.Time.Heartbeat), least-within, most-within)
	must(t, c.SetHeartbeat(time.Minute))
	must(t, c.Heartbeat(8))
	time.Sleep(within / 2)
	third := state(t)
	if p := third.process(int(child.PID())); p.Entries <= b.Entries || third.Control.Looking != "open" || third.Epoch != 8 {
		t.Errorf("after a heartbeat: %d, then %d entries, looking: %s, epoch %d", b.Entries, p.Entries, third.Control.Looking, third.Epoch)
	}
	if third.Control.Lapses != second.Control.Lapses+1 || third.Time.Heartbeat < second.Time.Heartbeat {
		t.Errorf("%d lapses, then %d; times %+v, then %+v", second.Control.Lapses, third.Control.Lapses, second.Time, third.Time)
	}
}

func TestGate(t *testing.T) {
	load(t, Params{GateClosed: true})
	c := control(t)
	child := reader(t, 5*time.Millisecond)
	time.Sleep(300 * time.Millisecond)
	closed := state(t)
	if n := closed.process(int(child.PID())).Entries; n != 0 || closed.Closed.Gate == 0 || closed.Control.Looking != "gate" {
		t.Errorf("while closed: %d entries, %d calls not looked at, looking: %s", n, closed.Closed.Gate, closed.Control.Looking)
	}
	began := time.Now()
	must(t, c.SetGate(true))
	time.Sleep(300 * time.Millisecond)
	must(t, c.SetGate(false))
	most := time.Since(began)
	time.Sleep(100 * time.Millisecond)
	first := state(t)
	time.Sleep(100 * time.Millisecond)
	second := state(t)
	if a, b := first.process(int(child.PID())), second.process(int(child.PID())); a.Entries < 10 || a.Entries != b.Entries || a.Returns()+first.loss("given_up").Count != a.Entries {
		t.Errorf("after it was open: %+v, then %+v", a.Counts, b.Counts)
	}
	between(t, "open", time.Duration(second.Time.Open), 300*time.Millisecond, most)
}

// Taken and left out are all there are, and taken is one in N.
func TestRatio(t *testing.T) {
	load(t, Params{Ratio: 4})
	d := lab.NullBlk(t, 5*time.Millisecond)
	calls := callsOf(t, probed...)
	leftOut := func(p *Probe) uint64 { return p.Skipped }
	before := state(t).calls(leftOut)
	const reads = 1000
	truth := run(t, "direct_read", d.Path, fmt.Sprint(reads))
	called := calls()
	s := state(t)
	taken, skipped := s.process(truth.PID).Returns(), s.calls(leftOut)-before
	if taken+skipped != called || !about(called, reads, 2) {
		t.Errorf("%d taken and %d left out of %d calls in %d reads", taken, skipped, called, reads)
	}
	// The gap is uniform from 1 to 7: mean 4, variance 4; so the count's deviation is 8.
	if taken < reads/4-45 || taken > reads/4+45 {
		t.Errorf("%d taken of %d", taken, reads)
	}
	s.balanced(t)
}

func TestDutyCycle(t *testing.T) {
	load(t, Params{DutyOn: 200 * time.Millisecond, DutyEvery: time.Second})
	d := lab.NullBlk(t, 5*time.Millisecond)
	calls := callsOf(t, probed...)
	const reads = 800
	before := state(t)
	truth := run(t, "direct_read", d.Path, fmt.Sprint(reads))
	called := calls()
	s := state(t)
	taken := s.process(truth.PID).Returns() + s.loss("given_up").Count - before.loss("given_up").Count
	if taken+s.Closed.Duty-before.Closed.Duty != called || !about(called, reads, 2) {
		t.Errorf("%d taken and %d in pauses, of %d calls in %d reads", taken, s.Closed.Duty, called, reads)
	}
	share := float64(s.Time.Open) / float64(s.Time.Open+s.Time.Duty)
	if share < 0.15 || share > 0.35 {
		t.Errorf("looked at %.0f%% of the time", 100*share)
	}
	if got := float64(taken) / reads; got < share-0.1 || got > share+0.1 {
		t.Errorf("%.0f%% of the reads in %.0f%% of the time", 100*got, 100*share)
	}
	t.Logf("%d of %d reads in %.1f%% of the time", taken, reads, 100*share)
}

func TestMinimum(t *testing.T) {
	load(t, Params{})
	c := control(t)
	must(t, c.SetMin(time.Second))
	d := lab.NullBlk(t, delay)
	truth := run(t, "direct_read", d.Path, "20")
	s := state(t)
	if p := s.process(truth.PID); p.BelowMin+p.NotWaited.Count != p.Returns() || p.BelowMin < 18 {
		t.Errorf("%+v", p.Counts)
	}
	s.balanced(t)
}

// A reset forgets all; waits that it found in progress are given up.
func TestReset(t *testing.T) {
	load(t, Params{})
	c := control(t)
	d := lab.NullBlk(t, time.Second)
	child := lab.Workload{Name: "threads", Args: []string{d.Path, "4", "1"}}.Start(t)
	child.Go()
	for deadline := time.Now().Add(5 * time.Second); state(t).process(int(child.PID())).Waiting < 4; {
		if time.Now().After(deadline) {
			t.Fatal("they do not wait")
		}
		time.Sleep(10 * time.Millisecond)
	}
	must(t, c.Reset())
	s := state(t)
	if len(s.Processes) != 0 || s.calls(func(p *Probe) uint64 { return p.Entries }) != 0 {
		t.Errorf("after the reset: %+v", s)
	}
	child.Wait()
	if s := state(t); s.loss("given_up").Count != 4 || s.loss("unpaired").Count != 0 {
		t.Errorf("waits given up at the reset: %+v", s.Losses)
	}
}

// Of waits in progress when the gate opens, what came before is not looked at;
// those that end behind a closed gate are given up.
func TestWaitsAcrossTheGate(t *testing.T) {
	load(t, Params{})
	c := control(t)
	d := lab.NullBlk(t, 2*time.Second)
	child := lab.Workload{Name: "threads", Args: []string{d.Path, "3", "2"}}.Start(t)
	child.Go()
	begun := func(n uint64) {
		t.Helper()
		for deadline := time.Now().Add(10 * time.Second); state(t).process(int(child.PID())).Entries < n; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("they do not wait")
			}
		}
	}
	begun(3)
	time.Sleep(time.Second)
	must(t, c.SetGate(false))
	must(t, c.SetGate(true))
	p := state(t).process(int(child.PID()))
	if age := time.Duration(p.Now - p.Oldest); p.Waiting != 3 || !p.OldestFlagged || age > 900*time.Millisecond {
		t.Errorf("at the opening %d wait, the oldest for %v", p.Waiting, age)
	}
	begun(6)
	must(t, c.SetGate(false))
	child.Wait()
	s := state(t)
	p = s.process(int(child.PID()))
	if total := time.Duration(p.Flagged.NS); p.Flagged.Count != 3 || total > 3*1500*time.Millisecond || total < 3*50*time.Millisecond {
		t.Errorf("%d waits of %v in all, of which a second each lies before the gate opened", p.Flagged.Count, total)
	}
	if l := s.loss("given_up"); l.Count != 3 || l.NS < uint64(5800*time.Millisecond) {
		t.Errorf("given up: %+v", l)
	}
	s.balanced(t)
}

// The longest wait of an epoch is kept for two.
func TestEpochs(t *testing.T) {
	load(t, Params{})
	c := control(t)
	must(t, c.Heartbeat(5))
	child := reader(t, 30*time.Millisecond)
	time.Sleep(500 * time.Millisecond)
	must(t, c.Heartbeat(6))
	time.Sleep(300 * time.Millisecond)
	p := state(t).process(int(child.PID()))
	for _, epoch := range []uint32{5, 6} {
		if m := p.Epochs[epoch&1]; m.Epoch != epoch || m.NS < uint64(29*time.Millisecond) || m.NS > p.MaxNS {
			t.Errorf("epoch %d: %+v, longest of all %d", epoch, p.Epochs, p.MaxNS)
		}
	}
}

func TestControlRefusesNonsense(t *testing.T) {
	load(t, Params{})
	c := control(t)
	for _, line := range []string{"", "x", "ratio 0", "ratio 4 4", "ratio -1", "duty 10", "duty 5 1000", "duty 1000 1000", "gate", "heartbeat_ms 99999999", "heartbeat x"} {
		if err := c.say("%s", line); err == nil && line != "" {
			t.Errorf("%q is taken", line)
		}
	}
}
