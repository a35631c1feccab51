// SPDX-License-Identifier: Apache-2.0

package taskstats

import (
	"strings"
)

// followed are the threads given to Follow, and the processes that descend from them.
type followed struct {
	threads   map[uint32]parent
	processes map[uint32]descendant
}

// parent is a thread whose children are followed.
type parent struct {
	pid  uint32
	from uint64 // instant: children born from then on
}

type descendant struct {
	start uint64 // ticks; 0: not known
	seen  uint64 // instant
}

func newFollowed() followed {
	return followed{threads: map[uint32]parent{}, processes: map[uint32]descendant{}}
}

// rememberEnded is how long, in ns, a process that has ended is still known as a parent.
const rememberEnded = 5_000_000_000

func (f *followed) prune(now uint64) {
	for pid, d := range f.processes {
		if since(now, d.seen) > rememberEnded {
			delete(f.processes, pid)
		}
	}
}

// adopt says whether a process that was never seen alive descends from one that is followed.
func (f *followed) adopt(s *Stats, now uint64) bool {
	if _, known := f.processes[s.PID]; known {
		return true
	}
	if _, descends := f.processes[s.PPID]; !descends {
		return false
	}
	f.processes[s.PID] = descendant{seen: now}
	return true
}

// Follow watches a thread's process and its children, and theirs. Only their
// parents tell who descends from whom: a process is missed if its parent ends
// before the poll that would have seen both.
func (p *Poller) Follow(tid uint32) error {
	pid, err := p.processOf(tid)
	if err != nil {
		return err
	}
	p.followed.threads[tid] = parent{pid: pid, from: p.clock()}
	return nil
}

// Unfollow ends that for children to come; those there are stay followed.
func (p *Poller) Unfollow(tid uint32) error {
	if _, known := p.followed.threads[tid]; !known {
		return nil
	}
	defer delete(p.followed.threads, tid)
	pids, err := p.proc.processes(nil)
	if err != nil {
		return err
	}
	for _, pid := range pids {
		process := p.processes[pid]
		if process == nil {
			if process = p.discover(pid); process == nil {
				continue
			}
			process.round = p.round
		}
		if p.follows(process) {
			process.checked = 0 // let the next poll see
		}
	}
	return nil
}

// processOf is the process of a thread: /proc has an entry for each thread, though it lists only processes.
func (p *Poller) processOf(tid uint32) (uint32, error) {
	text, err := p.proc.text(p.proc.process(tid, "status"))
	if err != nil {
		return 0, ErrGone
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "Tgid:"); ok {
			if n, ok := decimal([]byte(strings.TrimSpace(value))); ok {
				return uint32(n), nil
			}
		}
	}
	return 0, ErrGone
}

// follows says whether a process is one of those that are followed.
func (p *Poller) follows(process *process) bool {
	if !p.config.Follow {
		return true
	}
	f := &p.followed
	_, descends := f.processes[process.ppid]
	if d, known := f.processes[process.pid]; known && (d.start == process.start || d.start == 0) {
		descends = true
	}
	itself := false
	for _, parent := range f.threads {
		// A start is told in whole ticks.
		child := process.ppid == parent.pid && p.bornAt(process.start)+TickNS > parent.from
		descends, itself = descends || child, itself || process.pid == parent.pid
	}
	if descends {
		f.processes[process.pid] = descendant{process.start, max(p.now, 1)}
	}
	return descends || itself
}

// bornAt is the instant of a start time in ticks.
func (p *Poller) bornAt(ticks uint64) uint64 { return since(ticks*TickNS, p.bootOffset) }
