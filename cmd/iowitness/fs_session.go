// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"
	"time"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/filesystem"
	"github.com/iowitness/iowitness/kernel"
	"github.com/iowitness/iowitness/probe"
	"github.com/iowitness/iowitness/snapshot"
)

// fsSession is one run of the witness of file systems.
type fsSession struct {
	fs      *probe.FS
	names   *names
	mounts  *fsMounts
	mounted []filesystem.Mounted // by last look
	files   *filesystem.Files
	system  *system
	guard   *sideGuard
	maxCost float64
	opened  time.Time
	losses  lossesTold
	scope   string
	options filesystem.Options
}

func (c *fsCmd) openSession(mounts *fsMounts) (*fsSession, error) {
	s := &fsSession{
		names: newNames("/"), mounts: mounts, files: filesystem.NewFiles(), losses: lossesTold{},
		maxCost: c.MaxCost, scope: c.scope(), options: c.reportOptions(),
	}
	go s.names.symbols()
	var err error
	if s.mounted, err = mounts.now(s.names); err != nil {
		return nil, err
	}
	s.fs, err = probe.OpenFS(probe.FSOptions{
		Devs: mounts.devs(), PIDs: c.Pid, Comm: c.Comm, Silence: defaultSilent, BTF: c.Btf, Via: c.via,
	})
	return s, err
}

func (c *fsCmd) scope() string {
	return strings.Join(append(slices.Clone(c.Paths), whose(c.Pid, c.Comm, "", false)...), ", ")
}

func (c *fsCmd) reportOptions() filesystem.Options {
	return filesystem.Options{Top: rowsOf(c.Top, c.Json), Compare: c.Compare}
}

func (s *fsSession) start() error {
	s.opened = time.Now()
	s.system = newSystem("/")
	s.guard = newFSGuard(s.fs, s.maxCost, s.names.facts.BPFStats == kernel.On)
	return s.fs.Start()
}

func (s *fsSession) interrupt() { s.fs.Interrupt() }

func (s *fsSession) close() error {
	if s.guard != nil {
		s.guard.meter.close()
	}
	return s.fs.Close()
}

// take sorts a record to where it belongs.
func (s *fsSession) take(record any) {
	switch r := record.(type) {
	case *event.File:
		s.files.Learn(r)
	case *event.Identity:
		s.names.processes.Learn(*r)
	}
}

// gather takes records until the deadline, or until interrupted.
func (s *fsSession) gather(deadline time.Time) error {
	until := time.Now().Add(guardEvery)
	if deadline.Before(until) {
		until = deadline
	}
	if err := s.fs.Drain(until, s.take); err != nil {
		return err
	}
	return s.guard.tick()
}

// interval closes an interval that began at start.
func (s *fsSession) interval(start time.Time) (*filesystem.Interval, error) {
	counted, err := s.fs.Interval()
	if err != nil {
		return nil, err
	}
	if err := s.fs.Drain(time.Unix(1, 0), s.take); err != nil {
		return nil, err
	}
	iv := &filesystem.Interval{Start: start, End: time.Now(), Counted: counted}
	if iv.Lost, err = s.lost(); err != nil {
		return nil, err
	}
	if s.mounted, err = s.mounts.now(s.names); err != nil {
		return nil, err
	}
	s.names.processes.Age()
	_, iv.Cost = s.system.interval(iv.End.Sub(start))
	s.guard.meter.tell(&iv.Cost)
	return iv, nil
}

// lost is what went missing since the last interval.
func (s *fsSession) lost() ([]snapshot.Loss, error) {
	now, err := s.fs.Losses()
	if err != nil {
		return nil, err
	}
	return s.losses.since(now), nil
}

// report is what was added up, with all that is not of single intervals.
func (s *fsSession) report(sums *filesystem.Accumulator) *filesystem.Report {
	o := s.options
	o.Mounts, o.Files, o.Asked = s.mounted, s.files, 0
	for _, m := range s.mounted {
		if slices.Contains(s.mounts.devs(), m.Dev) {
			o.Asked++
		}
	}
	r := sums.Build(o)
	facts := s.fs.Facts()
	r.Version, r.Kernel, r.Means, r.Scope = version(), s.names.facts.Release, string(facts.Means), s.scope
	r.Notes = slices.Concat(s.names.notes(), facts.Notes, s.guard.said, r.Notes)
	return r
}
