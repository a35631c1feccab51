// SPDX-License-Identifier: Apache-2.0

package text

import (
	"fmt"
	"io"
	"strings"

	"github.com/iowitness/iowitness/blame"
	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/filesystem"
	"github.com/iowitness/iowitness/snapshot"
)

// Filesystem shows a report on file systems.
func Filesystem(w io.Writer, r *filesystem.Report, o Options) error {
	return write(w, func(o *Options) ([]line, error) { return filesystemReport(r, o), nil }, &o)
}

// PaintFilesystem shows a report in place of the last.
func (l *Live) PaintFilesystem(r *filesystem.Report) error {
	return l.paint(func(o *Options) ([]line, error) { return filesystemReport(r, o), nil })
}

// filesystemReport lays out head, file systems, files and foot, in the height there is.
func filesystemReport(r *filesystem.Report, o *Options) []line {
	head, foot := wrapped(filesystemTitle(r), o.Width, dim), filesystemFoot(r, o.Width)
	var body []line
	for i := range r.Mounts {
		body = append(append(body, line{}), mountLines(&r.Mounts[i], o.Width)...)
	}
	if len(r.Mounts) == 0 {
		body = append(body, line{}, line{cut("no calls", o.Width), dim})
	}
	if r.Compared != nil {
		body = append(append(body, line{}), comparedLines(r, o.Width)...)
	}
	if len(r.Rows) > 0 {
		body = append(append(body, line{}), fileLines(r, o.Width)...)
	}
	if len(r.UnderWay) > 0 {
		body = append(append(body, line{}), underWayLines(r, o.Width)...)
	}
	if room := o.Height - len(head) - len(foot) - 1; o.Height > 0 {
		body = limit(body, max(room, 2), o.Width)
	}
	lines := append(append(head, body...), line{})
	lines = append(lines, foot...)
	if o.Height > 0 && len(lines) > o.Height {
		lines = lines[:o.Height]
	}
	return lines
}

func filesystemTitle(r *filesystem.Report) string {
	parts := []string{strings.TrimSpace("iowitness fs " + quote(r.Version)), "Linux " + quote(r.Kernel)}
	parts = append(parts, fmt.Sprintf("%s to %s (%s)", r.Start.Format("15:04:05"), r.End.Format("15:04:05"), durationOf(r.End.Sub(r.Start))))
	if r.Scope != "" {
		parts = append(parts, "only "+quote(r.Scope))
	}
	return strings.Join(parts, dot)
}

func filesystemFoot(r *filesystem.Report, width int) []line {
	lines := wrapped(lostLine(r.Lost), width, lostStyle(r.Lost))
	lines = append(lines, wrapped(costLine(&snapshot.Snapshot{Cost: r.Cost}), width, dim)...)
	for _, note := range r.Notes {
		lines = append(lines, wrapped("note: "+quote(note), width, dim)...)
	}
	return lines
}

func mountName(m *filesystem.Mounted) string {
	point := quote(m.Point)
	if point == "" {
		point = "not mounted here"
	}
	var on []string
	if m.FSType != "" {
		on = append(on, quote(m.FSType))
	}
	if m.Device != "" {
		on = append(on, "on "+quote(m.Device))
	}
	if len(on) > 0 {
		point += " (" + strings.Join(on, " ") + ")"
	}
	if m.Gone {
		point += ", unmounted meanwhile"
	}
	return point
}

func mountLines(m *filesystem.Mount, width int) []line {
	lines := []line{{cut(mountName(&m.Mounted), width), bold}}
	if len(m.Operations) == 0 {
		return append(lines, line{cut("  no calls", width), dim})
	}
	t := grid{width: width, less: []string{"ERRORS", "P50", "BYTES", "MAX", "TOTAL", "P99"}}
	t.head(append([]string{"", "CALL"}, callTitles...)...)
	for i := range m.Operations {
		t.row(append([]string{"", m.Operations[i].Op.String()}, callCells(&m.Operations[i])...)...)
	}
	lines = append(lines, t.lines("")...)
	if m.Division.Calls > 0 {
		lines = append(lines, indented(divisionWords(&m.Division), width)...)
	}
	if m.Journal != nil {
		lines = append(lines, indented(journalWords(m.Journal), width)...)
	}
	if m.Flushes != nil {
		lines = append(lines, indented(flushWords(m), width)...)
	}
	return lines
}

