// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/iowitness/iowitness/lab"
)

// TestTheMachineStuttersThoughLoadIsLow: a module keeps CPU 1 busy, first with interrupts off, then
// with preemption off. The first is found by samples that do not come, the second by those that do, and by who waits.
func TestTheMachineStuttersThoughLoadIsLow(t *testing.T) {
	t.Run("interrupts", func(t *testing.T) {
		lab.Module(t, "iw_busy", "irqs_off=1", "busy_ms=400", "rest_ms=600")
		r := runIt(t, "cpu", "--event", "cpu-clock", "--max-cost", "0", "--for", "5s")
		if r.status != exitOK || !strings.Contains(r.out, "CPU 1 took no sample") || !strings.Contains(r.out, "[iw_busy]") {
			t.Errorf("%+v", r)
		}
	})
	t.Run("preemption", func(t *testing.T) {
		lab.Module(t, "iw_busy", "busy_ms=400", "rest_ms=600")
		r := runIt(t, "cpu", "--event", "cpu-clock", "--max-cost", "0", "--for", "5s", "--json")
		var spun uint64
		for _, f := range readProfile(t, []byte(r.out)).Functions {
			if f.Function == "iw_busy_spin" && f.Module == "[iw_busy]" {
				spun = f.TotalNS
			}
		}
		if spun < 3e8 { // an emulated machine's timer is often late, which is told apart
			t.Errorf("%d ns in the module's function", spun)
		}

		c := lab.Workload{Name: "sleeper", Args: []string{"100000", "1"}}.Start(t)
		var second unix.CPUSet
		second.Set(1)
		if err := unix.SchedSetaffinity(int(c.PID()), &second); err != nil {
			t.Fatal(err)
		}
		c.Go()
		defer c.End()
		r = runIt(t, "runq", "--max-cost", "0", "--for", "5s", "--slower", "50ms", "--json")
		var doc struct {
			Longest []struct {
				CPU    int
				Kernel []string
				Ran    []struct {
					Comm string
					NS   uint64
				}
			}
		}
		if err := json.Unmarshal([]byte(r.out), &doc); err != nil {
			t.Fatalf("%v: %+v", err, r)
		}
		for _, l := range doc.Longest {
			if l.CPU == 1 && len(l.Ran) > 0 && l.Ran[0].Comm == "iw_busy" && strings.Contains(strings.Join(l.Kernel, " "), "iw_busy") {
				return
			}
		}
		t.Errorf("no long wait for CPU 1 names the module: %.2000s", r.out)
	})
}
