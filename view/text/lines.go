// SPDX-License-Identifier: Apache-2.0

package text

import (
	"bufio"
	"io"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/request"
	"github.com/iowitness/iowitness/snapshot"
)

// LineOptions choose how requests are listed. Of Options width, colour, ASCII and columns count.
type LineOptions struct {
	Options
	All bool // columns: all there are
}

// Lines lists block requests, one a line, as they complete.
type Lines struct {
	out     *bufio.Writer
	lines   request.Lines
	o       LineOptions
	columns []*lineColumn
}

type lineColumn struct {
	*request.Field[request.Line]
	width int // 0: no limit
}

// NewLines begins a list. A clock without Zero is set by the first request. It is an error if there is
// no such column.
func NewLines(w io.Writer, names request.Names, clock request.Clock, o LineOptions) (*Lines, error) {
	fields, err := request.Columns(o.All, o.Columns)
	if err != nil {
		return nil, err
	}
	return &Lines{out: bufio.NewWriter(w), lines: request.Lines{Names: names, Clock: clock}, o: o, columns: lineLayout(fields, o.Width)}, nil
}

// narrowText is what a column of names is cut to before columns go.
const narrowText = 10

// lineLayout puts the columns that take what space is left last. What comes is not known yet, so
// widths are fixed; where the terminal is narrow names are cut, and then the least important columns go.
func lineLayout(fields []*request.Field[request.Line], total int) []*lineColumn {
	var columns, flex []*lineColumn
	for _, f := range fields {
		c := &lineColumn{f, f.Width}
		if f.Flex {
			flex = append(flex, c)
		} else {
			columns = append(columns, c)
		}
	}
	columns = append(columns, flex...)
	shrink(columns, total)
	for total > 0 && len(columns) > 1 && lineWidth(columns) > total {
		least := 0
		for i, c := range columns {
			if c.Priority < columns[least].Priority {
				least = i
			}
		}
		columns = append(columns[:least], columns[least+1:]...)
	}
	widen(columns, total)
	last := columns[len(columns)-1]
	switch {
	case total <= 0:
		last.width = 0
	case last.Flex || last.width > total:
		last.width += total - lineWidth(columns)
	}
	return columns
}

// shrink cuts columns of names, those of files first.
func shrink(columns []*lineColumn, total int) {
	for i := len(columns) - 1; i >= 0 && total > 0; i-- {
		if c, over := columns[i], lineWidth(columns)-total; over > 0 && c.Kind == snapshot.Text && c.width > narrowText {
			c.width = max(narrowText, c.width-over)
		}
	}
}

// widen gives what columns that have gone leave back to those of names before the last.
func widen(columns []*lineColumn, total int) {
	for _, c := range columns[:len(columns)-1] {
		if left := total - lineWidth(columns); left > 0 && c.Kind == snapshot.Text && c.width < c.Width {
			c.width = min(c.Width, c.width+left)
		}
	}
}

func lineWidth(columns []*lineColumn) int {
	sum := len(columns) - 1
	for _, c := range columns {
		sum += c.width
	}
	return sum
}

// Header writes the titles.
func (l *Lines) Header() error {
	cells := make([]string, len(l.columns))
	for i, c := range l.columns {
		cells[i] = c.Title
	}
	return l.put(cells, bold)
}

// Write lists a request.
func (l *Lines) Write(o *event.IO) error {
	line := l.lines.Of(o)
	cells := make([]string, len(l.columns))
	for i, c := range l.columns {
		cells[i] = l.cell(c, line)
	}
	return l.put(cells, plain)
}

// Flush writes out what is buffered.
func (l *Lines) Flush() error { return l.out.Flush() }

func (l *Lines) put(cells []string, st style) error {
	var b strings.Builder
	for i, c := range l.columns {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(pad(cells[i], c.width, c.Right))
	}
	text := line{cut(strings.TrimRight(b.String(), " "), l.o.Width), st}.render(&l.o.Options)
	_, err := l.out.WriteString(text + "\n")
	return err
}

// cell is cut only where the terminal has an edge: in a pipe nothing is lost.
func (l *Lines) cell(c *lineColumn, r request.Line) string {
	room := c.width
	if l.o.Width <= 0 {
		room = 0
	}
	switch c.ID {
	case "comm":
		return cut(ownerWords(r.IO), room)
	case "device":
		return cut(stackWords(r), room)
	case "cgroup":
		return cut(cgroupWords(c, r), room)
	case "error":
		return errorWords(r.IO)
	case "file":
		if name := fileName(r.FilePath(), r.File.Ino, r.File.Source); name != "" {
			return fitPath(name, room)
		}
		return unknown
	}
	v := c.Value(r)
	if c.Kind == snapshot.Text {
		return cut(lineScalar(&c.Info, v), room)
	}
	return lineScalar(&c.Info, v)
}

// lineScalar tells numbers in digits alone, as scripts expect them.
func lineScalar(f *request.Info, v snapshot.Value) string {
	switch {
	case !v.Known:
		return unknown
	case f.Kind == snapshot.Text:
		return quote(v.Text)
	case f.Kind == snapshot.Boolean && v.Bool:
		return "yes"
	case f.Kind == snapshot.Boolean:
		return "no"
	case f.Scale > 0:
		return scaled(v.Int, f.Scale)
	}
	return strconv.FormatUint(v.Int, 10)
}

// scaled has all digits down to a microsecond, which is what the title's unit is divided into.
func scaled(n uint64, scale float64) string {
	digits := 3
	if scale == 1e9 {
		digits = 6
	}
	return strconv.FormatFloat(float64(n)/scale, 'f', digits, 64)
}

// ownerWords name whose request it is, and who carried it.
func ownerWords(o *event.IO) string {
	name := unknown
	if o.Owner.Comm != "" {
		name = quote(o.Owner.Comm)
	}
	if o.Carrier.Comm == "" || o.Carrier == o.Owner {
		return name
	}
	return name + " (via " + quote(o.Carrier.Comm) + ")"
}

// stackWords name the device, with that on top where it was submitted to another.
func stackWords(r request.Line) string {
	name := deviceName(r.Names, r.Dev)
	if r.Flags&event.IODevAbove != 0 {
		return name + " via " + deviceName(r.Names, r.Disk)
	}
	if r.Top == 0 || r.Top == r.Dev {
		return name
	}
	return deviceName(r.Names, r.Top) + "→" + name
}

// cgroupWords name the cgroup that was charged, and say where that is only the writer's.
func cgroupWords(c *lineColumn, r request.Line) string {
	name := lineScalar(&c.Info, c.Value(r))
	if r.Flags&event.IOUncharged != 0 {
		name += " (of the writer: writeback is not charged)"
	}
	return name
}

// deviceName is the name, or the number where there is none.
func deviceName(names request.Names, dev event.Dev) string {
	if dev == 0 {
		return unknown
	}
	if name := names.Device(dev); name != "" {
		return quote(name)
	}
	return strconv.Itoa(int(dev.Major())) + ":" + strconv.Itoa(int(dev.Minor()))
}

func errorWords(o *event.IO) string {
	switch {
	case o.Flags&event.IOUnfinished != 0:
		return unknown
	case o.Error <= 0:
		return "0"
	}
	if name := unix.ErrnoName(unix.Errno(o.Error)); name != "" {
		return name
	}
	return strconv.Itoa(int(o.Error))
}
