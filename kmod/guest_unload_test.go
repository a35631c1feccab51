// SPDX-License-Identifier: Apache-2.0

package kmod

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/iowitness/iowitness/lab"
)

// Loaded and unloaded under load: threads sleep in the probed functions all the
// while, many of them over several lives of the module, and come back well.
func TestUnloadUnderLoad(t *testing.T) {
	if lab.GuestModule() == "" {
		t.Skip("needs one of the lab's guests, with the kernel module beside")
	}
	cleanLog(t)
	d := lab.NullBlk(t, 150*time.Millisecond)
	child := lab.Workload{Name: "threads", Args: []string{d.Path, "100", "1000000"}}.Start(t)
	child.Go()
	t.Cleanup(child.End)
	const times = 100
	lives := []Params{
		{},
		{MaxActive: 8, Ratio: 3},
		{DutyOn: 10 * time.Millisecond, DutyEvery: 20 * time.Millisecond},
		{Probes: []string{"jbd2_log_wait_commit", "bit_wait_io"}},
		{},
		{Ratio: 2},
		{Heartbeat: 50 * time.Millisecond},
		{},
		{Probes: Functions()},
	}
	var waits, inFlight uint64
	began := time.Now()
	for i := range times {
		if err := Load(lab.GuestModule(), lives[i%len(lives)]); err != nil {
			t.Fatalf("time %d: %v", i, err)
		}
		time.Sleep(time.Duration(20+60*(i%4)) * time.Millisecond)
		p := state(t).process(int(child.PID()))
		waits += p.Returns()
		inFlight += uint64(p.Waiting)
		if err := Unload(time.Second); err != nil {
			t.Fatalf("time %d: %v", i, err)
		}
	}
	if inFlight < times || waits < times/2 {
		t.Errorf("only %d waits were in progress at %d unloads, and %d had ended: nothing is tested", inFlight, times, waits)
	}
	t.Logf("%d times in %v: %d waits counted, %d in progress at an unload", times, time.Since(began), waits, inFlight)
}

func TestUnloadTellsWhoHoldsIt(t *testing.T) {
	load(t, Params{})
	c, err := Open("/")
	must(t, err)
	err = Unload(50 * time.Millisecond)
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("(pid %d)", os.Getpid())) {
		t.Errorf("unloading while this process holds it: %v", err)
	}
	s, err := Status("/")
	must(t, err)
	if !s.Loaded || s.Uses != 1 || len(s.Holders) != 1 || s.Digest != Digest() || s.State != "Live" {
		t.Errorf("%+v", s)
	}
	if _, err := Open("/"); err == nil || !strings.Contains(err.Error(), "in use by") {
		t.Errorf("a second one may steer: %v", err)
	}
	must(t, c.Close())
	if err := Load(lab.GuestModule(), Params{}); err == nil || !strings.Contains(err.Error(), "already") {
		t.Errorf("loading it twice: %v", err)
	}
}

func TestLeftoverIsRemoved(t *testing.T) {
	load(t, Params{})
	must(t, RemoveLeftover())
	if s, err := Status("/"); err != nil || !s.Loaded {
		t.Errorf("what an operator loaded is gone: %+v, %v", s, err)
	}
	must(t, Unload(time.Second))
	must(t, Load(lab.GuestModule(), Params{Transient: true}))
	c, err := Open("/")
	must(t, err)
	must(t, RemoveLeftover())
	if s, err := Status("/"); err != nil || !s.Loaded {
		t.Errorf("one in use is gone: %+v, %v", s, err)
	}
	must(t, c.Close())
	must(t, RemoveLeftover())
	if s, err := Status("/"); err != nil || s.Loaded {
		t.Errorf("a left-over stays: %+v, %v", s, err)
	}
	must(t, Load(lab.GuestModule(), Params{}))
}

func TestLoadRefusesNonsense(t *testing.T) {
	path := lab.GuestModule()
	if path == "" {
		t.Skip("needs one of the lab's guests, with the kernel module beside")
	}
	for _, p := range []Params{{Probes: []string{"schedule"}}, {MaxActive: 1 << 20}, {Processes: 1}, {DutyOn: time.Second}, {Ratio: 1 << 30}} {
		if err := Load(path, p); err == nil {
			t.Errorf("%v is taken", p)
			Unload(time.Second)
		}
	}
	if s, err := Status("/"); err != nil || s.Loaded {
		t.Errorf("left behind: %+v, %v", s, err)
	}
	if _, err := Read("/"); err == nil {
		t.Error("there is something to read")
	}
	if err := Unload(0); err == nil {
		t.Error("there is something to unload")
	}
}

// A function within another one that is probed too is part of its wait, which is counted once.
func TestNestedWaitsCountOnce(t *testing.T) {
	load(t, Params{Probes: []string{"bit_wait_io"}})
	d := lab.NullBlk(t, 50*time.Millisecond)
	began := time.Now()
	// The superblock is read through the buffer cache: bit_wait_io, which calls io_schedule.
	truth := run(t, "mount", d.Path)
	wall := time.Since(began)
	s := state(t)
	p := s.process(truth.PID)
	var inner, outer uint64
	for _, probe := range s.Probes {
		switch probe.Function {
		case "io_schedule":
			inner = probe.Nested
		case "bit_wait_io":
			outer = probe.Returns
		}
	}
	if outer == 0 || inner < outer {
		t.Errorf("%d calls of bit_wait_io, %d of io_schedule within: %+v", outer, inner, s.Probes)
	}
	if total := time.Duration(p.Flagged.NS); p.Flagged.Count == 0 || total > wall || total < time.Duration(p.Flagged.Count)*49*time.Millisecond {
		t.Errorf("%d waits of %v in %v", p.Flagged.Count, total, wall)
	}
	s.balanced(t)
}
