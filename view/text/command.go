// SPDX-License-Identifier: Apache-2.0

package text

import (
	"bufio"
	"fmt"
	"io"
	"strconv"

	"github.com/iowitness/iowitness/snapshot"
)

// splitShown is how many causes, files and devices the report about a command has.
const splitShown = 5

// Command writes the report about a command: what time(1) says, and where the
// rest of the real time went. The snapshot must have its Splits.
func Command(w io.Writer, s *snapshot.Snapshot, u *snapshot.Usage, o Options) error {
	lines := usageLines(s, u, o.Width)
	for _, part := range []struct {
		title string
		key   snapshot.Key
	}{{"BY CAUSE", snapshot.ByCause}, {"BY FILE", snapshot.ByFile}, {"BY DEVICE", snapshot.ByDevice}} {
		if rows := s.Splits[part.key]; len(rows) > 0 {
			lines = append(append(lines, line{}), splitLines(rows, part.title, part.key, u, o.Width)...)
		}
	}
	if progress := progressLines(s, &o); len(progress) > 0 {
		lines = append(append(lines, line{}), progress...)
	}
	lines = append(append(lines, line{}), footLines(s, o.Width)...)
	b := bufio.NewWriter(w)
	for _, l := range lines {
		b.WriteString(l.render(&o))
		b.WriteByte('\n')
	}
	return b.Flush()
}

func usageLines(s *snapshot.Snapshot, u *snapshot.Usage, width int) []line {
	lines := []line{
		{cut(timeLine("real", durationOf(u.Real), endWords(u)), width), plain},
		{cut(timeLine("user", durationOf(u.User), ""), width), plain},
		{cut(timeLine("sys", durationOf(u.Sys), ""), width), plain},
		{cut(timeLine("faults", Count(u.MinorFaults+u.MajorFaults), faultWords(u)), width), plain},
	}
	return append(lines, wrapped(timeLine("waited", estimateMark(s)+Duration(s.Head.StorageNS), waitWords(s, u)), width, bold)...)
}

func timeLine(name, value, more string) string {
	line := pad(name, 8, false) + pad(value, 9, true)
	if more != "" {
		line += "  " + more
	}
	return line
}

func endWords(u *snapshot.Usage) string {
	switch {
	case u.Signal != "":
		return "killed by " + quote(u.Signal)
	case u.ExitCode != 0:
		return "exit status " + strconv.Itoa(u.ExitCode)
	}
	return ""
}

// faultWords say what page faults cost.
func faultWords(u *snapshot.Usage) string {
	if u.MajorFaults == 0 {
		return "of pages, none with I/O"
	}
	return "of pages, " + Count(u.MajorFaults) + " of them with I/O"
}

// waitWords tell the waiting for storage as a share of real time, and what comes beside it.
func waitWords(s *snapshot.Snapshot, u *snapshot.Usage) string {
	h := &s.Head
	words := "for storage"
	if h.StorageNS > 0 {
		words += fmt.Sprintf(", %s of real time", share(h.StorageNS, uint64(max(u.Real, 1))))
	}
	if h.FlagKnown() {
		words += fmt.Sprintf("; %s of it not flagged as iowait", share(h.UnflaggedNS, h.StorageNS))
	}
	if h.OtherNS > 0 {
		words += fmt.Sprintf("; %s%s more not for storage", estimateMark(s), Duration(h.OtherNS))
	}
	return words + inAll(s)
}

func inAll(s *snapshot.Snapshot) string {
	var count, threads, queued uint64
	rows, unknown := s.Rows, false
	for i := range rows {
		unknown = unknown || rows[i].RunQueueUnknown
		count += rows[i].Count
		threads += uint64(rows[i].Threads)
		queued += rows[i].RunQueue
	}
	if threads == 0 {
		return ""
	}
	words := fmt.Sprintf("; in all %s%s of %s", estimateMark(s), plural(count, "wait"), plural(threads, "thread"))
	if unknown {
		return words
	}
	return words + fmt.Sprintf(", then %s for a CPU", Duration(queued))
}

// splitLines is a small table of the largest parts; those beyond are summed up.
func splitLines(rows []snapshot.Row, title string, key snapshot.Key, u *snapshot.Usage, width int) []line {
	const numbers = 9 + 8 + 10 + 9 + 2
	head := pad("TOTAL", 9, true) + pad("%REAL", 8, true) + pad("WAITS", 10, true) + pad("MAX", 9, true) + "  " + title
	lines := []line{{cut(head, width), bold}}
	room := 0
	if width > 0 {
		room = max(width-numbers, 1)
	}
	shown := rows[:min(len(rows), splitShown)]
	for i := range shown {
		lines = append(lines, splitLine(&shown[i], splitName(&shown[i], key, room), u, width))
	}
	if rest := rows[len(shown):]; len(rest) > 0 {
		lines = append(lines, splitLine(restOf(rest), "others", u, width))
	}
	return lines
}

func restOf(rows []snapshot.Row) *snapshot.Row {
	rest := snapshot.Row{Exact: true}
	for i := range rows {
		rest.Total += rows[i].Total
		rest.Count += rows[i].Count
		rest.Max = max(rest.Max, rows[i].Max)
		rest.Exact = rest.Exact && rows[i].Exact
	}
	return &rest
}

func splitLine(r *snapshot.Row, name string, u *snapshot.Usage, width int) line {
	mark := ""
	if !r.Exact {
		mark = "~"
	}
	real := float64(max(u.Real, 1))
	return line{cut(pad(mark+Duration(r.Total), 9, true)+pad(mark+Percent(100*float64(r.Total)/real), 8, true)+
		pad(mark+Count(r.Count), 10, true)+pad(mark+Duration(r.Max), 9, true)+"  "+name, width), plain}
}

func splitName(r *snapshot.Row, key snapshot.Key, room int) string {
	switch {
	case r.Others > 0:
		return "others"
	case key == snapshot.ByCause:
		return causeWithin(r, room)
	case key == snapshot.ByFile && fileName(r.Top.File, r.Top.Inode, r.Top.FileSource) == "":
		return "(no file)"
	case key == snapshot.ByFile:
		return fileCell(r, room)
	case r.Top.Device == "":
		return "(no device known)"
	}
	return cut(quote(r.Top.Device), room)
}

// causeWithin tells the device's share too if there is room for it.
func causeWithin(r *snapshot.Row, room int) string {
	cause := causeWords(&r.Top)
	if s := cause + inDeviceWords(r); room == 0 || columnsOf(s) <= room {
		return s
	}
	return cut(cause, room)
}
