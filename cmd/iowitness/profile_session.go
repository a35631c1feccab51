// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/kernel"
	"github.com/iowitness/iowitness/probe"
	"github.com/iowitness/iowitness/profile"
	"github.com/iowitness/iowitness/scheduling"
	"github.com/iowitness/iowitness/snapshot"
)

// profileSession is one run of a profiler.
type profileSession struct {
	kind    probe.ProfileKind
	profile *probe.Profile
	names   *profileNames
	system  *system
	guard   *sideGuard
	maxCost float64
	opened  time.Time
	begun   uint64 // the same by CLOCK_MONOTONIC
	losses  lossesTold
	scope   string
	notes   []string
	aside   io.Writer // for what has no place in the output

	long []*event.RunQWait // of the interval
	cost snapshot.Cost     // of the interval
	all  snapshot.Cost     // since the start
}

func openProfile(kind probe.ProfileKind, o probe.ProfileOptions, maxCost float64) (*profileSession, error) {
	s := &profileSession{kind: kind, names: newProfileNames("/"), losses: lossesTold{}, maxCost: maxCost}
	s.names.follows = o.Follow
	go s.names.symbols()
	var err error
	if s.profile, err = probe.OpenProfile(kind, o); err == nil {
		s.names.number = s.profile.Number
	}
	return s, err
}

// start opens the gate.
func (s *profileSession) start() error {
	s.system = newSystem("/")
	s.guard = newProfileGuard(s.profile, s.maxCost, s.names.facts.BPFStats == kernel.On)
	s.guard.meter.calm = true // what is mapped by all processes is read at first
	s.opened, s.begun = time.Now(), monotonic()
	return s.profile.Start()
}

func monotonic() uint64 {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now)
	return uint64(now.Nano())
}

func (s *profileSession) interrupt() { s.profile.Interrupt() }

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

// runs says which command is profiled.
func (s *profileSession) runs(c *child) {
	own, _ := os.ReadFile("/proc/self/comm")
	s.names.command = commandName{pid: uint32(c.cmd.Process.Pid), comm: c.comm(), before: strings.TrimSuffix(string(own), "\n")}
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
	s.names.renamed(iv)
	for _, w := range s.long {
		w.Comm = s.names.nameOf(w.PID, w.Comm)
	}
	for _, a := range to {
		a.Add(iv)
		for _, w := range s.long {
			a.AddLong(w)
		}
	}
	s.long = nil
	s.names.processes.Age()
	_, s.cost = s.system.interval(end.Sub(start))
	s.guard.meter.tell(&s.cost)
	s.all.Add(s.cost)
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
		probe.Loss{ID: "symbol_ended", Title: "processes that ended before their mappings could be read", Count: s.names.ended},
		probe.Loss{ID: "unnumbered", Title: "processes outside of this pid namespace: they have no number here, and their functions no names", Count: s.names.unnumbered})
	if first {
		return lossesTold{}.since(now), nil
	}
	return s.losses.since(now), nil
}

var profileKinds = map[probe.ProfileKind]profile.Kind{
	probe.ProfileCPU: profile.CPU, probe.ProfileOffCPU: profile.OffCPU, probe.ProfileRunQ: profile.RunQ,
}

// report is what was added up, with all that is not of single intervals. whole: of all of the run.
func (s *profileSession) report(a *scheduling.Accumulator, start, end time.Time, whole bool, o scheduling.Options) (*scheduling.Report, error) {
	r := a.Build(profileKinds[s.kind], start, end, s.profile.Period(), o)
	facts := s.profile.Facts()
	r.Version, r.Kernel, r.Means, r.Scope, r.Cost = version(), s.names.facts.Release, string(facts.Means), s.scope, s.cost
	if whole {
		r.Cost = s.all
	}
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
		case "prof_threads", "prof_sums", "no_wake", "no_end", "clock", "samples_late":
			l.Samples += n.Count
			l.Time += time.Duration(n.NS)
		case "prof_kernel", "prof_room", "prof_collision", "prof_shed", "stack_gone":
			l.KernelStacks += n.Count
		case "prof_user":
			l.UserStacks += n.Count
		case "symbol_ambiguous", "symbol_ended":
			l.Frames += n.Count
		}
	}
	return l
}
