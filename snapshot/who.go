// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
)

// who holds what all threads of the group share.
func (g *group) who(names *nameCache) Who {
	pids := map[uint32]bool{}
	for id := range g.threads {
		pids[id.pid] = true
	}
	sorted := slices.Sorted(maps.Keys(pids))
	if len(sorted) == 0 {
		return Who{}
	}
	w := processWho(sorted[0], g.names[sorted[0]].comm, names)
	for _, pid := range sorted[1:] {
		w.keepShared(processWho(pid, g.names[pid].comm, names))
	}
	return w
}

func processWho(pid uint32, threadComm string, names *nameCache) Who {
	p := names.Process(pid)
	return Who{
		PID: pid, NSPID: p.NSPID, Comm: cmp.Or(p.Comm, threadComm), Exe: p.Exe, Cwd: p.Cwd,
		User: userName(p), UID: p.UID, UIDKnown: p.Known, Cgroup: p.Cgroup, Container: p.Container, Kernel: p.Kernel,
	}
}

// userName is the user's name, its number where it has no name, or empty.
func userName(p ProcessName) string {
	if p.User == "" && p.Known {
		return strconv.FormatUint(uint64(p.UID), 10)
	}
	return p.User
}

func (w *Who) keepShared(o Who) {
	w.PID, w.NSPID = 0, 0
	w.Comm = shared(w.Comm, o.Comm)
	w.Exe = shared(w.Exe, o.Exe)
	w.Cwd = shared(w.Cwd, o.Cwd)
	w.Cgroup = shared(w.Cgroup, o.Cgroup)
	w.Container = shared(w.Container, o.Container)
	w.User = shared(w.User, o.User)
	if w.UID != o.UID || !o.UIDKnown {
		w.UID, w.UIDKnown = 0, false
	}
	w.Kernel = w.Kernel && o.Kernel
}

func shared(a, b string) string {
	if a == b {
		return a
	}
	return ""
}
