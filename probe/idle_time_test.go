// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestAnIdleCPUIsNotSaidToBeUninterruptible: a CPU that has nothing to do may stop what samples come
// by. By the kernel's own account it was then idle, and no sample is missed.
func TestAnIdleCPUIsNotSaidToBeUninterruptible(t *testing.T) {
	types, _, err := kernelBTF("")
	if err != nil {
		t.Fatal(err)
	}
	vars := findCPUVars(types)
	rest := vars.idleTime()
	t.Logf("%+v", rest)
	if (rest.idle == 0 || rest.iowait == 0) && len(vars.at) > 0 {
		t.Error("it is not known where the CPU counts its idle time")
	}
	p := openProfile(t, ProfileCPU, ProfileOptions{Event: EventCPUClock})
	iv, _ := profiled(t, p, 3*time.Second)
	const apart = uint64(100 * time.Millisecond) // of two accounts, and a sample at each end
	period := uint64(p.Period())
	for i := range iv.CPUs {
		c := &iv.CPUs[i]
		t.Logf("%+v", c)
		if c.PassedNS < uint64(3*time.Second) {
			t.Errorf("CPU %d: %v of 3 s are accounted for", c.CPU, time.Duration(c.PassedNS))
		}
		if rested := c.Rested * period; rested > c.IdleNS+apart {
			t.Errorf("CPU %d: no samples were due for %v, but it was idle for %v", c.CPU, time.Duration(rested), time.Duration(c.IdleNS))
		}
		if busy := c.PassedNS - min(c.IdleNS, c.PassedNS); c.GapNS > busy+apart && rest.idle != 0 {
			t.Errorf("CPU %d: %v without samples that were due, but it was busy for %v", c.CPU, time.Duration(c.GapNS), time.Duration(busy))
		}
	}
	if len(iv.CPUs) == 0 {
		t.Error("no CPU")
	}
}

// TestManyShortTimesAreNoGap: a thread that is woken every 20 ms and then works for 3 leaves its CPU
// interruptible. However many of its samples do not come, none of what is told lasts longer than one of its rounds.
func TestManyShortTimesAreNoGap(t *testing.T) {
	p := openProfile(t, ProfileCPU, ProfileOptions{Event: EventCPUClock})
	cpus, err := onlineCPUs()
	if err != nil {
		t.Fatal(err)
	}
	cpu := cpus[len(cpus)-1]
	longest, end := make(chan time.Duration, 1), time.Now().Add(4*time.Second)
	go func() {
		runtime.LockOSThread() // and never again used
		var on unix.CPUSet
		on.Set(cpu)
		err := unix.SchedSetaffinity(0, &on)
		var most time.Duration
		for last := time.Now(); err == nil && last.Before(end); {
			for began := time.Now(); time.Since(began) < 3*time.Millisecond; {
			}
			time.Sleep(17 * time.Millisecond)
			most, last = max(most, time.Since(last)), time.Now()
		}
		longest <- most
	}()
	iv, _ := profiled(t, p, 3*time.Second)
	most := <-longest
	if most == 0 {
		t.Fatal("the thread did not work")
	}
	for i := range iv.Gaps {
		if g := &iv.Gaps[i]; int(g.CPU) == cpu && time.Duration(g.Max) > most+2*p.Period() {
			t.Errorf("CPU %d took no sample for %v, though it ran a thread every %v at most: %+v", cpu, time.Duration(g.Max), most, g)
		}
	}
	t.Logf("rounds of at most %v; %+v", most, iv.CPUs)
}
