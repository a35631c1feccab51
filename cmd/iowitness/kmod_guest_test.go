// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/iowitness/iowitness/lab"
)

func needModule(t *testing.T) {
	t.Helper()
	if lab.GuestModule() == "" {
		t.Skip("needs one of the lab's guests, with the kernel module beside")
	}
}

func notLoaded(t *testing.T) {
	t.Helper()
	if r := runIt(t, "kmod", "status"); r.status != exitError || !strings.Contains(r.out, "not loaded") {
		t.Errorf("%+v", r)
	}
}

// The verbs, as an operator uses them.
func TestKmodVerbs(t *testing.T) {
	needModule(t)
	device := lab.NullBlk(t, 20*time.Millisecond)
	notLoaded(t)
	runIt(t, "kmod", "unload").expect(t, exitError, "not loaded")
	runIt(t, "kmod", "load", "--probes", "schedule").expect(t, exitError, "kernel's log")
	if r := runIt(t, "kmod", "load", "--probes", "jbd2_log_wait_commit", "--ratio", "1"); r.status != exitOK {
		t.Fatal(r.err)
	}
	t.Cleanup(func() { runIt(t, "kmod", "unload") })
	runIt(t, "kmod", "load").expect(t, exitError, "already")
	readsOf(t, device, 20)
	r := runIt(t, "kmod", "status", "--json")
	var s kmodStatus
	if err := json.Unmarshal([]byte(r.out), &s); err != nil || r.status != exitOK {
		t.Fatalf("%v, status %d: %s", err, r.status, r.out)
	}
	if !s.Loaded || !s.Current || s.Counts == nil || s.Counts.Waits < 18 || s.Counts.Looking != "open" || len(s.Counts.Probes) != 3 {
		t.Errorf("%s", r.out)
	}
	if r := runIt(t, "kmod", "status"); r.status != exitOK || !strings.Contains(r.out, "it counts") {
		t.Errorf("%+v", r)
	}
	summary, err := os.ReadFile("/proc/iowitness/summary")
	if err != nil || !strings.Contains(string(summary), "WAITS") {
		t.Errorf("%v: %s", err, summary)
	}
	if r := runIt(t, "kmod", "unload"); r.status != exitOK {
		t.Error(r.err)
	}
}

// A report by the module, with the module unloaded after it.
func TestWatchByTheModule(t *testing.T) {
	needModule(t)
	const delay = 20 * time.Millisecond
	device := lab.NullBlk(t, delay)
	s := startIt(t, "--via", "kmod", "--functions", "io_schedule,io_schedule_timeout")
	child := lab.Workload{Name: "counted", Args: []string{device.Path, "1", "100", "direct"}}.Start(t)
	child.Go()
	truth := child.Wait()
	doc := s.finish(t)
	within(t, "waits", doc, reads{child.PID(), truth.Slept})
	var total uint64
	for _, w := range doc.Waits {
		if w.PID == child.PID() {
			total += w.TotalNS
		}
	}
	// The process's begin and end may wait too.
	if time.Duration(total) < 100*delay*95/100 || time.Duration(total) > truth.Total+200*time.Millisecond {
		t.Errorf("waited %v in 100 reads of %v, which took %v", time.Duration(total), delay, truth.Total)
	}
	notLoaded(t)
}
