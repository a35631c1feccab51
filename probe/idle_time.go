// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"time"

	"github.com/cilium/ebpf/btf"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/kernel"
)

// idleTime says how far the parts of a CPU's own account of its idle time, in ns, lie from its run
// queue; 0: not known.
type idleTime struct{ idle, iowait int64 }

// Where the kernel keeps it.
const (
	tickVar   = "tick_cpu_sched" // a struct tick_sched, until 7.0
	cpuStat   = "kernel_cpustat" // the variable and its struct, where it is exact since then
	statTimes = "cpustat"        // its times in ns, by enum cpu_usage_stat
)

func (v *cpuVars) idleTime() (t idleTime) {
	types := v.types
	idle, ok := memberOffset(types, "tick_sched", "idle_sleeptime")
	iowait, both := memberOffset(types, "tick_sched", "iowait_sleeptime")
	if ok && both {
		return idleTime{v.fromRunQueue(tickVar, int64(idle)), v.fromRunQueue(tickVar, int64(iowait))}
	}
	var states *btf.Enum
	times, ok := memberOffset(types, cpuStat, statTimes)
	if !ok || !hasMember(types, cpuStat, "idle_entrytime") || types.TypeByName("cpu_usage_stat", &states) != nil {
		return idleTime{}
	}
	for _, state := range states.Values {
		at := v.fromRunQueue(cpuStat, int64(times)+8*int64(state.Value))
		switch state.Name {
		case "CPUTIME_IDLE":
			t.idle = at
		case "CPUTIME_IOWAIT":
			t.iowait = at
		}
	}
	return t
}

// cpuTimes are the kernel's accounts of each CPU, as of when they were last read.
type cpuTimes struct {
	at   time.Time
	cpus map[int]kernel.Stat
}

// tick is the unit of those accounts.
const tick = 10 * time.Millisecond

// since is what has passed on each CPU since the last call. A CPU that was not online at both, and
// all of them where the accounts cannot be read, are left out.
func (t *cpuTimes) since() map[int]event.CPUSamples {
	cpus, err := kernel.ReadStatOfCPUs("/")
	if err != nil {
		cpus = nil
	}
	before := *t
	*t = cpuTimes{at: time.Now(), cpus: cpus}
	passed := map[int]event.CPUSamples{}
	for cpu, now := range cpus {
		was, known := before.cpus[cpu]
		if !known {
			continue
		}
		times, _ := now.Sub(was)
		passed[cpu] = event.CPUSamples{
			PassedNS: uint64(t.at.Sub(before.at)), IdleNS: (times.Idle + times.IOWait) * uint64(tick), StolenNS: times.Steal * uint64(tick),
		}
	}
	return passed
}
