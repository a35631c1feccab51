// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"errors"
	"io/fs"
	"path"

	"golang.org/x/sys/unix"

	"github.com/iowitness/iowitness/event"
)

// name fills in the names of a process that the kernel side told of, with the
// help of /proc if it still lives.
func (p *Processes) name(e *entry) {
	w := &e.who
	e.verify = p.interval + verifyEvery + uint64(w.PID%verifyEvery) // spread out
	e.names = &Process{
		PID: w.PID, Comm: w.LeaderComm, Cgroup: w.CgroupPath, CgroupV1: w.CgroupV1 != 0,
		Container: p.container(w.CgroupPath), UID: w.UID, User: p.users.Name(w.UID), PPID: w.PPID,
		NSPID: w.NSPID, Kernel: w.Kernel, StartTime: w.StartTime, Known: FromKernel,
	}
	dir, gone := p.look(w)
	if dir != nil {
		defer dir.close()
	}
	if gone {
		p.end(e)
	}
	if !w.Kernel {
		p.nameExe(e, dir)
	}
}

// look opens /proc of the process; gone is true if it has ended for sure.
func (p *Processes) look(w *event.Identity) (dir *procDir, gone bool) {
	dir, err := openProc(p.root, w.PID)
	if err != nil {
		return nil, p.samePIDs && isGone(err)
	}
	if !sameStart(dir.stat.StartTime, w.StartTime) {
		dir.close()
		return nil, p.samePIDs
	}
	return dir, false
}

func isGone(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) }

// nameExe trusts /proc where it names the same file: the process may have
// called exec since. Else it resolves what the kernel told by the mounts.
func (p *Processes) nameExe(e *entry, dir *procDir) {
	exe := e.who.Exe
	mounts := p.views.Own()
	if dir != nil {
		link, deleted := dir.exe()
		if link != "" && (exe.Path == "" || path.Base(exe.Path) == path.Base(link)) {
			e.names.Exe, e.names.ExeDeleted = link, deleted
			return
		}
		mounts, _ = p.views.Of(e.who.PID)
	}
	if resolved, ok := FilePath(exe, mounts, nil); ok {
		e.names.Exe = resolved
		return
	}
	e.names.Exe, e.names.ExePartial = exe.Path, exe.Path != ""
}

// fromProc describes a process that the kernel side has not told of.
func (p *Processes) fromProc(pid uint32) *entry {
	unknown := &entry{names: &Process{PID: pid}}
	if !p.samePIDs {
		return unknown // the pid may be someone else's in this namespace
	}
	dir, err := openProc(p.root, pid)
	if err != nil {
		return unknown
	}
	defer dir.close()
	status, err := dir.text("status")
	if err != nil {
		return unknown
	}
	uid, nsPID, err := ParseProcStatus(status)
	if err != nil {
		return unknown
	}
	e := &entry{known: FromProc, verify: p.interval + verifyEvery + uint64(pid%verifyEvery)}
	e.who.StartTime = dir.stat.StartTime
	e.names = &Process{
		PID: pid, Comm: dir.stat.Comm, UID: uid, User: p.users.Name(uid), PPID: dir.stat.PPID, NSPID: nsPID,
		Kernel: dir.stat.Kernel, StartTime: dir.stat.StartTime, Known: FromProc,
	}
	e.names.Exe, e.names.ExeDeleted = dir.exe()
	if text, err := dir.text("cgroup"); err == nil {
		e.names.Cgroup, e.names.CgroupV1, _ = ParseCgroup(text)
		e.names.Container = p.container(e.names.Cgroup)
	}
	return e
}

// verified looks whether a remembered pid is still the same process. One that
// is not was reused without the kernel side telling: that record was lost.
func (p *Processes) verified(e *entry) *entry {
	if e.known == FromProc { // it may have called exec
		return p.replaced(e)
	}
	e.verify = p.interval + verifyEvery
	dir, gone := p.look(&e.who)
	switch {
	case dir != nil:
		dir.close()
	case gone:
		return p.replaced(e)
	}
	return e
}

// replaced takes what /proc says now; where that is nothing, the process has ended.
func (p *Processes) replaced(e *entry) *entry {
	fresh := p.fromProc(e.who.PID)
	if fresh.known != FromNowhere {
		return p.put(e.who.PID, fresh)
	}
	p.end(e)
	return e
}

// successor looks whether the pid of a process that ended a while ago is
// another's now.
func (p *Processes) successor(e *entry) *entry {
	fresh := p.fromProc(e.who.PID)
	if fresh.known == FromNowhere || sameStart(fresh.who.StartTime, e.who.StartTime) {
		return e
	}
	return p.put(e.who.PID, fresh)
}

// container remembers by path: many processes share one, and the rules cost.
func (p *Processes) container(cgroup string) Container {
	c, known := p.containers[cgroup]
	if !known {
		if len(p.containers) >= 4096 {
			clear(p.containers)
		}
		c, _ = ContainerOf(cgroup)
		p.containers[cgroup] = c
	}
	return c
}
