// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"os"
	"slices"
	"sync"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/kernel"
	"github.com/iowitness/iowitness/symbol"
)

// profileNames names addresses and processes.
type profileNames struct {
	*names
	resolver *symbol.Resolver
	follows  bool // only a command is profiled: its processes are learned of as they begin
	command  commandName
	learned  map[uint32]bool // in this interval, again
	ended    uint64

	unnumbered uint64 // processes told of that the caller's pid namespace has no number for
	modules    func() kernel.Modules
	number     func(uint32) uint32 // of a process or thread in the caller's pid namespace, whose /proc is read
}

// commandName is the command that is profiled; the zero value: none is.
type commandName struct {
	pid    uint32 // as the caller's pid namespace numbers it
	comm   string
	before string // what it is called until it calls exec: as we are
}

// nameOf is how a process is called that the kernel side calls so.
func (n *profileNames) nameOf(pid uint32, comm string) string {
	if c := &n.command; c.pid != 0 && comm == c.before && n.number(pid) == c.pid {
		return c.comm
	}
	return comm
}

// renamed has what the command did before it was called as it is under its name.
func (n *profileNames) renamed(iv *event.ProfileInterval) {
	for i := range iv.Stacked {
		s := &iv.Stacked[i]
		s.Comm, s.WakerComm = n.nameOf(s.PID, s.Comm), n.nameOf(s.Waker, s.WakerComm)
	}
	for i := range iv.Gaps {
		iv.Gaps[i].Comm = n.nameOf(iv.Gaps[i].PID, iv.Gaps[i].Comm)
	}
	for i := range iv.Processes {
		iv.Processes[i].Comm = n.nameOf(iv.Processes[i].PID, iv.Processes[i].Comm)
	}
	for i := range iv.Pairs {
		p := &iv.Pairs[i]
		p.WakerComm, p.WokenComm = n.nameOf(p.Waker, p.WakerComm), n.nameOf(p.Woken, p.WokenComm)
	}
}

func newProfileNames(root string) *profileNames {
	return &profileNames{
		names: newNames(root), resolver: symbol.New(root, symbol.Options{}), learned: map[uint32]bool{},
		number:  func(id uint32) uint32 { return id },
		modules: sync.OnceValue(func() kernel.Modules { return kernel.ReadModules(root) }),
	}
}

// meet learns of a process while it lives.
func (n *profileNames) meet(p *event.Process) {
	pid := n.number(p.PID)
	if pid == 0 {
		n.unnumbered++
		return
	}
	switch p.Event {
	case event.ProcessForked:
		if parent := n.number(p.Parent); parent != 0 {
			n.resolver.Forked(parent, pid, p.At)
		}
		return
	case event.ProcessExecuted:
		n.resolver.Executed(pid, p.At)
		n.processes.Executed(p.PID)
		if !n.follows {
			return
		}
		n.Process(p.PID) // while it lives
	}
	if err := n.resolver.Learn(pid, monotonic()); errors.Is(err, os.ErrNotExist) {
		n.ended++
	}
}

func (n *profileNames) newInterval() { clear(n.learned) }

// ProcessComm is the name of a process, and its cgroup.
func (n *profileNames) ProcessComm(pid uint32) (comm, cgroup string) {
	if pid == 0 {
		return "", ""
	}
	p := n.Process(pid)
	if !p.Known {
		return "", ""
	}
	return p.Comm, p.Cgroup
}

// Number is how the caller's pid namespace numbers a process or thread; 0: it does not.
func (n *profileNames) Number(id uint32) uint32 { return n.number(id) }

// NSPID is a process's pid in its innermost pid namespace; 0: not known.
func (n *profileNames) NSPID(pid uint32) uint32 {
	if pid == 0 {
		return 0
	}
	return n.Process(pid).NSPID
}

// tracing are the beginnings of functions by which an event comes to us: no part of the story.
var tracing = []string{"bpf_", "__bpf_", "__traceiter_", "perf_trace_", "trace_event_", "__perf_event", "perf_event_"}

// KernelFrames names the addresses of a stack, innermost first. All but the first are where calls
// return to, as names.Stack explains.
func (n *profileNames) KernelFrames(addresses []uint64) []symbol.Frame {
	symbols, err := n.symbols()
	frames := make([]symbol.Frame, 0, len(addresses))
	for i, address := range addresses {
		at := address
		if i > 0 {
			at--
		}
		if err != nil {
			frames = append(frames, symbol.KernelFrame("", 0, address))
			continue
		}
		name, offset, ok := symbols.Lookup(at)
		if !ok {
			name, offset = "", 0
		}
		if len(frames) == 0 && isTracing(name) {
			continue
		}
		if module := n.modules().Of(address); module != "" {
			name += "\t[" + module + "]"
		}
		frames = append(frames, symbol.KernelFrame(name, offset, address))
	}
	return frames
}

func isTracing(name string) bool {
	return slices.ContainsFunc(tracing, func(prefix string) bool { return len(name) > len(prefix) && name[:len(prefix)] == prefix })
}

// UserFrames names the addresses of a stack of a program, innermost first.
func (n *profileNames) UserFrames(pid uint32, at uint64, addresses []uint64) []symbol.Frame {
	pid = n.number(pid)
	frames := n.userFrames(pid, at, addresses)
	if pid == 0 || !slices.ContainsFunc(frames, func(f symbol.Frame) bool { return f.Kind == symbol.Unknown }) || n.learned[pid] {
		return frames
	}
	// What is mapped since is not known yet.
	n.learned[pid] = true
	if n.resolver.Learn(pid, monotonic()) != nil {
		return frames
	}
	return n.userFrames(pid, at, addresses)
}

func (n *profileNames) userFrames(pid uint32, at uint64, addresses []uint64) []symbol.Frame {
	frames := make([]symbol.Frame, 0, len(addresses))
	for i, address := range addresses {
		if i > 0 {
			address--
		}
		frames = append(frames, n.resolver.Resolve(pid, at, address))
	}
	return frames
}