// indented breaks a text into lines two columns from the margin.
func indented(text string, width int) []line {
	room := width
	if width > 0 {
		room = max(width-2, 1)
	}
	var lines []line
	for _, l := range wrapped(text, room, plain) {
		lines = append(lines, line{cut("  "+l.text, width), plain})
	}
	return lines
}

var callTitles = []string{"COUNT", "TOTAL", "MEAN", "P50", "P99", "MAX", "BYTES", "ERRORS"}

func callCells(r *filesystem.Row) []string {
	bytes := unknown
	if r.Op == event.FSRead || r.Op == event.FSWrite {
		bytes = Bytes(r.Bytes)
	}
	return []string{Count(r.Count), Duration(r.Total), Duration(r.Mean()), Duration(r.P50.Value), Duration(r.P99.Value), Duration(r.Max), bytes, Count(r.Errors)}
}

// divisionWords tell where the time of calls that synchronize went: all of it.
func divisionWords(d *filesystem.Division) string {
	var parts []string
	add := func(words string, ns uint64) {
		if ns > 0 {
			parts = append(parts, fmt.Sprintf("%s %s (%s)", share(ns, d.Total), words, Duration(ns)))
		}
	}
	for _, p := range d.Causes {
		add(p.Cause.Title(), p.NS)
	}
	add("waiting for a CPU", d.RunQueue)
	add("on a CPU", d.OnCPU)
	add("not attributed", d.Unattributed)
	return fmt.Sprintf("of %s in %s that synchronize: %s", Duration(d.Total), plural(d.Calls, "call"), strings.Join(parts, dot))
}

func journalWords(j *event.JournalSum) string {
	each := func(ns uint64) string { return Duration(ns / max(j.Commits, 1)) }
	words := fmt.Sprintf("journal: %s with %s and %s; a commit took %s (locked %s, flushing %s, logging %s), at most %s",
		plural(j.Commits, "commit"), plural(j.Handles, "handle"), plural(j.Logged, "block"),
		each(j.Locked+j.Flushing+j.Logging), each(j.Locked), each(j.Flushing), each(j.Logging), Duration(j.Max))
	return words + fmt.Sprintf("; before it running %s, request delay %s, wait %s (in ticks of the kernel's timer)", each(j.Running), each(j.Delay), each(j.Wait))
}

func flushWords(m *filesystem.Mount) string {
	f := m.Flushes
	words := fmt.Sprintf("device flushes on %s: %s", quote(m.DiskName), Count(f.Count))
	if f.Count > 0 {
		words += fmt.Sprintf(", %s each, at most %s, %s in all", Duration(f.NS/f.Count), Duration(f.Max), Duration(f.NS))
	}
	if f.Unseen > 0 {
		words += fmt.Sprintf("; %s more whose begin was not seen", Count(f.Unseen))
	}
	return words
}

const syncTitle = "OF EACH CALL THAT SYNCHRONIZES"

// comparedLines set two file systems side by side.
func comparedLines(r *filesystem.Report, width int) []line {
	a, b := &r.Mounts[0].Mounted, &r.Mounts[1].Mounted
	lines := wrapped(fmt.Sprintf("compared: A is %s, B is %s", mountName(a), mountName(b)), width, bold)
	t := grid{width: width, less: []string{"A P99", "B P99", "A COUNT", "B COUNT"}}
	t.head("", "CALL", "A COUNT", "A MEAN", "A P99", "B COUNT", "B MEAN", "B P99", "B/A")
	for i := range r.Compared.Operations {
		p := &r.Compared.Operations[i]
		ratio := unknown
		if n, ok := p.Ratio(); ok {
			ratio = fmt.Sprintf("%.2f", n)
		}
		t.row("", p.Op.String(), Count(p.A.Count), meanCell(&p.A), quantileCell(p.A.P99), Count(p.B.Count), meanCell(&p.B), quantileCell(p.B.P99), ratio)
	}
	lines = append(lines, t.lines("")...)
	if len(r.Compared.Parts) == 0 {
		return lines
	}
	t = grid{width: width}
	t.head("", syncTitle, "A", "B", "B-A")
	for _, p := range r.Compared.Parts {
		difference := "+" + Duration(p.B-min(p.A, p.B))
		if p.A > p.B {
			difference = "-" + Duration(p.A-p.B)
		}
		t.row("", partWords(p.ID), Duration(p.A), Duration(p.B), difference)
	}
	return append(append(lines, line{}), t.lines("")...)
}

