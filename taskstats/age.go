// SPDX-License-Identifier: Apache-2.0

package taskstats

import (
	"errors"

	"golang.org/x/sys/unix"
)

// sleepingFor is for how long a thread has not run, in ns; 0 where that is not
// told. /proc tells when it last ran by a clock that each CPU has for itself, for
// it stands still while the machine's host runs something else there. So this
// thread, which must be locked to the goroutine, visits that CPU to read the clock.
func (p *Poller) sleepingFor(t *thread) uint64 {
	then, ok := p.lastRan(p.proc.thread(t.process.pid, t.tid, "sched"))
	if !ok {
		return 0
	}
	var allowed, only unix.CPUSet
	only.Set(int(t.cpu))
	if errors.Join(unix.SchedGetaffinity(0, &allowed), unix.SchedSetaffinity(0, &only)) != nil {
		return 0
	}
	defer unix.SchedSetaffinity(0, &allowed)
	unix.Syscall(unix.SYS_SCHED_YIELD, 0, 0, 0) // takes the clock into our own entry
	now, ok := p.lastRan(p.proc.root + "thread-self/sched")
	if !ok {
		return 0
	}
	return since(now, then)
}

func (p *Poller) lastRan(path string) (ns uint64, ok bool) {
	text, err := p.proc.text(path)
	if err != nil {
		return 0, false
	}
	return parseExecStart(text)
}
