// SPDX-License-Identifier: Apache-2.0

package text

import (
	"io"
	"strings"

	"github.com/iowitness/iowitness/snapshot"
)

const (
	home       = "\x1b[H"
	clearLine  = "\x1b[K"
	clearBelow = "\x1b[J"
)

// Live paints snapshots over one another on a terminal. It changes no mode of
// the terminal, so there is nothing to undo however it ends, and the last
// screen stays to be read.
type Live struct {
	w        io.Writer
	terminal Terminal
	options  Options
	last     *snapshot.Snapshot
	painted  bool
}

// NewLive makes a painter. The options' width, height, color and ASCII are the terminal's.
func NewLive(w io.Writer, terminal Terminal, options Options) *Live {
	return &Live{w: w, terminal: terminal, options: options}
}

// Paint shows a snapshot in place of the last. On a terminal without escape
// sequences one follows the other.
func (l *Live) Paint(s *snapshot.Snapshot) error {
	l.last = s
	return l.paint(func(o *Options) ([]line, error) { return report(s, o) })
}

// paint shows lines that are laid out for the terminal.
func (l *Live) paint(layout func(*Options) ([]line, error)) error {
	o := l.terminal.apply(l.options)
	if !l.terminal.Escapes {
		o.Height = 0
		if l.painted {
			if _, err := io.WriteString(l.w, "\n"); err != nil {
				return err
			}
		}
		l.painted = true
		return write(l.w, layout, &o)
	}
	if o.Height > 1 {
		o.Height-- // the cursor rests below the last line
	}
	lines, err := layout(&o)
	if err != nil {
		return err
	}
	return l.draw(lines, &o)
}

// Repaint shows the last snapshot again, after the terminal has changed its size.
func (l *Live) Repaint() error {
	if l.last == nil || !l.terminal.Escapes {
		return nil
	}
	return l.Paint(l.last)
}

func (l *Live) draw(lines []line, o *Options) error {
	var b strings.Builder
	if !l.painted { // what was on the screen scrolls out of it, so it can be scrolled back to
		b.WriteString(strings.Repeat("\r\n", max(o.Height, 1)))
		l.painted = true
	}
	b.WriteString(home)
	for _, line := range lines {
		b.WriteString(clearLine) // before the text: after a full line it would take the last character
		b.WriteString(line.render(o))
		b.WriteString("\r\n")
	}
	b.WriteString(clearBelow)
	_, err := io.WriteString(l.w, b.String())
	return err
}
