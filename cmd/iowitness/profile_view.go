// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/iowitness/iowitness/probe"
	"github.com/iowitness/iowitness/profile"
	"github.com/iowitness/iowitness/scheduling"
	"github.com/iowitness/iowitness/view/flame"
	"github.com/iowitness/iowitness/view/folded"
	"github.com/iowitness/iowitness/view/json"
	"github.com/iowitness/iowitness/view/pprof"
	"github.com/iowitness/iowitness/view/text"
)

// profileView is where reports go.
type profileView struct {
	each    bool // shows each interval
	options scheduling.Options
	show    func(*scheduling.Report) error
	end     func(*scheduling.Report) error
}

const callersShown = 3

// describe prints what describes the documents, if that is asked for.
func (f *profileFlags) describe(s *streams, kind probe.ProfileKind) (done bool, err error) {
	switch {
	case f.Schema:
		return true, writeTo(f.Output, s, func(w io.Writer) error { return json.WriteSchedulingSchema(w, profileKinds[kind]) })
	case f.Markdown:
		return true, writeTo(f.Output, s, func(w io.Writer) error { return scheduling.WriteReference(w, profileKinds[kind]) })
	}
	return false, nil
}

// newView chooses: JSON, folded stacks, the live view on a terminal, or one report.
func (f *profileFlags) newView(out *os.File, s *profileSession) profileView {
	v := profileView{options: scheduling.Options{Top: rowsOf(f.Top, f.Json), Callers: callersShown}, show: func(*scheduling.Report) error { return nil }}
	terminal := text.Inspect(out, os.Getenv)
	report := func(r *scheduling.Report) error { return text.Scheduling(out, r, terminal.Apply(text.Options{})) }
	live := f.command == nil && (f.For == 0 || f.Interval > 0)
	switch {
	case f.Json:
		write := func(r *scheduling.Report) error { return json.WriteScheduling(out, r) }
		v.each = live
		if v.show = write; !v.each {
			v.end = write
		}
	case f.Folded:
		v.end = func(r *scheduling.Report) error {
			return errors.Join(folded.Write(out, r.Profile, folded.Options{Time: s.kind != probe.ProfileCPU}), text.SchedulingFoot(s.aside, r))
		}
	case live && terminal.IsTerminal:
		painter := text.NewLive(out, terminal, text.Options{})
		v.each, v.show = true, painter.PaintScheduling
		v.end = func(r *scheduling.Report) error { return errors.Join(blankLine(out), report(r)) }
	case live && f.Interval > 0:
		v.each, v.end = true, report
		v.show = func(r *scheduling.Report) error { return errors.Join(report(r), blankLine(out)) }
	default:
		v.end = report
	}
	return v
}

// finish shows the report of the whole run, and writes the files that were asked for: each, whatever becomes of the others.
func (f *profileFlags) finish(s *profileSession, end *ending, r *scheduling.Report) error {
	failed := end.tell(func(out *os.File) error {
		if v := f.newView(out, s); v.end != nil {
			return v.end(r)
		}
		return nil
	})
	title := "iowitness " + string(r.Kind)
	if r.Scope != "" {
		title += ": " + r.Scope
	}
	if f.Flame != "" {
		write := flame.WriteHTML
		if filepath.Ext(f.Flame) == ".svg" {
			write = flame.WriteSVG
		}
		failed = errors.Join(failed, writeFile(f.Flame, func(w *os.File) error {
			return write(w, r.Profile, flame.Options{Title: title, Count: r.Kind == profile.CPU})
		}))
	}
	if f.Pprof != "" {
		failed = errors.Join(failed, writeFile(f.Pprof, func(w *os.File) error { return pprof.Write(w, r.Profile) }))
	}
	return failed
}

// watch closes interval after interval, shows each in the live view, and all together at the end.
func (f *profileFlags) watch(s *profileSession, v profileView, end *ending) error {
	defer end.after(f.For, f.MaxTime)()
	if err := s.start(); err != nil {
		return err
	}
	all := s.accumulator()
	var failed error
	begin := s.opened
	for !end.reached() && !s.guard.stopped {
		for until := end.by(intervalOf(f.Interval)); !end.reached() && !s.guard.stopped && time.Now().Before(until); {
			if err := s.gather(until); err != nil {
				return err
			}
		}
		one := s.accumulator()
		start := begin
		var err error
		if !v.each {
			begin, err = s.interval(start, all)
		} else {
			begin, err = s.interval(start, all, one)
		}
		if err != nil {
			return err
		}
		if !v.each {
			continue
		}
		r, err := s.report(one, start, begin, false, v.options)
		if err != nil {
			return err
		}
		if failed = reporting(v.show(r)); failed != nil {
			break
		}
	}
	r, err := s.report(all, s.opened, begin, true, v.options)
	if err != nil {
		return err
	}
	err = errors.Join(failed, f.finish(s, end, r))
	if s.guard.stopped {
		err = errors.Join(err, errTooCostly)
	}
	return err
}

// follow profiles a command from its start to its end, and then reports.
func (f *profileFlags) follow(io *streams, s *profileSession, v profileView, end *ending) error {
	if err := s.start(); err != nil {
		return err
	}
	child, err := startChild(s.profile, f.command, *io, end)
	if err != nil {
		return err
	}
	s.runs(child)
	defer end.after(f.For, f.MaxTime)()
	var ended atomic.Bool
	go child.wait(func() {
		ended.Store(true)
		s.profile.Interrupt()
	})
	all := s.accumulator()
	begin := child.started
	for last := false; !last; {
		for until := time.Now().Add(intervalOf(f.Interval)); !ended.Load() && time.Now().Before(until); {
			if err := s.gather(until); err != nil {
				return child.outlive(err)
			}
			if words := end.ranLonger(); words != nil && !s.guard.stopped {
				if err := s.guard.stop(words[0]); err != nil {
					return child.outlive(err)
				}
			}
		}
		last = ended.Load()
		if begin, err = s.interval(begin, all); err != nil {
			return child.outlive(err)
		}
	}
	<-child.ended
	r, err := s.report(all, child.started, begin, true, v.options)
	if err == nil {
		r.Command = &child.usage
		err = f.finish(s, end, r)
	}
	return child.outlive(err)
}
