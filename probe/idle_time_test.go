// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"testing"
	"time"
)

// TestAnIdleCPUIsNotSaidToBeUninterruptible: a CPU that has nothing to do may stop what samples come
// by. By the kernel's own account it was then idle, and no sample is missed.
func TestAnIdleCPUIsNotSaidToBeUninterruptible(t *testing.T) {
	types, _, err := kernelBTF("")
	if err != nil {
		t.Fatal(err)
	}
	rest := findIdleTime(types)
	t.Logf("%+v", rest)
	if (rest.idle == 0 || rest.iowait == 0) && len(findCPUVars(types)) > 0 {
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
