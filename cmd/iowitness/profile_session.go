// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/kernel"
	"github.com/iowitness/iowitness/probe"
	"github.com/iowitness/iowitness/profile"
	"github.com/iowitness/iowitness/scheduling"
	"github.com/iowitness/iowitness/snapshot"
	"github.com/iowitness/iowitness/symbol"
)

// profileSession is one run of a profiler.
type profileSession struct {
	kind    probe.ProfileKind
	profile *probe.Profile
	names   *profileNames
	system  *system
	guard   *stackGuard
	maxCost float64
	opened  time.Time
	begun   uint64 // the same by CLOCK_MONOTONIC
	losses  map[string]probe.Loss
	scope   string
	notes   []string

	long []*event.RunQWait // of the interval
	cost snapshot.Cost
}

func openProfile(kind probe.ProfileKind, o probe.ProfileOptions, maxCost float64) (*profileSession, error) {
	s := &profileSession{kind: kind, names: newProfileNames("/"), losses: map[string]probe.Loss{}, maxCost: maxCost}
	s.names.follows = o.Follow
	go s.names.symbols()
	var err error
	s.profile, err = probe.OpenProfile(kind, o)
	return s, err
}

// start opens the gate.
func (s *profileSession) start() error {
	s.system = newSystem("/")
	s.guard = newStackGuard(s.profile, "stacks", s.maxCost, s.names.facts.BPFStats == kernel.On)
	s.guard.meter.calm = true // what is mapped by all processes is read at first
	s.opened, s.begun = time.Now(), monotonic()
	return s.profile.Start()
}

func monotonic() uint64 {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now)
	return uint64(now.Nano())
}

func (s *profileSession) close() error {
	if s.guard != nil {
		s.guard.meter.close()
	}
	return errors.Join(s.profile.Close(), s.names.resolver.Close())
}

// accumulator is an empty one of this run.
func (s *profileSession) accumulator() *scheduling.Accumulator {
	return scheduling.NewAccumulator(s.names, s.opened, s.begun)
}

// take sorts a record to where it belongs.
func (s *profileSession) take(record any) {
	switch r := record.(type) {
	case *event.Process:
		s.names.meet(r)
	case *event.Identity:
		s.names.processes.Learn(*r)
	case *event.RunQWait:
		s.long = append(s.long, r)
	}
}

// gather takes records until the deadline, or until interrupted.
func (s *profileSession) gather(deadline time.Time) error {
	until := time.Now().Add(guardEvery)
	if deadline.Before(until) {
		until = deadline
	}
	if err := s.profile.Drain(until, s.take); err != nil {
		return err
	}
	return s.guard.tick()
}

// interval closes an interval that began at start, and adds it up.
func (s *profileSession) interval(start time.Time, to ...*scheduling.Accumulator) (end time.Time, err error) {
	iv, err := s.profile.Interval()
	if err != nil {
		return end, err
	}
	end = time.Now()
	if err := s.profile.Drain(time.Unix(1, 0), s.take); err != nil {
		return end, err
	}
	s.names.newInterval()
	for _, a := range to {
		a.Add(iv)
		for _, w := range s.long {
			a.AddLong(w)
		}
	}
	s.long = nil
	s.names.processes.Age()
	_, s.cost = s.system.interval(end.Sub(start))
	probes := s.guard.meter.probeCost()
	s.cost.ProbeNS, s.cost.ProbeRuns, s.cost.ProbeWall, s.cost.ProbeFresh = probes.ProbeNS, probes.ProbeRuns, probes.ProbeWall, probes.ProbeFresh
	return end, nil
}

