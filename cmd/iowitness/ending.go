// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"time"

	"github.com/iowitness/iowitness/cmd/iowitness/signals"
	"github.com/iowitness/iowitness/view/text"
)

// ending says when to stop: at a deadline, by a signal, or when nobody reads any more.
type ending struct {
	deadline time.Time // zero: none
	runs     bool      // a command, whose end is that of the run
	asked    atomic.Bool
	signals  chan os.Signal
	out      *os.File // where the report goes
	spare    *os.File // where it goes if out takes it not; nil: nowhere

	mu        sync.Mutex
	signal    os.Signal // that asked; nil: nobody reads any more, or a command has ended
	interrupt func()    // of what is waited for meanwhile; nil: nothing yet
}

// newEnding listens for signals, from before anything is opened. A second
// signal ends the program at once: the kernel then detaches everything.
// Around a command the run goes on for as long as the command, whoever reads.
func newEnding(out *os.File, runs bool) *ending {
	e := &ending{runs: runs, signals: make(chan os.Signal, 1)}
	signals.Take(e.signals)
	go func() {
		if sig, ok := <-e.signals; ok {
			signals.Leave()
			e.ask(sig)
		}
	}()
	if !runs {
		go watchReader(out, func() { e.ask(nil) })
	}
	return e
}

// ask ends the run soon; sig is the signal that does so, if one does.
func (e *ending) ask(sig os.Signal) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.asked.Load() {
		e.signal = sig
	}
	e.asked.Store(true)
	if e.interrupt != nil {
		e.interrupt()
	}
}

// call sets what is interrupted when the end is asked for, and does so at once if it has been.
func (e *ending) call(interrupt func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.interrupt = interrupt
	if e.asked.Load() {
		interrupt()
	}
}

// early is how a run ends that was asked to before it has begun: as if the signal had killed it, which is
// said, as nothing else is. Where nobody reads any more there is nobody to tell. It is never nil.
func (e *ending) early() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.signal == nil {
		return exitStatus(exitOK)
	}
	return endedEarly{e.signal}
}

// leave leaves signals to others: to a command, which decides itself when it ends.
func (e *ending) leave() { signal.Stop(e.signals) }

func (e *ending) close() {
	signal.Stop(e.signals)
	close(e.signals)
}

func (e *ending) reached() bool {
	return e.asked.Load() || !e.deadline.IsZero() && !time.Now().Before(e.deadline)
}

// after sets the deadline by --for and --max-time, of which 0 is none, and has a watchdog
// for the latter until it is stopped. A command is let run on, so that there is none.
func (e *ending) after(length, most time.Duration) (stop func()) {
	stop = func() {}
	if most > 0 {
		if !e.runs {
			dog := watchdog(most)
			stop = func() { dog() }
		}
		if length == 0 || most < length {
			length = most
		}
	}
	if length > 0 {
		e.deadline = time.Now().Add(length)
	}
	return stop
}

// ranLonger says that a command goes on after the time for which it is witnessed, if it does.
func (e *ending) ranLonger() []string {
	if !e.runs || e.asked.Load() || !e.reached() {
		return nil
	}
	return []string{"the command ran longer than --for or --max-time: detached, the rest of it is not told"}
}

// tell writes the report of the whole run. If its file takes it not, as on a full disk, it goes where it
// would have gone without one: what was gathered is not to be had again.
func (e *ending) tell(write func(*os.File) error) error {
	err := write(e.out)
	if err == nil || isClosedPipe(err) || e.spare == nil {
		return reporting(err)
	}
	return errors.Join(reporting(err), reporting(write(e.spare)))
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

// witnessing is a run that a signal may interrupt.
type witnessing interface {
	interrupt()
	close() error
}

// runSession opens where the report goes, then a run, and watches it to its end.
func runSession[W witnessing](s *streams, output string, runs bool, open func(*os.File, *ending) (W, error), watch func(W, *streams, *ending) error) error {
	out, err := openOutput(output, runs, s)
	if err != nil {
		return err
	}
	defer out.Close()
	end := newEnding(out, runs)
	defer end.close()
	end.out = out
	if output != "" {
		end.spare = s.out
		if runs {
			end.spare = s.err
		}
	}
	run, err := opened(end, func() (W, error) { return open(out, end) })
	if err != nil {
		return err
	}
	return errors.Join(watch(run, s, end), run.close())
}

// opened opens a run: its end can be asked for from the first instant on, and what comes of
// opening then is of no interest any more. What this process lacks to open it is told.
func opened[W witnessing](end *ending, open func() (W, error)) (run W, err error) {
	run, err = open()
	switch {
	case end.asked.Load() && err == nil:
		return run, errors.Join(end.early(), run.close())
	case end.asked.Load():
		return run, end.early()
	case err != nil:
		return run, explain(err)
	}
	end.call(run.interrupt)
	return run, nil
}
