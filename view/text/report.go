// SPDX-License-Identifier: Apache-2.0

package text

import (
	"bufio"
	"io"
	"strings"
	"time"

	"github.com/iowitness/iowitness/snapshot"
)

// Options choose how a snapshot is shown. The zero value suits a pipe.
type Options struct {
	Width     int      // columns of the terminal; 0: no limit
	Height    int      // lines of the terminal; 0: no limit
	Color     bool     // may use bold and dim
	ASCII     bool     // the terminal shows no other characters
	Columns   []string // further columns, by field id
	Histogram bool     // beneath each row
	Stacks    bool     // beneath each row

	ProgressMin time.Duration // waits in progress are listed from this age on; 0: 1 s
	ProgressTop int           // at most so many; 0: 10
}

func (o *Options) progressMin() time.Duration {
	if o.ProgressMin > 0 {
		return o.ProgressMin
	}
	return defaultProgressMin
}

func (o *Options) progressTop() int {
	if o.ProgressTop > 0 {
		return o.ProgressTop
	}
	return defaultProgressTop
}

type style uint8

const (
	plain style = iota
	bold
	dim
)

// line is one line of output, of at most Options.Width columns.
type line struct {
	text  string
	style style
}

func wrapped(s string, width int, st style) []line {
	var lines []line
	for _, l := range wrap(s, width) {
		lines = append(lines, line{l, st})
	}
	return lines
}

// Write shows a snapshot.
func Write(w io.Writer, s *snapshot.Snapshot, o Options) error {
	return write(w, func(o *Options) ([]line, error) { return report(s, o) }, &o)
}

// write lays out lines and writes them.
func write(w io.Writer, layout func(*Options) ([]line, error), o *Options) error {
	lines, err := layout(o)
	if err != nil {
		return err
	}
	b := bufio.NewWriter(w)
	for _, l := range lines {
		b.WriteString(l.render(o))
		b.WriteByte('\n')
	}
	return b.Flush()
}

// report lays out head, table, waits in progress and foot, in the height there is.
func report(s *snapshot.Snapshot, o *Options) ([]line, error) {
	header, rows, err := table(s, o)
	if err != nil {
		return nil, err
	}
	head, progress, foot := headLines(s, o.Width), progressLines(s, o), footLines(s, o.Width)
	if o.Height > 0 {
		room := o.Height - len(head) - len(foot)
		progress = limit(progress, max(room/3, 2), o.Width)
		rows = limitRows(rows, room-len(progress)-3, o.Width)
	}
	lines := append(head, line{})
	if len(rows) > 0 {
		lines = append(lines, header)
	}
	for _, row := range rows {
		lines = append(lines, row...)
	}
	if len(progress) > 0 {
		lines = append(append(lines, line{}), progress...)
	}
	if len(rows)+len(progress) > 0 {
		lines = append(lines, line{})
	}
	lines = append(lines, foot...)
	if o.Height > 0 && len(lines) > o.Height {
		lines = lines[:o.Height]
	}
	return lines, nil
}

func limit(lines []line, n, width int) []line {
	if len(lines) <= n {
		return lines
	}
	return append(lines[:n-1:n-1], more(len(lines)-n+1, width))
}

func more(n, width int) line {
	return line{cut("… "+plural(uint64(n), "more line"), width), dim}
}

// limitRows keeps the first rows that fit into n lines.
func limitRows(rows [][]line, n, width int) [][]line {
	used := 0
	for i, row := range rows {
		last := i == len(rows)-1
		if used+len(row)+btoi(!last) > n {
			left := 0
			for _, r := range rows[i:] {
				left += len(r)
			}
			return append(rows[:i:i], []line{more(left, width)})
		}
		used += len(row)
	}
	return rows
}

// render is the line as it goes to the terminal: the only place that writes escape sequences.
func (l line) render(o *Options) string {
	s := l.text
	if o.ASCII {
		s = ascii(s)
	}
	if !o.Color || s == "" {
		return s
	}
	switch l.style {
	case bold:
		return "\x1b[1m" + s + "\x1b[0m"
	case dim:
		return "\x1b[2m" + s + "\x1b[0m"
	}
	return s
}

// ascii keeps the width: each character becomes one.
func ascii(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r < 0x80:
			return r
		case r == '…' || r == '≈':
			return '~'
		case r == '·':
			return '|'
		case r == 'µ':
			return 'u'
		case r == '→':
			return '>'
		case r == '░':
			return '.'
		case r == '▒':
			return ':'
		case r == '▓':
			return '+'
		case r == '×':
			return 'x'
		case r >= '▉' && r <= '▏' || r == '█':
			return '#'
		}
		return '?'
	}, s)
}
