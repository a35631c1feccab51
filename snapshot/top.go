// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"cmp"

	"github.com/iowitness/iowitness/blame"
	"github.com/iowitness/iowitness/event"
)

// setTop finds the largest cause and, within it, the largest device, file and
// system call. "None" competes too: to name a device that had the smaller part
// would be to guess.
func (g *group) setTop(names *nameCache) {
	t := &g.row.Top
	if len(g.row.Causes) == 0 {
		return
	}
	t.Cause, t.CauseNS = g.row.Causes[0].Cause, g.row.Causes[0].Total
	devices, files, calls := map[event.Dev]uint64{}, map[fileID]uint64{}, map[int32]uint64{}
	for k, v := range g.pieces {
		if k.cause == t.Cause {
			devices[k.device] += v.ns
			files[k.file] += v.ns
			calls[k.syscall] += v.ns
		}
	}
	call, ns := largest(calls, cmp.Compare[int32])
	t.Syscall, t.SyscallNS = names.Syscall(call), ns
	device, ns := largest(devices, cmp.Compare[event.Dev])
	if device != 0 {
		t.Device, t.DeviceNS, t.DeviceSource = names.Device(device), ns, g.sourceOf(t.Cause, device)
	}
	file, ns := largest(files, fileID.compare)
	if file != (fileID{}) {
		t.FileNS = ns
		g.setTopFile(file, names)
	}
}

func (f fileID) compare(o fileID) int {
	return cmp.Or(cmp.Compare(f.path, o.path), cmp.Compare(f.dev, o.dev), cmp.Compare(f.ino, o.ino))
}

func (g *group) sourceOf(cause blame.Cause, device event.Dev) blame.DeviceSource {
	sources := map[blame.DeviceSource]uint64{}
	for k, v := range g.pieces {
		if k.cause == cause && k.device == device {
			sources[k.source] += v.ns
		}
	}
	source, _ := largest(sources, cmp.Compare[blame.DeviceSource])
	return source
}

func (g *group) setTopFile(id fileID, names *nameCache) {
	var best *pieceSum
	for k, v := range g.pieces {
		if k.file != id || k.cause != g.row.Top.Cause {
			continue
		}
		if best == nil || cmp.Or(cmp.Compare(best.ns, v.ns), cmp.Compare(v.pid, best.pid), cmp.Compare(v.file.Source, best.file.Source)) < 0 {
			best = &v
		}
	}
	t := &g.row.Top
	t.File, t.Inode, t.FileSource = names.File(best.file, best.pid), id.ino, best.file.Source
}

// setTopProcess names the row after its process, or the process that waited most.
func (g *group) setTopProcess(names *nameCache) {
	processes := map[uint32]uint64{}
	for id, ns := range g.threads {
		processes[id.pid] += ns
	}
	g.row.Threads, g.row.Processes = len(g.threads), len(processes)
	t := &g.row.Top
	t.PID, t.ProcessNS = largest(processes, cmp.Compare[uint32])
	t.Comm = cmp.Or(names.Process(t.PID).Comm, g.names[t.PID].comm)
}

// largest is the key with the largest value; the smaller key among equals.
func largest[K comparable](values map[K]uint64, compare func(a, b K) int) (key K, value uint64) {
	first := true
	for k, v := range values {
		if first || v > value || v == value && compare(k, key) < 0 {
			key, value, first = k, v, false
		}
	}
	return key, value
}
