// SPDX-License-Identifier: Apache-2.0

package text

import (
	"fmt"
	"strconv"
	"time"

	"github.com/iowitness/iowitness/blame"
	"github.com/iowitness/iowitness/snapshot"
)

const (
	defaultProgressMin = time.Second
	defaultProgressTop = 10
)

// progressLines list the waits that have not ended and are older than a second or so. Waits
// that are not for storage are only counted: a server that is idle in io_uring would fill the screen.
func progressLines(s *snapshot.Snapshot, o *Options) []line {
	shown, hidden, idle := selectProgress(s, o)
	if len(shown)+idle == 0 {
		return nil
	}
	title := fmt.Sprintf("IN PROGRESS for %s or longer, oldest first", durationOf(o.progressMin()))
	lines := []line{{cut(title, o.Width), bold}}
	if len(shown) > 0 {
		lines = append(lines, progressTable(shown, s.Estimated, o)...)
	}
	if hidden > 0 {
		lines = append(lines, line{cut("… "+Count(uint64(hidden))+" more", o.Width), dim})
	}
	if idle > 0 {
		lines = append(lines, wrapped(fmt.Sprintf("beside these, %s not for storage", plural(uint64(idle), "wait")), o.Width, dim)...)
	}
	return lines
}

// selectProgress parts what is listed from what is only counted.
func selectProgress(s *snapshot.Snapshot, o *Options) (shown []*snapshot.InProgress, hidden, idle int) {
	for i := range s.InProgress {
		w := &s.InProgress[i]
		switch {
		case w.Age < uint64(o.progressMin()):
		case !w.Cause.Storage():
			idle++
		case len(shown) >= o.progressTop():
			hidden++
		default:
			shown = append(shown, w)
		}
	}
	if beyond := s.Hanging - len(s.InProgress); beyond > 0 {
		hidden += beyond
	}
	return shown, hidden, idle
}

func progressTable(waits []*snapshot.InProgress, estimated bool, o *Options) []line {
	var columns []column
	for i := range snapshot.InProgressFields {
		f := &snapshot.InProgressFields[i]
		if f.Where&snapshot.InTable == 0 {
			continue
		}
		c := column{Field: f, natural: max(columnsOf(f.Title), f.Width*btoi(!f.Flex))}
		for _, w := range waits {
			c.natural = max(c.natural, columnsOf(progressCell(f.ID, w, estimated, 0)))
		}
		columns = append(columns, c)
	}
	columns = layout(columns, o.Width)
	lines := []line{{join(columns, titles(columns), o.Width), bold}}
	for _, w := range waits {
		var cells []string
		for _, c := range columns {
			cells = append(cells, cut(progressCell(c.ID, w, estimated, c.width), c.width))
		}
		lines = append(lines, line{join(columns, cells, o.Width), plain})
	}
	return lines
}

func progressCell(id string, w *snapshot.InProgress, estimated bool, columns int) string {
	switch id {
	case "pid":
		return strconv.FormatUint(uint64(w.PID), 10)
	case "tid":
		return strconv.FormatUint(uint64(w.TID), 10)
	case "comm":
		return quote(w.Comm)
	case "age_ns":
		return age(w, estimated)
	case "flagged":
		if w.FlagUnknown {
			return unknown
		}
		return scalar(&snapshot.Field{Kind: snapshot.Boolean}, snapshot.Value{Bool: w.Flagged}, 0)
	}
	return waitsFor(w, columns)
}

func age(w *snapshot.InProgress, estimated bool) string {
	if w.Adopted || estimated {
		return "≈" + Duration(w.Age)
	}
	return Duration(w.Age)
}

// waitsFor tells a single wait in the words of a row that has nothing else.
func waitsFor(w *snapshot.InProgress, columns int) string {
	t := snapshot.Top{
		Cause: w.Cause, Syscall: w.Syscall, Device: w.Device, File: w.File, Inode: w.Inode, FileSource: w.FileSource,
	}
	s := blame.Words(w.Cause, quote(w.Syscall)) + deviceWords(&t)
	if w.Woken {
		s = "a CPU, after " + s
	}
	return cut(withFile(s, &t, columns), columns)
}
