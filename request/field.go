// SPDX-License-Identifier: Apache-2.0

package request

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/snapshot"
	"github.com/iowitness/iowitness/spelling"
)

// Bytes is a unit beside those of snapshot.
const Bytes snapshot.Unit = "bytes"

// Info describes one output field, once for text, CSV, JSON, its schema and the documents.
type Info struct {
	ID       string // JSON key and CSV header
	Title    string // column header; empty: no column
	Unit     snapshot.Unit
	Kind     snapshot.Kind
	Nullable bool // may be unknown
	Help     string

	Scale    float64 // of a column whose title names a unit: it shows the number divided by this
	Right    bool
	Width    int
	Flex     bool // takes the space that is left
	Default  bool // a column by default
	Priority int  // columns of lower priority go first where space is short
}

// Field is what is told of a T.
type Field[T any] struct {
	Info
	Value func(T) snapshot.Value // nil where a view composes it
}

// Infos are the descriptions in a table of fields.
func Infos[T any](fields []Field[T]) []Info {
	infos := make([]Info, len(fields))
	for i := range fields {
		infos[i] = fields[i].Info
	}
	return infos
}

// Names turns ids into names. An empty string means that there is no name.
type Names interface {
	Device(dev event.Dev) string
	Cgroup(id uint64) string
	// File is the path by which the process sees the file.
	File(file event.File, pid uint32) string
}

// Clock relates instants to what people read.
type Clock struct {
	Zero  uint64    // the instant that is told as 0 s
	Epoch time.Time // of Zero by the wall clock; zero: not known
}

// Lines makes lines of requests. A Clock without Zero is set by the first one.
type Lines struct {
	Names Names
	Clock Clock
}

// Of is a request's line.
func (l *Lines) Of(o *event.IO) Line {
	line := Line{IO: o, Names: l.Names}
	if l.Clock.Zero == 0 {
		l.Clock.Zero = line.End()
	}
	line.Clock = l.Clock
	return line
}

// Line is a request with what names it.
type Line struct {
	*event.IO
	Names Names
	Clock Clock
}

// End is the last instant that is known, in ns; 0 if none is.
func (l Line) End() uint64 {
	return max(l.Queued, l.Got, l.Inserted, l.Issued, l.Completed)
}

// SinceZero is End in ns since the clock's zero; ok is false if it lies before.
func (l Line) SinceZero() (ns uint64, ok bool) {
	end := l.End()
	if end == 0 || end < l.Clock.Zero {
		return 0, false
	}
	return end - l.Clock.Zero, true
}

// Queue is the time until the driver had the request; ok is false where no instant before that is
// known. IO.Waiting would tell 0 then.
func (l Line) Queue() (ns uint64, ok bool) {
	if l.Queued == 0 && l.Got == 0 && l.Inserted == 0 || l.Backwards() {
		return 0, false
	}
	return l.Waiting()
}

// Took is how long a phase took, in ns; ok is false where it is not known, or an instant of the
// request runs backwards.
func (l Line) Took(p event.Phase) (ns uint64, ok bool) {
	if l.Backwards() {
		return 0, false
	}
	return l.Phase(p)
}

// FilePath is the file's path as its owner sees it, or that within its file system; "" if there is none.
func (l Line) FilePath() string { return filePath(l.Names, l.File, l.Owner.PID) }

// filePath falls back on the path within the file system, which is true though it lacks the mount point.
func filePath(names Names, f event.File, pid uint32) string {
	if f.Source == event.NoFile {
		return ""
	}
	if path := names.File(f, pid); path != "" {
		return path
	}
	return f.Path
}

// Columns are the fields of lines: the default ones or all, and those asked for, by id or title.
func Columns(all bool, asked []string) ([]*Field[Line], error) {
	var columns []*Field[Line]
	for i := range LineFields {
		if f := &LineFields[i]; f.Title != "" && (f.Default || all) {
			columns = append(columns, f)
		}
	}
	for _, id := range asked {
		i := slices.IndexFunc(LineFields, func(f Field[Line]) bool {
			return f.Title != "" && (f.ID == id || strings.EqualFold(f.Title, id))
		})
		if i < 0 {
			return nil, spelling.Unknown("there is no column", id, columnIDs())
		}
		if f := &LineFields[i]; !slices.Contains(columns, f) {
			columns = append(columns, f)
		}
	}
	return columns, nil
}

func columnIDs() []string {
	var ids []string
	for i := range LineFields {
		if LineFields[i].Title != "" {
			ids = append(ids, LineFields[i].ID)
		}
	}
	return ids
}

func integer(n uint64) snapshot.Value            { return snapshot.Value{Known: true, Int: n} }
func integerIf(ok bool, n uint64) snapshot.Value { return snapshot.Value{Known: ok, Int: n} }
func numberIf(ok bool, f float64) snapshot.Value { return snapshot.Value{Known: ok, Num: f} }
func boolean(b bool) snapshot.Value              { return snapshot.Value{Known: true, Bool: b} }
func text(s string) snapshot.Value               { return snapshot.Value{Known: s != "", Text: s} }
func flag(l Line, f event.IOFlags) snapshot.Value {
	return boolean(l.Flags&f != 0)
}

// duration is a value of what gives a time and whether it is known.
func duration(ns uint64, ok bool) snapshot.Value { return integerIf(ok, ns) }

func instant(ns uint64) snapshot.Value { return integerIf(ns != 0, ns) }

// DeviceValue is the name of a device, or its number where there is none.
func DeviceValue(names Names, dev event.Dev) snapshot.Value {
	if dev == 0 {
		return snapshot.Value{}
	}
	if name := names.Device(dev); name != "" {
		return text(name)
	}
	return number(dev)
}

func number(dev event.Dev) snapshot.Value {
	return snapshot.Value{Known: dev != 0, Text: fmt.Sprintf("%d:%d", dev.Major(), dev.Minor())}
}
