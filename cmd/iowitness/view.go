// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"os"

	"github.com/iowitness/iowitness/snapshot"
	"github.com/iowitness/iowitness/view/json"
	"github.com/iowitness/iowitness/view/text"
)

// view is where intervals go.
type view interface {
	live() bool // shows each interval
	interval(iv *snapshot.Interval, names snapshot.Names) error
	end(sums *snapshot.Accumulator, names snapshot.Names) error
	command(sums *snapshot.Accumulator, names snapshot.Names, usage *snapshot.Usage) error
}

const reportRows = 20

// idle is said when there was nothing to see, so that a first look is none in vain.
const idle = "the machine is idle, or all its data is in memory; to see something: " +
	"iowitness -- dd if=/dev/zero of=/var/tmp/iowitness.tmp bs=64k count=200 oflag=dsync"

// newView chooses: JSON, the live table on a terminal, a table of each interval where one is asked for, or one report.
func (c *watchCmd) newView(out *os.File) (view, error) {
	base := output{out: out, options: c.snapshotOptions()}
	if c.Json {
		return &jsonView{base, c.For == 0 || c.Interval > 0}, nil
	}
	terminal := text.Inspect(out, os.Getenv)
	o := text.Options{Columns: c.Columns, Histogram: c.Histogram, Stacks: c.Stacks}
	if _, err := snapshot.Columns(base.options.By, c.Columns); err != nil {
		return nil, err
	}
	asked := len(c.by)+len(c.Columns) > 0 || c.Histogram || c.Stacks || c.Top != nil
	report := reportView{base, terminal.Apply(o), asked}
	switch {
	case c.command != nil, c.For > 0 && c.Interval == 0:
		return &report, nil
	case terminal.IsTerminal:
		return &liveView{report, text.NewLive(out, terminal, o)}, nil
	case c.Interval > 0:
		return &eachView{report}, nil
	}
	return &report, nil
}

func (c *watchCmd) snapshotOptions() snapshot.Options {
	o := snapshot.Options{By: c.by, Top: rowsOf(c.Top, c.Json), Min: c.Min, Causes: c.causes, Users: c.User}
	if c.Stacks {
		o.Stacks = 3
	}
	return o
}

type output struct {
	out     *os.File
	options snapshot.Options
}

// jsonView writes a document for each interval, or one for all.
type jsonView struct {
	output
	lines bool
}

func (v *jsonView) live() bool { return v.lines }

func (v *jsonView) interval(iv *snapshot.Interval, names snapshot.Names) error {
	if !v.lines {
		return nil
	}
	return json.Write(v.out, snapshot.Build(iv, names, v.options), json.Options{})
}

func (v *jsonView) end(sums *snapshot.Accumulator, names snapshot.Names) error {
	if v.lines {
		return nil
	}
	return json.Write(v.out, sums.Build(names, v.options), json.Options{})
}

func (v *jsonView) command(sums *snapshot.Accumulator, names snapshot.Names, usage *snapshot.Usage) error {
	return json.Write(v.out, sums.Build(names, v.options), json.Options{Command: usage})
}

// reportView writes one report at the end.
type reportView struct {
	output
	text  text.Options
	asked bool // by flags, for a table: around a command it comes beside the summary
}

func (v *reportView) live() bool { return false }

func (v *reportView) interval(*snapshot.Interval, snapshot.Names) error { return nil }

func (v *reportView) end(sums *snapshot.Accumulator, names snapshot.Names) error {
	s := sums.Build(names, v.options)
	if len(s.Rows) == 0 && s.Scope == "" && !s.Filtered {
		s.Notes = append(s.Notes, idle)
	}
	return text.Write(v.out, s, v.text)
}

func (v *reportView) command(sums *snapshot.Accumulator, names snapshot.Names, usage *snapshot.Usage) error {
	o := v.options
	o.Splits = true
	s := sums.Build(names, o)
	if err := text.Command(v.out, s, usage, v.text); err != nil || !v.asked {
		return err
	}
	if err := blankLine(v.out); err != nil {
		return err
	}
	return text.Write(v.out, s, v.text)
}

// eachView writes a table of each interval below the last, and ends with a report.
type eachView struct{ reportView }

func (v *eachView) live() bool { return true }

func (v *eachView) interval(iv *snapshot.Interval, names snapshot.Names) error {
	if err := text.Write(v.out, snapshot.Build(iv, names, v.options), v.text); err != nil {
		return err
	}
	return blankLine(v.out)
}

// blankLine parts what follows from what came before.
func blankLine(out *os.File) error {
	_, err := io.WriteString(out, "\n")
	return err
}

// liveView paints each interval over the last, and ends with a report.
type liveView struct {
	reportView
	painter *text.Live
}

func (v *liveView) live() bool { return true }

func (v *liveView) interval(iv *snapshot.Interval, names snapshot.Names) error {
	return v.painter.Paint(snapshot.Build(iv, names, v.options))
}

func (v *liveView) end(sums *snapshot.Accumulator, names snapshot.Names) error {
	if err := blankLine(v.out); err != nil {
		return err
	}
	return v.reportView.end(sums, names)
}
