// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/iowitness/iowitness/failure"
	"github.com/iowitness/iowitness/kernel"
	"github.com/iowitness/iowitness/probe"
	"github.com/iowitness/iowitness/view/json"
	"github.com/iowitness/iowitness/view/text"
)

// errorsSession is one run of the witness of failures.
type errorsSession struct {
	flags   *errorsCmd
	facts   kernel.Facts
	witness *probe.Calls
	names   *errorsNames
	collect failure.Collector
	system  *system
	guard   *sideGuard
	opened  time.Time
	attach  time.Duration
	notes   []string
}

func (r *errorsSession) open(find *probe.CallTargets, targets []*probe.CallTarget, end *ending) (err error) {
	c := r.flags
	o := probe.CallOptions{
		Errors: true, Within: c.Attach, Budget: c.MaxRate, PIDs: c.Pid, Comm: c.Comm, Follow: c.command != nil,
		Silence: defaultSilent, Via: c.via, Cancelled: end.asked.Load, RingBytes: c.Buffer << 10,
	}
	if o.Cgroup, err = findCgroup("/", c.Cgroup); err != nil {
		return err
	}
	began := time.Now()
	if r.witness, err = probe.OpenCalls(find, targets, o); err != nil {
		return err
	}
	r.attach = time.Since(began)
	// Only now: the probes have symbols too, which tell their frames from others.
	r.names = &errorsNames{witness: r.witness}
	if r.names.symbols, err = kernel.LoadSymbols("/"); err != nil {
		r.notes = append(r.notes, "callers are not told: "+err.Error())
	}
	r.collect.Names = r.names
	return nil
}

func (r *errorsSession) interrupt() { r.witness.Interrupt() }

func (r *errorsSession) close() error {
	if r.guard != nil {
		r.guard.meter.close()
	}
	return r.witness.Close()
}

// watch opens the gate, takes what comes, and tells it at the end.
func (r *errorsSession) watch(s *streams, end *ending) error {
	r.opened, r.system = time.Now(), newSystem("/")
	r.guard = newErrorsGuard(r.witness, r.flags.MaxCost, r.facts.BPFStats == kernel.On)
	defer end.after(r.flags.For, r.flags.MaxTime)()
	if err := r.witness.Start(); err != nil {
		return err
	}
	ended := func() error { return nil }
	if r.flags.command != nil {
		ended = r.startCommand(s, end)
	} else if text.Inspect(s.err, os.Getenv).IsTerminal {
		fmt.Fprintf(s.err, "iowitness: witnessing what fails, %d functions by %s; Ctrl-C ends it\n", r.functions(), r.witness.Means())
	}
	for !end.reached() && !r.guard.stopped {
		if err := r.second(end); err != nil {
			return errors.Join(err, ended())
		}
	}
	r.notes = append(r.notes, end.ranLonger()...)
	if err := errors.Join(r.witness.Pause(), r.witness.Drain(time.Unix(1, 0), r.collect.Add)); err != nil {
		return errors.Join(err, ended())
	}
	err := end.tell(r.tell)
	if r.guard.stopped {
		err = errors.Join(err, errTooCostly)
	}
	return errors.Join(err, ended())
}

// startCommand runs the command, and ends with it. One that cannot be run has failed by a
// system call, which is what is asked for: it is told too.
func (r *errorsSession) startCommand(s *streams, end *ending) (ended func() error) {
	c, err := startChild(r.witness, r.flags.command, *s, end)
	if err != nil {
		end.ask(nil)
		return func() error { return err }
	}
	return c.ends(end)
}

func (r *errorsSession) second(end *ending) error {
	for until := end.by(guardEvery); !end.reached() && time.Now().Before(until); {
		step := time.Now().Add(100 * time.Millisecond)
		if until.Before(step) {
			step = until
		}
		if err := r.witness.Drain(step, r.collect.Add); err != nil {
			return err
		}
	}
	if err := r.witness.NextEpoch(); err != nil {
		return err
	}
	return r.guard.tick()
}

func (r *errorsSession) functions() (n int) {
	for _, t := range r.witness.Targets() {
		if t != nil {
			n++
		}
	}
	return n
}

func (r *errorsSession) tell(out *os.File) error {
	report, err := r.report()
	if err != nil {
		return err
	}
	if r.flags.Json {
		return json.WriteFailures(out, report)
	}
	terminal := text.Inspect(out, os.Getenv)
	return text.Failures(out, report, terminal.Apply(text.Options{}))
}

func (r *errorsSession) report() (*failure.Report, error) {
	sums, err := r.witness.Failures()
	if err != nil {
		return nil, err
	}
	report := r.collect.Report(sums)
	losses, err := r.witness.Losses()
	if err != nil {
		return nil, err
	}
	report.Lost = lossesTold{}.since(losses)
	report.Version, report.Kernel, report.Means = version(), r.facts.Release, string(r.witness.Means())
	report.Scope, report.Start, report.End = r.scope(), r.opened, time.Now()
	report.Functions, report.Attach = r.functions(), r.attach
	_, report.Cost = r.system.interval(report.End.Sub(report.Start))
	r.guard.meter.tell(&report.Cost)
	report.Notes = append(append(append(report.Notes, r.witness.Notes()...), r.guard.said...), r.notes...)
	return report, nil
}

func (r *errorsSession) scope() string {
	c := r.flags
	return strings.Join(whose(c.Pid, c.Comm, c.Cgroup, c.command != nil), ", ")
}
