// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"testing"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/kernel"
	"github.com/iowitness/iowitness/lab"
)

// TestWhetherAThreadOrAnInterruptWakesIsKnown: two threads that wake each other, and a timer, whose interrupt
// comes upon anybody. The bits that tell the one from the other are not the same on all kernels.
func TestWhetherAThreadOrAnInterruptWakesIsKnown(t *testing.T) {
	symbols, err := kernel.LoadSymbols("/")
	if err != nil {
		t.Fatal(err)
	}
	types, _, err := kernelBTF("")
	if err != nil {
		t.Fatal(err)
	}
	vars := findCPUVars(types)
	if len(vars.at) == 0 {
		t.Skip("this kernel's types do not tell where its variables of each CPU lie: wakers are told as unsure")
	}
	count := vars.preemptCount()
	t.Logf("%+v", count)
	if count.fromRunQueue == 0 {
		t.Error("it is not known where the CPU counts what it must not be preempted in")
	}
	const turns = 200
	for _, via := range profileMeans[ProfileOffCPU] {
		for _, test := range []struct {
			workload lab.Workload
			in       string
			by       event.WakerKind
		}{
			{lab.Workload{Name: "ping", Args: []string{"200"}}, "pipe_read", event.WakerThread},
			{lab.Workload{Name: "sleeper", Args: []string{"200", "2"}}, "nanosleep", event.WakerInterrupt},
		} {
			p := openProfile(t, ProfileOffCPU, ProfileOptions{Via: via})
			iv, truth, _ := during(t, p, test.workload)
			var by [event.WakerKinds]uint64
			for i := range iv.Stacked {
				s := &iv.Stacked[i]
				if s.PID == uint32(truth.PID) && s.State == event.OffSleeps && holds(symbols, s.Kernel, test.in) {
					by[s.WakerIs] += s.Count
				}
			}
			t.Logf("%s: %s: woken by %v", via, test.workload, by)
			all := by[event.WakerUnseen]
			for _, kind := range []event.WakerKind{event.WakerThread, event.WakerInterrupt, event.WakerUnsure} {
				if all += by[kind]; kind != test.by && by[kind] > turns/50 { // a thread's end wakes those that sleep
					t.Errorf("%s: %s: %d wake-ups are told as by %s", via, test.workload, by[kind], kind)
				}
			}
			if by[test.by] < turns*9/10 || all < turns {
				t.Errorf("%s: %s: %d of %d wake-ups are told as by %s", via, test.workload, by[test.by], all, test.by)
			}
			p.Close()
		}
	}
}
