// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/iowitness/iowitness/probe"
	"github.com/iowitness/iowitness/snapshot"
)

const (
	defaultInterval = time.Second
	firstInterval   = 100 * time.Millisecond // of the live view: something to see at once
)

// Run watches, or runs a command.
func (c *watchCmd) Run(s *streams) error {
	o, scope, notes, err := c.probeOptions()
	if err != nil {
		return err
	}
	out, err := c.openOutput(s)
	if err != nil {
		return err
	}
	defer out.Close()
	view, err := c.newView(out)
	if err != nil {
		return usageError{err}
	}
	if c.command != nil {
		return c.runCommand(s, o, notes, view)
	}
	session, err := openSession(o, scope)
	if err != nil {
		return err
	}
	session.extraNotes = notes
	session.names.wantCwd = slices.Contains(c.Columns, "cwd")
	err = c.watch(session, view)
	return errors.Join(err, session.close())
}

// openOutput is where the report goes: with a command, its own output stays its own.
func (c *watchCmd) openOutput(s *streams) (*os.File, error) {
	if c.Output != "" && c.Output != "-" {
		return os.Create(c.Output)
	}
	if c.command != nil && c.Output == "" {
		return dup(s.err)
	}
	return dup(s.out)
}

func dup(f *os.File) (*os.File, error) {
	fd, err := syscall.Dup(int(f.Fd()))
	if err != nil {
		return nil, err
	}
	syscall.CloseOnExec(fd)
	return os.NewFile(uintptr(fd), f.Name()), nil
}

// ending says when to stop: at a deadline, by a signal, or when nobody reads any more.
type ending struct {
	deadline time.Time // zero: none
	asked    atomic.Bool
	signals  chan os.Signal
}

// newEnding calls interrupt at a signal. A second signal ends the program at
// once: the kernel then detaches everything.
func newEnding(after time.Duration, out *os.File, interrupt func()) *ending {
	e := &ending{signals: make(chan os.Signal, 1)}
	if after > 0 {
		e.deadline = time.Now().Add(after)
	}
	stop := func() {
		e.asked.Store(true)
		interrupt()
	}
	signal.Notify(e.signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		if _, ok := <-e.signals; ok {
			signal.Reset(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
			stop()
		}
	}()
	go watchReader(out, stop)
	return e
}

func (e *ending) close() {
	signal.Stop(e.signals)
	close(e.signals)
}

func (e *ending) reached() bool {
	return e.asked.Load() || !e.deadline.IsZero() && !time.Now().Before(e.deadline)
}

// by is the end of an interval that begins now.
func (e *ending) by(length time.Duration) time.Time {
	t := time.Now().Add(length)
	if !e.deadline.IsZero() && e.deadline.Before(t) {
		return e.deadline
	}
	return t
}

// watch closes interval after interval, shows each in the live view, and all of
// them together at the end.
func (c *watchCmd) watch(s *session, view view) error {
	end := newEnding(c.For, view.file(), s.witness.Interrupt)
	defer end.close()
	if err := s.start(); err != nil {
		return err
	}
	length := c.interval()
	sums := snapshot.NewAccumulator(snapshot.DefaultLimits)
	next := length
	if view.live() && c.Interval == 0 {
		next = firstInterval
	}
	for begin := s.opened; !end.reached(); next = length {
		until := end.by(next)
		for !end.reached() && time.Now().Before(until) {
			if err := s.gather(until); err != nil {
				return err
			}
		}
		iv, err := s.interval(begin)
		if err != nil {
			return err
		}
		begin = iv.End
		sums.Add(iv)
		if err := view.interval(iv, s.names); err != nil {
			return fmt.Errorf("writing the report: %w", err)
		}
	}
	if err := view.end(sums, s.names); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}

func (c *watchCmd) interval() time.Duration {
	if c.Interval > 0 {
		return c.Interval
	}
	return defaultInterval
}

// runCommand follows a command from its start to its end, and then reports.
func (c *watchCmd) runCommand(io *streams, o probe.Options, notes []string, view view) error {
	if len(c.command) == 0 {
		return usageError{errors.New("no command after --")}
	}
	o.Follow = true
	// One command's waits are few: more of them can be told exactly.
	o.SampleFirst = 64
	if o.SampleEvery == 0 {
		o.SampleEvery = 16
	}
	s, err := openSession(o, fmt.Sprintf("the command %s and its children", c.command[0]))
	if err != nil {
		return err
	}
	s.extraNotes = notes
	s.names.wantCwd = slices.Contains(c.Columns, "cwd")
	usage, err := c.follow(s, io, view)
	if err := errors.Join(err, s.close()); err != nil {
		return err
	}
	return exitStatus(usage.ExitCode)
}

func (c *watchCmd) follow(s *session, io *streams, view view) (*snapshot.Usage, error) {
	if err := s.start(); err != nil {
		return nil, err
	}
	child, err := startChild(s, c.command, *io)
	if err != nil {
		return nil, err
	}
	var ended atomic.Bool
	go child.wait(func() {
		ended.Store(true)
		s.witness.Interrupt()
	})
	sums := snapshot.NewAccumulator(snapshot.DefaultLimits)
	for begin := child.started; ; {
		for until := time.Now().Add(c.interval()); !ended.Load() && time.Now().Before(until); {
			if err := s.gather(until); err != nil {
				return nil, child.outlive(err)
			}
		}
		last := ended.Load()
		iv, err := s.interval(begin)
		if err != nil {
			return nil, child.outlive(err)
		}
		begin = iv.End
		sums.Add(iv)
		if last {
			break
		}
	}
	<-child.ended
	if err := view.command(sums, s.names, &child.usage); err != nil && !isClosedPipe(err) {
		fmt.Fprintf(io.err, "iowitness: writing the report: %s\n", sentence(err))
	}
	return &child.usage, nil
}
