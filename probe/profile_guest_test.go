// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/kernel"
	"github.com/iowitness/iowitness/lab"
)

// TestACPUThatCannotBeInterruptedIsFound: a module with interrupts off, by the samples that do not come.
func TestACPUThatCannotBeInterruptedIsFound(t *testing.T) {
	lab.Module(t, "iw_busy", "irqs_off=1", "busy_ms=300", "rest_ms=500")
	symbols, err := kernel.LoadSymbols("/")
	if err != nil {
		t.Fatal(err)
	}
	p := openProfile(t, ProfileCPU, ProfileOptions{Event: EventCPUClock})
	iv, _ := profiled(t, p, 4*time.Second)
	var found, most uint64
	for i := range iv.Gaps {
		g := &iv.Gaps[i]
		if g.CPU == 1 && holds(symbols, g.Kernel, "iw_busy") {
			found += g.NS
			most = max(most, g.Max)
		}
	}
	if most < 270e6 || found < 900e6 {
		t.Errorf("gaps of %v in all, at most %v, lead to the module: %+v", time.Duration(found), time.Duration(most), iv.Gaps)
	}
}

// TestAThreadThatCannotBePreemptedIsFound, by samples and by who waits for it.
func TestAThreadThatCannotBePreemptedIsFound(t *testing.T) {
	lab.Module(t, "iw_busy", "busy_ms=300", "rest_ms=500")
	symbols, err := kernel.LoadSymbols("/")
	if err != nil {
		t.Fatal(err)
	}
	p := openProfile(t, ProfileCPU, ProfileOptions{Event: EventCPUClock})
	iv, _ := profiled(t, p, 4*time.Second)
	var spun uint64
	for i := range iv.Stacked {
		if s := &iv.Stacked[i]; s.Comm == "iw_busy" && holds(symbols, s.Kernel, "iw_busy_spin") {
			spun += s.NS
		}
	}
	for i := range iv.Gaps {
		if g := &iv.Gaps[i]; holds(symbols, g.Kernel, "iw_busy") {
			spun += g.NS // an emulated machine's timer is often late
		}
	}
	if spun < 900e6 || spun > 2500e6 {
		t.Errorf("%v of 4 s in the module", time.Duration(spun))
	}
	p.Close()

	for _, via := range byTracepoints {
		c := lab.Workload{Name: "sleeper", Args: []string{"100000", "1"}}.Start(t)
		var second unix.CPUSet
		second.Set(1)
		if err := unix.SchedSetaffinity(int(c.PID()), &second); err != nil {
			t.Fatal(err)
		}
		c.Go()
		p := openProfile(t, ProfileRunQ, ProfileOptions{Via: via, Long: 50 * time.Millisecond})
		_, records := profiled(t, p, 4*time.Second)
		held := 0
		for _, r := range records {
			w, ok := r.(*event.RunQWait)
			if !ok || w.CPU != 1 {
				continue
			}
			for _, ran := range w.Ran {
				if ran.Task.Comm == "iw_busy" && ran.To-ran.From > 200e6 && ran.To > w.Since {
					held++
				}
			}
		}
		if held == 0 {
			t.Errorf("%s: no wait for CPU 1 is told as for the module: %d records", via, len(records))
		}
		c.End()
		p.Close()
	}
}

// TestCPUsThatComeOnlineAreSampled.
func TestCPUsThatComeOnlineAreSampled(t *testing.T) {
	if !lab.Guest() {
		t.Skip("takes a CPU offline")
	}
	const online = "/sys/devices/system/cpu/cpu1/online"
	set := func(value string) {
		t.Helper()
		if err := os.WriteFile(online, []byte(value), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p := openProfile(t, ProfileCPU, ProfileOptions{Event: EventCPUClock})
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	set("0")
	defer set("1")
	samples := func() (n uint64) {
		t.Helper()
		if _, err := p.Heartbeat(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		iv, err := p.Interval()
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range iv.CPUs {
			if c.CPU == 1 {
				n += c.Samples
			}
		}
		return n
	}
	samples()
	if n := samples(); n != 0 {
		t.Errorf("%d samples of a CPU that is offline", n)
	}
	set("1")
	samples()
	if n := samples(); n < 20 {
		t.Errorf("%d samples of a CPU that came online", n)
	}
	if notes := strings.Join(p.Facts().Notes, "; "); !strings.Contains(notes, "CPU 1 came online") {
		t.Errorf("notes: %q", notes)
	}
}
