// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/iowitness/iowitness/blame"
	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/kernel"
	"github.com/iowitness/iowitness/probe"
	"github.com/iowitness/iowitness/snapshot"
)

// session is one run of the witness: it turns what the kernel side tells into intervals.
type session struct {
	witness probe.Witness
	ledger  *blame.Ledger
	names   *names
	system  *system
	guard   *guard
	bounds  guardOptions
	options probe.Options
	scope   string
	opened  time.Time
	losses  lossesTold // at the end of the last interval

	extraNotes []string
	meansNote  string // why no better means is used; empty: none was asked for
}

// openSession loads and attaches; the names of kernel functions are read meanwhile.
func openSession(o probe.Options, scope string) (*session, error) {
	s := &session{names: newNames("/"), options: o, scope: scope, losses: lossesTold{}}
	if o.Via != probe.Taskstats {
		go s.names.symbols()
	}
	var err error
	if s.witness, err = probe.Open(o); err != nil {
		return nil, err
	}
	if s.witness.Facts().Means == probe.Taskstats {
		s.coarse()
		return s, nil
	}
	if symbols, err := s.names.symbols(); err == nil {
		if err := s.witness.SetAddresses(symbols.Address); err != nil {
			s.close()
			return nil, err
		}
	}
	return s, nil
}

// coarse gets ready for a means that tells functions by their names, and processes by the pids of /proc.
func (s *session) coarse() {
	s.names.named = true
	s.names.processes.TrustPIDs()
	if refused := s.witness.Facts().Refused; len(refused) > 0 {
		s.meansNote = coarseReason(refused)
	}
}

// start opens the gate.
func (s *session) start() error {
	s.opened = time.Now()
	s.system = newSystem("/")
	s.guard = newGuard(s, s.bounds, s.names.facts.BPFStats == kernel.On)
	if err := s.guard.begin(); err != nil {
		return err
	}
	var started []*event.Tally
	if err := s.witness.Start(func(t *event.Tally) { started = append(started, t) }); err != nil {
		return err
	}
	opened, err := s.witness.Clock()
	if err != nil {
		return err
	}
	s.ledger = blame.NewLedger(s.names, opened, uint64(s.witness.Options().Slow))
	s.ledger.Estimates = s.witness.Facts().Estimated
	for _, t := range started {
		s.ledger.InProgress(t)
	}
	return nil
}

func (s *session) interrupt() { s.witness.Interrupt() }

func (s *session) close() error {
	if s.guard != nil {
		s.guard.meter.close()
	}
	return s.witness.Close()
}

// take sorts a record to where it belongs.
func (s *session) take(record any) {
	switch r := record.(type) {
	case *event.Wait:
		s.ledger.Wait(r)
	case *event.Tally:
		s.ledger.Tally(r)
	case *event.Identity:
		s.names.processes.Learn(*r)
	}
}

// gather takes records until the deadline, or until interrupted.
func (s *session) gather(deadline time.Time) error {
	until := time.Now().Add(guardEvery)
	if deadline.Before(until) {
		until = deadline
	}
	if err := s.witness.Drain(until, s.take); err != nil {
		return err
	}
	return s.guard.tick()
}

// interval closes an interval that began at start.
func (s *session) interval(start time.Time) (*snapshot.Interval, error) {
	epoch, err := s.witness.NextEpoch()
	if err != nil {
		return nil, err
	}
	if err := s.witness.Walk(s.ledger.Tally); err != nil {
		return nil, err
	}
	if err := s.witness.Drain(time.Unix(1, 0), s.take); err != nil {
		return nil, err
	}
	end := time.Now()
	lost, err := s.lost()
	if err != nil {
		return nil, err
	}
	threads := s.ledger.Close(epoch)
	s.names.meet(threads)
	facts := s.witness.Facts()
	iv := &snapshot.Interval{
		Version: version(), Kernel: s.names.facts.Release, Means: s.means(),
		Estimated: facts.Estimated, RunQueueUnknown: facts.RunQueueUnknown, Joins: facts.Joins,
		Start: start, End: end, Threads: threads,
		Lost: lost, Notes: s.notes(), Scope: s.scope,
		SlowNS: uint64(s.witness.Options().Slow), SampleEvery: uint64(s.witness.Options().SampleEvery),
	}
	iv.Wall, iv.Coverage = s.guard.coverage(end.Sub(start))
	iv.System, iv.Cost = s.system.interval(end.Sub(start))
	s.guard.meter.tell(&iv.Cost)
	return iv, nil
}

// lost is what went missing since the last interval.
func (s *session) lost() ([]snapshot.Loss, error) {
	now, err := s.witness.Losses()
	if err != nil {
		return nil, err
	}
	lost := s.losses.since(now)
	for _, l := range lost {
		if l.ID == probe.LossExit && l.Count > 0 {
			s.ledger.Retain(alive)
		}
	}
	return lost, nil
}

func alive(tid uint32) bool { return unix.Kill(int(tid), 0) != unix.ESRCH }

func (s *session) means() map[string]string {
	facts := s.witness.Facts()
	return map[string]string{"wait": string(facts.Means), "state": facts.State, "clock": facts.Clock}
}

func (s *session) notes() []string {
	var means []string
	if s.meansNote != "" {
		means = append(means, s.meansNote)
	}
	return slices.Concat(means, s.names.notes(), s.witness.Facts().Notes, s.guard.said, s.extraNotes)
}
