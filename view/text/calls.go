// SPDX-License-Identifier: Apache-2.0

package text

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/iowitness/iowitness/call"
	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/snapshot"
)

// Calls shows a report on calls of functions.
func Calls(w io.Writer, r *call.Report, o Options) error {
	return write(w, func(o *Options) ([]line, error) { return callsReport(r, o), nil }, &o)
}

// PaintCalls shows a report in place of the last.
func (l *Live) PaintCalls(r *call.Report) error {
	return l.paint(func(o *Options) ([]line, error) { return callsReport(r, o), nil })
}

func callsReport(r *call.Report, o *Options) []line {
	head, foot := wrapped(callsTitle(r), o.Width, dim), callsFoot(r, o.Width)
	body := []line{{}}
	if len(r.Rows) == 0 {
		body = append(body, line{cut("no calls", o.Width), dim})
	} else {
		body = append(body, callLines(r, o)...)
	}
	if room := o.Height - len(head) - len(foot) - 1; o.Height > 0 {
		body = limit(body, max(room, 2), o.Width)
	}
	lines := append(append(append(head, body...), line{}), foot...)
	if o.Height > 0 && len(lines) > o.Height {
		lines = lines[:o.Height]
	}
	return lines
}

func callsTitle(r *call.Report) string {
	parts := []string{strings.TrimSpace("iowitness func " + quote(r.Version)), "Linux " + quote(r.Kernel)}
	parts = append(parts, fmt.Sprintf("%s to %s (%s)", r.Start.Format("15:04:05"), r.End.Format("15:04:05"), durationOf(r.End.Sub(r.Start))))
	parts = append(parts, plural(uint64(r.Functions), "function")+" by "+r.Means)
	if r.Scope != "" {
		parts = append(parts, "only "+quote(r.Scope))
	}
	if r.Where != "" {
		parts = append(parts, "where "+quote(r.Where))
	}
	if r.Ratio > 1 {
		parts = append(parts, fmt.Sprintf("one call in %s measured", Count(uint64(r.Ratio))))
	}
	return strings.Join(parts, dot)
}

func callsFoot(r *call.Report, width int) []line {
	lines := wrapped(lostLine(r.Lost), width, lostStyle(r.Lost))
	if r.UnderWay > 0 {
		lines = append(lines, wrapped(plural(r.UnderWay, "call")+" under way", width, dim)...)
	}
	lines = append(lines, wrapped(costLine(&snapshot.Snapshot{Cost: r.Cost}), width, dim)...)
	for _, note := range r.Notes {
		lines = append(lines, wrapped("note: "+quote(note), width, dim)...)
	}
	return lines
}

var rowTitles = []string{"CALLS", "RATE", "TOTAL", "OWN", "MEAN", "P50", "P99", "MAX", "ERRORS"}

// callLines are the rows, with what was asked for beneath each.
func callLines(r *call.Report, o *Options) []line {
	t := grid{width: o.Width, less: []string{"OWN", "P50", "RATE", "ERRORS", "P99", "MAX", "TOTAL"}, text: []string{"FUNCTION"}}
	titles := []string{"FUNCTION"}
	for _, k := range r.Keys {
		if k != call.ByStack {
			titles = append(titles, strings.ToUpper(string(k)))
		}
	}
	t.text = append(t.text, titles[1:]...)
	t.head(append(titles, rowTitles...)...)
	seconds := r.End.Sub(r.Start).Seconds()
	for i := range r.Rows {
		t.row(callRowCells(&r.Rows[i], r.Keys, seconds)...)
	}
	rows := t.lines("")
	lines := rows[:1:1]
	for i := range r.Rows {
		row := &r.Rows[i]
		lines = append(lines, rows[i+1])
		if o.Histogram && row.Count > 0 {
			var h snapshot.Histogram
			h.Add(row.Hist)
			for _, bar := range bars(&h, o.Width) {
				lines = append(lines, line{cut(bar.text, o.Width), bar.style})
			}
		}
		if len(row.Peaks) > 0 {
			lines = append(lines, indented(PeaksSentence(row.Peaks), o.Width)...)
		}
		lines = append(lines, frameLines(row.Stack, o.Width)...)
	}
	return lines
}

