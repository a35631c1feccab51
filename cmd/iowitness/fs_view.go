// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"os"

	"github.com/iowitness/iowitness/filesystem"
	"github.com/iowitness/iowitness/view/json"
	"github.com/iowitness/iowitness/view/text"
)

// fsView is where reports on file systems go.
type fsView struct {
	each bool // shows each interval
	show func(*filesystem.Report) error
	end  func(*filesystem.Report) error
}

// newView chooses: JSON, the live table on a terminal, or one report.
func (c *fsCmd) newView(out *os.File) fsView {
	if c.Json {
		write := func(r *filesystem.Report) error { return json.WriteFilesystem(out, r) }
		if c.For == 0 || c.Interval > 0 {
			return fsView{true, write, func(*filesystem.Report) error { return nil }}
		}
		return fsView{end: write}
	}
	terminal := text.Inspect(out, os.Getenv)
	report := func(r *filesystem.Report) error { return text.Filesystem(out, r, terminal.Apply(text.Options{})) }
	switch {
	case c.For > 0 && c.Interval == 0, !terminal.IsTerminal && c.Interval == 0:
		return fsView{end: report}
	case !terminal.IsTerminal:
		return fsView{true, func(r *filesystem.Report) error { return errors.Join(report(r), blankLine(out)) }, report}
	}
	live := text.NewLive(out, terminal, text.Options{})
	return fsView{true, live.PaintFilesystem, func(r *filesystem.Report) error { return errors.Join(blankLine(out), report(r)) }}
}
