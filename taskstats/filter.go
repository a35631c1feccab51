// SPDX-License-Identifier: Apache-2.0

package taskstats

import (
	"slices"
	"strings"

	"github.com/iowitness/iowitness/identity"
)

// Cgroup is a cgroup to watch.
type Cgroup struct {
	Controller string // of the v1 hierarchy, such as "memory" or "blkio"; "" is the unified one
	Path       string // within the hierarchy; "": no filter
}

// wantedEvery is how often the filters are asked again, in ns: a process may
// change its cgroup, and an id may be another process's.
const wantedEvery = 1_000_000_000

// wants says whether a process passes the filters of processes.
func (p *Poller) wants(process *process) bool {
	if process.checked != 0 && since(p.now, process.checked) < wantedEvery {
		return process.wanted
	}
	if process.checked != 0 && !process.wanted {
		p.reread(process)
	}
	process.checked = p.now
	process.wanted = process.pid != p.config.Skip && p.follows(process) && p.inCgroup(process)
	if !process.wanted {
		for _, t := range process.threads {
			t.wait = nil
			p.release(t)
			delete(p.threads, t.tid)
		}
		process.threads = nil
	}
	return process.wanted
}

// reread looks whether an id that was of no interest is another process's now.
func (p *Poller) reread(process *process) {
	text, err := p.proc.text(p.proc.process(process.pid, "stat"))
	if err != nil {
		return
	}
	if stat, err := ParseThreadStat(text); err == nil {
		process.ppid, process.start = stat.PPID, stat.Start
	}
}

// inCgroup reads where a process is; it may be below the cgroup that is watched.
func (p *Poller) inCgroup(process *process) bool {
	if p.config.Cgroup.Path == "" {
		return true
	}
	text, err := p.proc.text(p.proc.process(process.pid, "cgroup"))
	if err != nil {
		return false
	}
	path, ok := identity.CgroupIn(string(text), p.config.Cgroup.Controller)
	return ok && within(path, p.config.Cgroup.Path)
}

// within says whether path is directory or below it, by whole components.
func within(path, directory string) bool {
	rest, ok := strings.CutPrefix(path, strings.TrimRight(directory, "/"))
	return ok && (rest == "" || rest[0] == '/')
}

// wantsThread says whether a thread's name passes. One that takes the name later
// is of interest from then on only.
func (p *Poller) wantsThread(t *thread, stat *ThreadStat) bool {
	wanted := p.config.Comm == "" || t.comm == p.config.Comm
	if wanted == t.wanted {
		return wanted
	}
	t.wanted, t.wait = wanted, nil
	if wanted && t.met {
		t.old, t.account = true, account{}
		t.account.tick(stat.BlockIO, t, p)
		p.asked = append(p.asked, t)
	}
	return wanted
}

// wantsStranger says whether a thread that was never polled would have passed.
// Its cgroup is not told any more.
func (p *Poller) wantsStranger(s *Stats) bool {
	c := &p.config
	process := p.processes[s.PID]
	switch {
	case s.PID == c.Skip, c.Comm != "" && s.Comm != c.Comm, len(c.PIDs) > 0 && !slices.Contains(c.PIDs, s.PID):
		return false
	case process != nil:
		return process.wanted
	case c.Follow && !p.followed.adopt(s, p.now):
		return false
	}
	return c.Cgroup.Path == ""
}
