// SPDX-License-Identifier: Apache-2.0

package text

import (
	"fmt"
	"io"
	"strings"

	"github.com/iowitness/iowitness/failure"
	"github.com/iowitness/iowitness/snapshot"
)

// Failures shows a report on what failed.
func Failures(w io.Writer, r *failure.Report, o Options) error {
	return write(w, func(o *Options) ([]line, error) { return failuresReport(r, o), nil }, &o)
}

// mostOrigins bounds how many origins of a row are shown.
const mostOrigins = 3

func failuresReport(r *failure.Report, o *Options) []line {
	lines := wrapped(failuresTitle(r), o.Width, dim)
	lines = append(lines, line{})
	for i := range r.Deaths {
		lines = append(lines, wrapped(deathSentence(&r.Deaths[i]), o.Width, bold)...)
	}
	if r.MoreDeaths > 0 {
		lines = append(lines, wrapped(fmt.Sprintf("Of processes that a signal ended, %s more are not listed.", Count(r.MoreDeaths)), o.Width, bold)...)
	}
	lines = append(lines, wrapped(failedSentence(r), o.Width, bold)...)
	if len(r.Rows) > 0 {
		lines = append(append(lines, line{}), failureLines(r, o)...)
	}
	return append(append(lines, line{}), failuresFoot(r, o.Width)...)
}

func failuresTitle(r *failure.Report) string {
	parts := []string{strings.TrimSpace("iowitness errors " + quote(r.Version)), "Linux " + quote(r.Kernel)}
	parts = append(parts, fmt.Sprintf("%s to %s (%s)", r.Start.Format("15:04:05"), r.End.Format("15:04:05"), durationOf(r.End.Sub(r.Start))))
	if r.Functions > 0 {
		parts = append(parts, fmt.Sprintf("%s by %s, attached in %s", plural(uint64(r.Functions), "function"), r.Means, durationOf(r.Attach)))
	}
	if r.Scope != "" {
		parts = append(parts, "only "+quote(r.Scope))
	}
	return strings.Join(parts, dot)
}

func failuresFoot(r *failure.Report, width int) []line {
	lines := wrapped(lostLine(r.Lost), width, lostStyle(r.Lost))
	lines = append(lines, wrapped(costLine(&snapshot.Snapshot{Cost: r.Cost}), width, dim)...)
	for _, note := range r.Notes {
		lines = append(lines, wrapped("note: "+quote(note), width, dim)...)
	}
	return lines
}

func failedSentence(r *failure.Report) string {
	failed := r.Failed()
	if failed == 0 {
		return "No system call failed."
	}
	most := &r.Rows[0]
	s := fmt.Sprintf("%s failed", plural(failed, "system call"))
	if len(r.Rows) > 1 {
		s += fmt.Sprintf(", most often %s with %s (%s)", quote(most.Call), failure.ErrnoName(most.Errno), Count(most.Count))
	}
	if len(most.Origins) == 1 && len(r.Rows) == 1 && len(r.Deaths) == 0 {
		s += ": " + callSentence(&most.Origins[0].Example)
	}
	return s + "."
}

// deathSentence says who was ended, by whom, and which system call had failed.
func deathSentence(d *failure.Death) string {
	s := fmt.Sprintf("%s was ended by %s", processName(d.Comm, d.PID), d.Signal)
	if d.Sender == nil {
		return s + "; who sent it was not seen."
	}
	s += ", sent by " + senderWords(d)
	if d.During != nil {
		s += ": " + callSentence(d.During)
	}
	return s + "."
}

func senderWords(d *failure.Death) string {
	from := d.Sender
	functions := arrows(from.Functions)
	switch {
	case from.Kernel && from.IsFault:
		return fmt.Sprintf("the kernel for a fault at %#x (%s)", from.Address, from.Code)
	case !from.Kernel && from.PID == d.PID:
		return "itself (" + from.Code + ")"
	case !from.Kernel:
		return processName(from.Comm, from.PID) + " (" + from.Code + ")"
	case from.PID != d.PID:
		return withFunctions("the kernel while "+processName(from.Comm, from.PID)+" ran", functions)
	}
	return withFunctions("the kernel", functions)
}

func withFunctions(words, functions string) string {
	if functions == "" {
		return words
	}
	return words + " in " + functions
}

// callSentence says what a call failed with, and where that began.
func callSentence(c *failure.Call) string {
	return fmt.Sprintf("%s failed with %s", failedCallText(c), failure.ErrnoName(c.Errno)) + originWords(&c.Chain)
}

