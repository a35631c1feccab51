// SPDX-License-Identifier: Apache-2.0

package taskstats

import (
	"os"
	"strings"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/identity"
)

// sighted is called with a thread that waits: it is the time to learn who its
// process is, for it may end before anybody asks.
func (p *Poller) sighted(t *thread) {
	process, leader := t.process, t
	if t.tid != process.pid {
		leader = process.leader()
	}
	if leader == nil || process.told == leader.comm {
		return
	}
	process.told = leader.comm
	if who, ok := p.identify(process, leader); ok {
		p.identities = append(p.identities, who)
	}
}

func (p *Poller) identify(process *process, leader *thread) (who event.Identity, ok bool) {
	status, err := p.proc.text(p.proc.process(process.pid, "status"))
	if err != nil {
		return who, false
	}
	uid, nsPID, err := identity.ParseProcStatus(string(status))
	if err != nil {
		return who, false
	}
	who = event.Identity{
		TID: process.pid, PID: process.pid, Comm: leader.comm, LeaderComm: leader.comm, StartTime: leader.start * TickNS,
		UID: uid, PPID: process.ppid, NSPID: nsPID, Kernel: leader.kernel, CgroupPath: "/",
	}
	if text, err := p.proc.text(p.proc.process(process.pid, "cgroup")); err == nil {
		path, v1, ok := identity.ParseCgroup(string(text))
		if ok {
			who.CgroupPath = path
		}
		if v1 {
			who.CgroupV1 = 1
		}
	}
	if !leader.kernel {
		who.Exe = p.executable(process.pid)
	}
	return who, true
}

// executable is the program's file. Its link names no mount: it is looked for by the path.
func (p *Poller) executable(pid uint32) event.File {
	path, err := os.Readlink(p.proc.process(pid, "exe"))
	if err != nil || !strings.HasPrefix(path, "/") {
		return event.File{}
	}
	path = strings.TrimSuffix(path, " (deleted)")
	mounts, err := os.ReadFile(p.proc.process(pid, "mountinfo"))
	if err != nil {
		return event.File{}
	}
	mount, ok := mountOf(identity.ParseMounts(string(mounts)), path)
	if !ok {
		return event.File{}
	}
	file := p.files.fileOn(&mount, path, 0)
	file.Source = event.ByVMA
	return file
}

// mountOf is the one with the longest mount point that a path lies in; of several at one point the last covers the others.
func mountOf(mounts []identity.Mount, path string) (best identity.Mount, ok bool) {
	for _, m := range mounts {
		if within(path, m.Point) && (!ok || len(m.Point) >= len(best.Point)) {
			best, ok = m, true
		}
	}
	return best, ok
}