func meanCell(r *filesystem.Row) string {
	if r.Count == 0 {
		return unknown
	}
	return Duration(r.Mean())
}

func quantileCell(e snapshot.Estimate) string {
	if !e.Known {
		return unknown
	}
	return Duration(e.Value)
}

func partWords(id string) string {
	switch id {
	case filesystem.Total:
		return "in all"
	case filesystem.RunQueue:
		return "waiting for a CPU"
	case filesystem.OnCPU:
		return "on a CPU"
	case filesystem.Unattributed:
		return "not attributed"
	}
	if cause, err := blame.ParseCause(id); err == nil {
		return cause.Title()
	}
	return id
}

// fileLines are the calls by file and process.
func fileLines(r *filesystem.Report, width int) []line {
	t := grid{width: width, less: []string{"P50", "MAX", "MOSTLY", "P99", "PID", "TOTAL"}}
	t.head("CALL", "PID", "COMMAND", "COUNT", "TOTAL", "MEAN", "P50", "P99", "MAX", "MOSTLY", "FILE")
	for i := range r.Rows {
		row := &r.Rows[i]
		call, pid, comm := row.Op.String(), "", quote(row.Comm)
		if row.PID != 0 {
			pid = fmt.Sprint(row.PID)
		}
		if row.Others > 0 {
			call = "others"
		}
		t.row(call, pid, comm, Count(row.Count), Duration(row.Total), Duration(row.Mean()), Duration(row.P50.Value),
			Duration(row.P99.Value), Duration(row.Max), mostlyWords(&row.Division), rowFile(row))
	}
	return t.lines("FILE")
}

// underWayShown is how many calls that have not returned are shown.
const underWayShown = 10

func underWayLines(r *filesystem.Report, width int) []line {
	lines := []line{{cut("still under way", width), bold}}
	for i := range r.UnderWay[:min(len(r.UnderWay), underWayShown)] {
		c := &r.UnderWay[i]
		words := fmt.Sprintf("%s of %s by %s since %s", c.Op, fileOr(c.File, c.Inode), processName(c.Comm, c.PID), Duration(c.Age))
		if c.Cause != blame.Unattributed {
			words += ": " + c.Cause.Title()
		}
		lines = append(lines, indented(words, width)...)
	}
	if rest := len(r.UnderWay) - underWayShown; rest > 0 {
		lines = append(lines, more(rest, width))
	}
	return lines
}

// mostlyWords name the largest part of calls that synchronize.
func mostlyWords(d *filesystem.Division) string {
	if d.Calls == 0 {
		return unknown
	}
	words, most := "on a CPU", d.OnCPU
	if d.RunQueue > most {
		words, most = "waiting for a CPU", d.RunQueue
	}
	if len(d.Causes) > 0 && d.Causes[0].NS >= most {
		words, most = d.Causes[0].Cause.Title(), d.Causes[0].NS
	}
	return share(most, d.Total) + " " + words
}

func rowFile(r *filesystem.Row) string {
	switch {
	case r.Others > 0:
		return plural(uint64(r.Others), "row") + " not shown"
	case r.File == "" && r.Inode == 0:
		return "several files"
	}
	return fileOr(r.File, r.Inode)
}

// fileOr is a quoted path, or the inode of a file without one.
func fileOr(path string, inode uint64) string { return fileName(path, inode, event.ByFD) }