// originWords are how an error came about; "" where nothing is known of it.
func originWords(c *failure.Chain) string {
	var s string
	switch {
	case len(c.Steps) == 0:
		if s = "which no witnessed function returned"; len(c.Others) == 0 && len(c.Before) == 0 {
			return ""
		}
	case len(c.Steps) == 1 && len(c.Callers) == 0:
		s = "first returned by " + quote(c.Steps[0].Function)
	default:
		s = "first returned by " + arrows(travelled(c))
	}
	if len(c.Before) > 0 {
		first := c.Before[0]
		s += fmt.Sprintf("; directly before, %s within had returned %s", quote(first.Function), failure.ErrnoName(first.Errno))
	}
	if c.Cut > 0 {
		s += fmt.Sprintf(" (%s before were not kept)", plural(uint64(c.Cut), "return"))
	}
	return ", " + s
}

// travelled are the functions from the first to the system call: by the stack where it is known,
// else those that were seen to return the error.
func travelled(c *failure.Chain) []string {
	names := []string{c.Steps[0].Function}
	if len(c.Callers) > 0 {
		for _, f := range c.Callers {
			names = append(names, f.Function)
		}
		return names
	}
	for _, s := range c.Steps[1:] {
		names = append(names, s.Function)
	}
	return names
}

// arrows show callers, the innermost function first.
func arrows(functions []string) string {
	quoted := make([]string, len(functions))
	for i, f := range functions {
		quoted[i] = quote(f)
	}
	return strings.Join(quoted, " <- ")
}

// failedCallText is a call as a programmer would write it.
func failedCallText(c *failure.Call) string {
	var arguments []string
	for _, a := range c.Arguments {
		text := a.Text
		if a.Path {
			text = `"` + quote(text) + `"`
		}
		arguments = append(arguments, quote(a.Name)+"="+text)
	}
	return quote(c.Name) + "(" + strings.Join(arguments, ", ") + ")"
}

// failureLines are the rows, with where each began beneath.
func failureLines(r *failure.Report, o *Options) []line {
	t := grid{width: o.Width, text: []string{"ERROR", "CALL", "FIRST RETURNED BY"}, less: []string{"FIRST RETURNED BY"}}
	t.head("ERROR", "CALL", "COUNT", "FIRST RETURNED BY")
	for i := range r.Rows {
		row := &r.Rows[i]
		t.row(failure.ErrnoName(row.Errno), quote(row.Call), Count(row.Count), originCell(row))
	}
	rows := t.lines("")
	lines := rows[:1:1]
	for i := range r.Rows {
		row := &r.Rows[i]
		lines = append(lines, rows[i+1])
		for n := range row.Origins[:min(len(row.Origins), mostOrigins)] {
			at := &row.Origins[n]
			text := fmt.Sprintf("%s by %s", failedCallText(&at.Example), processName(at.Example.Comm, at.Example.PID))
			if len(row.Origins) > 1 {
				text = Count(at.Count) + " × " + text
			}
			lines = append(lines, indented(text+originWords(&at.Example.Chain), o.Width)...)
			if words := pathWords(at); words != "" {
				lines = append(lines, indented(words, o.Width)...)
			}
		}
		if more := len(row.Origins) - mostOrigins; more > 0 {
			lines = append(lines, indented(fmt.Sprintf("and from %s", plural(uint64(more), "other function")), o.Width)...)
		}
	}
	return lines
}

// pathWords are all paths with which calls failed, where they are more than one.
func pathWords(o *failure.Origin) string {
	if len(o.Paths) < 2 {
		return ""
	}
	words := make([]string, len(o.Paths))
	for i, p := range o.Paths {
		if words[i] = quote(p.Text); p.Count > 1 {
			words[i] += " (" + Count(p.Count) + ")"
		}
	}
	s := "paths: " + strings.Join(words, ", ")
	if o.Others > 0 {
		s += fmt.Sprintf(" and others (%s)", Count(o.Others))
	}
	return s
}

func originCell(r *failure.Row) string {
	switch {
	case failure.Restarts(r.Errno):
		return "interrupted by a signal"
	case len(r.Origins) == 0:
		return unknown
	case len(r.Origins) > 1:
		return plural(uint64(len(r.Origins)), "function")
	case r.Origins[0].Function == "":
		return unknown
	}
	return quote(r.Origins[0].Function)
}
