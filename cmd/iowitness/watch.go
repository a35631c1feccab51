// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/iowitness/iowitness/probe"
	"github.com/iowitness/iowitness/snapshot"
	"github.com/iowitness/iowitness/view/json"
)

const (
	defaultInterval = time.Second
	firstInterval   = 100 * time.Millisecond // of the live view: something to see at once
)

// Run watches, or runs a command.
func (c *watchCmd) Run(s *streams) error {
	if c.Schema {
		return writeTo(c.Output, s, json.WriteSchema)
	}
	o, scope, notes, err := c.probeOptions()
	if err != nil {
		return err
	}
	if c.command != nil {
		scope = c.followCommand(&o)
	}
	var view view
	return runSession(s, c.Output, c.command != nil, func(out *os.File, end *ending) (session *session, err error) {
		if view, err = c.newView(out); err != nil {
			return nil, usageError{err}
		}
		o.Cancelled = end.asked.Load
		if session, err = openSession(o, scope); err != nil {
			return nil, err
		}
		session.extraNotes = notes
		session.bounds = c.bounds()
		session.names.wantCwd = slices.Contains(c.Columns, "cwd")
		return session, nil
	}, func(session *session, s *streams, end *ending) error {
		if c.command != nil {
			return c.follow(session, s, end)
		}
		return c.watch(session, view, end, s.err)
	})
}

// followCommand has only a command witnessed, and gives that in words.
func (c *watchCmd) followCommand(o *probe.Options) (scope string) {
	o.Follow = true
	// One command's waits are few: more of them can be told exactly.
	o.SampleFirst = 64
	if o.SampleEvery == 0 {
		o.SampleEvery = 16
	}
	return fmt.Sprintf("the command %s and its children", c.command[0])
}

// watch closes interval after interval, shows each in the live view, and all of
// them together at the end.
func (c *watchCmd) watch(s *session, shown view, end *ending, messages *os.File) error {
	defer end.after(c.For, c.MaxTime)()
	if err := s.start(); err != nil {
		return err
	}
	if !shown.live() {
		end.announce(messages, "waits")
	}
	length := intervalOf(c.Interval)
	sums := snapshot.NewAccumulator(snapshot.DefaultLimits)
	next := length
	if shown.live() && c.Interval == 0 {
		next = firstInterval
	}
	if c.Duty.set() {
		next, length = c.Duty.on, c.Duty.on
	}
	var failed error
	for begin := s.opened; !end.reached() && !s.guard.stopped; next = length {
		cycle, until := time.Now().Add(c.Duty.every), end.by(next)
		for !end.reached() && !s.guard.stopped && time.Now().Before(until) {
			if err := s.gather(until); err != nil {
				return err
			}
		}
		if c.Duty.set() {
			if err := s.witness.Pause(); err != nil {
				return err
			}
		}
		iv, err := s.interval(begin)
		if err != nil {
			return err
		}
		begin = iv.End
		sums.Add(iv)
		if failed = reporting(shown.interval(iv, s.names)); failed != nil {
			break
		}
		if c.Duty.set() {
			if err := s.guard.rest(cycle, end.reached); err != nil {
				return err
			}
		}
	}
	err := errors.Join(failed, c.tell(end, func(v view) error { return v.end(sums, s.names) }))
	if s.guard.stopped {
		err = errors.Join(err, errTooCostly)
	}
	return err
}

// tell gives a report to a view of the file to which it goes.
func (c *watchCmd) tell(end *ending, report func(view) error) error {
	return end.tell(func(out *os.File) error {
		v, err := c.newView(out)
		if err != nil {
			return err
		}
		return report(v)
	})
}

func (c *watchCmd) bounds() guardOptions {
	return guardOptions{maxCost: c.MaxCost, ratio: c.Ratio}
}

// follow witnesses a command from its start to its end, and then reports.
func (c *watchCmd) follow(s *session, io *streams, end *ending) error {
	if err := s.start(); err != nil {
		return err
	}
	child, err := startChild(s.witness, c.command, *io, end)
	if err != nil {
		return err
	}
	defer end.after(c.For, c.MaxTime)()
	var ended atomic.Bool
	go child.wait(func() {
		ended.Store(true)
		s.witness.Interrupt()
	})
	sums := snapshot.NewAccumulator(snapshot.DefaultLimits)
	for begin := child.started; ; {
		for until := time.Now().Add(intervalOf(c.Interval)); !ended.Load() && time.Now().Before(until); {
			if err := s.gather(until); err != nil {
				return child.outlive(err)
			}
			if words := end.ranLonger(); words != nil && !s.guard.stopped {
				if err := s.guard.stop(words[0]); err != nil {
					return child.outlive(err)
				}
			}
		}
		last := ended.Load()
		iv, err := s.interval(begin)
		if err != nil {
			return child.outlive(err)
		}
		begin = iv.End
		sums.Add(iv)
		if last {
			break
		}
	}
	<-child.ended
	return child.outlive(c.tell(end, func(v view) error { return v.command(sums, s.names, &child.usage) }))
}