// lost is what went missing since it was last asked; first: since the start.
func (s *profileSession) lost(first bool) ([]snapshot.Loss, error) {
	now, err := s.profile.Losses()
	if err != nil {
		return nil, err
	}
	symbols := s.names.resolver.Losses()
	now = append(now,
		probe.Loss{ID: "symbol_processes", Title: "processes forgotten before their functions were named", Count: symbols.Processes},
		probe.Loss{ID: "symbol_mappings", Title: "mappings of code left out", Count: symbols.Mappings},
		probe.Loss{ID: "symbol_modules", Title: "files of code that could not be read", Count: symbols.Modules},
		probe.Loss{ID: "symbol_ambiguous", Title: "frames not named: which of two programs ran is not known", Count: symbols.Ambiguous},
		probe.Loss{ID: "symbol_ended", Title: "processes that ended before their mappings could be read", Count: s.names.ended})
	var lost []snapshot.Loss
	for _, l := range now {
		before := s.losses[l.ID]
		if first {
			before = probe.Loss{}
		} else {
			s.losses[l.ID] = l
		}
		lost = append(lost, snapshot.Loss{ID: l.ID, Title: l.Title, Count: l.Count - before.Count, NS: l.NS - before.NS, Harmless: l.Harmless})
	}
	return lost, nil
}

var profileKinds = map[probe.ProfileKind]profile.Kind{
	probe.ProfileCPU: profile.CPU, probe.ProfileOffCPU: profile.OffCPU, probe.ProfileRunQ: profile.RunQ,
}

// report is what was added up, with all that is not of single intervals. whole: of all of the run.
func (s *profileSession) report(a *scheduling.Accumulator, start, end time.Time, whole bool, o scheduling.Options) (*scheduling.Report, error) {
	r := a.Build(profileKinds[s.kind], start, end, s.profile.Period(), o)
	facts := s.profile.Facts()
	r.Version, r.Kernel, r.Means, r.Scope, r.Cost = version(), s.names.facts.Release, string(facts.Means), s.scope, s.cost
	if s.kind == probe.ProfileCPU {
		r.Event = s.profile.Event()
	}
	var err error
	if r.Lost, err = s.lost(whole); err != nil {
		return nil, err
	}
	r.Notes = slices.Concat(s.names.notes(), facts.Notes, s.notes, s.guard.said, r.Notes)
	p := r.Profile
	p.Version, p.Kernel, p.Means, p.Scope, p.Notes, p.Lost = r.Version, r.Kernel, r.Means, r.Scope, r.Notes, lostOf(r.Lost)
	return r, nil
}

func lostOf(lost []snapshot.Loss) (l profile.Lost) {
	for i := range lost {
		switch n := &lost[i]; n.ID {
		case "prof_threads", "prof_sums", "no_wake", "clock":
			l.Samples += n.Count
			l.Time += time.Duration(n.NS)
		case "prof_kernel", "prof_room", "prof_collision", "prof_shed", "stack_gone":
			l.KernelStacks += n.Count
		case "prof_user":
			l.UserStacks += n.Count
		case "symbol_ambiguous":
			l.Frames += n.Count
		}
	}
	return l
}

// writeFile writes a file whole, or says why not.
func writeFile(name string, write func(*os.File) error) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	if err := errors.Join(write(f), f.Close()); err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return nil
}

// profileNames names addresses and processes.
type profileNames struct {
	*names
	resolver *symbol.Resolver
	follows  bool            // only a command is profiled: its processes are learned of as they begin
	learned  map[uint32]bool // in this interval, again
	ended    uint64
	modules  func() kernel.Modules
}

func newProfileNames(root string) *profileNames {
	return &profileNames{
		names: newNames(root), resolver: symbol.New(root, symbol.Options{}), learned: map[uint32]bool{},
		modules: sync.OnceValue(func() kernel.Modules { return kernel.ReadModules(root) }),
	}
}

// meet learns of a process while it lives.
func (n *profileNames) meet(p *event.Process) {
	switch p.Event {
	case event.ProcessForked:
		n.resolver.Forked(p.Parent, p.PID, p.At)
		return
	case event.ProcessExecuted:
		n.resolver.Executed(p.PID, p.At)
		if !n.follows {
			return
		}
	}
	if err := n.resolver.Learn(p.PID, monotonic()); errors.Is(err, os.ErrNotExist) {
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
	frames := n.userFrames(pid, at, addresses)
	if !slices.ContainsFunc(frames, func(f symbol.Frame) bool { return f.Kind == symbol.Unknown }) || n.learned[pid] {
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