func callRowCells(r *call.Row, keys []call.Key, seconds float64) []string {
	title := quote(r.Function)
	if r.Module != "" {
		title += " [" + quote(r.Module) + "]"
	}
	if r.Others > 0 {
		title = plural(uint64(r.Others), "row") + " more"
	}
	cells := []string{title}
	for i, k := range keys {
		if k != call.ByStack {
			cells = append(cells, quote(r.Keys[i]))
		}
	}
	rate := unknown
	if seconds > 0 {
		rate = perSecond(float64(r.Count) / seconds)
	}
	return append(cells, Count(r.Count), rate, Duration(r.Total), Duration(r.Own), Duration(r.Mean()),
		Duration(r.P50.Value), Duration(r.P99.Value), Duration(r.Max), Count(r.Errors))
}

func perSecond(rate float64) string {
	if rate < 99.95 {
		return significant(rate) + "/s"
	}
	return Count(uint64(rate+0.5)) + "/s"
}

// frameLines are a stack beneath what it belongs to.
func frameLines(frames []string, width int) []line {
	var lines []line
	for _, f := range frames {
		lines = append(lines, line{cut("    "+quote(f), width), dim})
	}
	return lines
}

// CallHeader is what stands above lines of single calls.
func CallHeader(w io.Writer, o Options) error {
	return write(w, func(o *Options) ([]line, error) {
		return []line{{cut(fmt.Sprintf("%-15s %-16s %7s %9s  %s", "TIME", "COMMAND", "TID", "LATENCY", "CALL"), o.Width), bold}}, nil
	}, &o)
}

// CallLine shows a single call, with its stack if it has one.
func CallLine(w io.Writer, l *call.Line, began time.Time, o Options) error {
	return write(w, func(o *Options) ([]line, error) {
		c := l.Call
		text := fmt.Sprintf("%-15s %s %7d %9s  %s", began.Format("15:04:05.000000"), pad(cut(quote(c.Comm), 16), 16, false), c.TID, Duration(c.NS), callText(l))
		return append(wrapped(text, o.Width, plain), frameLines(l.Stack, o.Width)...), nil
	}, &o)
}

// callText is a call as a programmer would write it: name(field=value, …) = result.
func callText(l *call.Line) string {
	var fields []string
	for _, v := range l.Values {
		text := "(unreadable)"
		if v.Read {
			text = quote(v.Text)
		}
		fields = append(fields, quote(v.Name)+"="+text)
	}
	text := quote(l.Function.Title()) + "(" + strings.Join(fields, ", ") + ")"
	if l.Result != "" {
		text += " = " + quote(l.Result)
	}
	if l.Call.Missed > 0 {
		text += fmt.Sprintf(" (%s within missed)", plural(uint64(l.Call.Missed), "return"))
	}
	return text
}

// CallTree shows a call and those within it, indented, each with its time and its own.
func CallTree(w io.Writer, n *call.Node, of func(*event.Call) call.Line, at func(*event.Call) time.Time, o Options) error {
	return write(w, func(o *Options) ([]line, error) {
		c := n.Call
		head := fmt.Sprintf("%s %s %d on CPU %d", at(c).Format("15:04:05.000000"), quote(c.Comm), c.TID, c.CPU)
		return append([]line{{cut(head, o.Width), bold}}, treeLines(n, of, 1, o.Width)...), nil
	}, &o)
}

func treeLines(n *call.Node, of func(*event.Call) call.Line, depth, width int) []line {
	l := of(n.Call)
	text := fmt.Sprintf("%9s %9s  %s%s", Duration(n.Call.NS), Duration(n.Own()), strings.Repeat("  ", depth), callText(&l))
	lines := []line{{cut(text, width), plain}}
	for _, child := range n.Children {
		lines = append(lines, treeLines(child, of, depth+1, width)...)
	}
	return lines
}
