// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/iowitness/iowitness/probe"
	"github.com/iowitness/iowitness/snapshot"
	"github.com/iowitness/iowitness/view/text"
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
	out, err := openOutput(c.Output, c.command != nil, s)
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
	end := newEnding(view.file())
	defer end.close()
	o.Cancelled = end.asked.Load
	session, err := openSession(o, scope)
	if end.asked.Load() && errors.Is(err, probe.ErrCancelled) {
		return end.early()
	}
	if err != nil {
		return err
	}
	end.call(session.witness.Interrupt)
	session.extraNotes = notes
	session.bounds = c.bounds()
	session.names.wantCwd = slices.Contains(c.Columns, "cwd")
	err = c.watch(session, view, end, s.err)
	return errors.Join(err, session.close())
}

// openOutput is where a report goes: to a file, or to standard output. With a command, its own
// output stays its own, and the report goes where messages do.
func openOutput(file string, runs bool, s *streams) (*os.File, error) {
	switch {
	case file != "" && file != "-":
		return os.Create(file)
	case runs && file == "":
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
	gone     atomic.Bool // nobody reads any more
	signals  chan os.Signal

	mu        sync.Mutex
	interrupt func() // of what is waited for meanwhile; nil: nothing yet
}

// newEnding listens for signals, from before anything is attached. A second
// signal ends the program at once: the kernel then detaches everything.
func newEnding(out *os.File) *ending {
	e := &ending{signals: make(chan os.Signal, 1)}
	stop := func() {
		e.asked.Store(true)
		e.call(nil)
	}
	signal.Notify(e.signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		if _, ok := <-e.signals; ok {
			signal.Reset(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
			stop()
		}
	}()
	go watchReader(out, func() {
		e.gone.Store(true)
		stop()
	})
	return e
}

// early is how a run ends that was asked to before it has begun.
func (e *ending) early() error {
	if e.gone.Load() {
		return nil
	}
	return exitStatus(exitSignal + int(syscall.SIGINT))
}

// call sets what is interrupted at a signal, and does so at once if there has been one; nil keeps it.
func (e *ending) call(interrupt func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if interrupt != nil {
		e.interrupt = interrupt
	}
	if e.interrupt != nil && e.asked.Load() {
		e.interrupt()
	}
}

func (e *ending) close() {
	signal.Stop(e.signals)
	close(e.signals)
}

func (e *ending) reached() bool {
	return e.asked.Load() || !e.deadline.IsZero() && !time.Now().Before(e.deadline)
}

// after sets the deadline by --for and --max-time, of which 0 is none, and has a watchdog
// for the latter until it is stopped.
func (e *ending) after(length, most time.Duration) (stop func()) {
	stop = func() {}
	if most > 0 {
		dog := watchdog(most)
		stop = func() { dog() }
		if length == 0 || most < length {
			length = most
		}
	}
	if length > 0 {
		e.deadline = time.Now().Add(length)
	}
	return stop
}

// announce says, where a person may see it, that something is watched of which nothing shows yet, and
// until when.
func (e *ending) announce(to *os.File, what string) {
	if !text.Inspect(to, os.Getenv).IsTerminal {
		return
	}
	until := ""
	if !e.deadline.IsZero() {
		until = " until " + e.deadline.Format("15:04:05")
	}
	fmt.Fprintf(to, "iowitness: watching %s%s; Ctrl-C ends it\n", what, until)
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
func (c *watchCmd) watch(s *session, view view, end *ending, messages *os.File) error {
	defer end.after(c.For.duration(), c.MaxTime)()
	if err := s.start(); err != nil {
		return err
	}
	if !view.live() {
		end.announce(messages, "waits")
	}
	length := c.interval()
	sums := snapshot.NewAccumulator(snapshot.DefaultLimits)
	next := length
	if view.live() && c.Interval == 0 {
		next = firstInterval
	}
	if c.duty.set() {
		next, length = c.duty.on, c.duty.on
	}
	for begin := s.opened; !end.reached() && !s.guard.stopped; next = length {
		cycle, until := time.Now().Add(c.duty.every), end.by(next)
		for !end.reached() && !s.guard.stopped && time.Now().Before(until) {
			if err := s.gather(until); err != nil {
				return err
			}
		}
		if c.duty.set() {
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
		if err := view.interval(iv, s.names); err != nil {
			return fmt.Errorf("writing the report: %w", err)
		}
		if c.duty.set() {
			if err := s.guard.rest(cycle, end.reached); err != nil {
				return err
			}
		}
	}
	if err := view.end(sums, s.names); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	if s.guard.stopped {
		return errTooCostly
	}
	return nil
}

// errTooCostly ends a run that its breaker has cut short: the report is out by then.
var errTooCostly = errors.New("detached before its time, as it cost more than --max-cost allows")

func (c *watchCmd) bounds() guardOptions {
	return guardOptions{maxCost: c.MaxCost, ratio: c.Ratio}
}

func (c *watchCmd) interval() time.Duration {
	if c.Interval > 0 {
		return c.Interval.duration()
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
	s.bounds = c.bounds()
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
	child, err := startChild(s.witness, c.command, *io)
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
			if c.MaxTime > 0 && time.Since(child.started) > c.MaxTime && !s.guard.stopped {
				if err := s.guard.stop(fmt.Sprintf("the command ran longer than --max-time (%v): detached, the rest of it is not told", c.MaxTime)); err != nil {
					return nil, child.outlive(err)
				}
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
