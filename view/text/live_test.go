// SPDX-License-Identifier: Apache-2.0

package text

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/iowitness/iowitness/snapshot"
	"github.com/iowitness/iowitness/snapshot/snapshottest"
)

// screen plays the few sequences that the painter uses.
type screen struct {
	lines []string
	row   int
	most  int // lowest row that was reached after the first home
}

func play(t *testing.T, out string) *screen {
	t.Helper()
	s := &screen{}
	_, out, ok := strings.Cut(out, home)
	if !ok {
		t.Fatal("no home")
	}
	for out != "" {
		switch {
		case strings.HasPrefix(out, home):
			s.row, out = 0, out[len(home):]
		case strings.HasPrefix(out, clearLine):
			s.set("")
			out = out[len(clearLine):]
		case strings.HasPrefix(out, clearBelow):
			s.lines, out = s.lines[:min(s.row, len(s.lines))], out[len(clearBelow):]
		case strings.HasPrefix(out, "\r\n"):
			s.row, out = s.row+1, out[2:]
			s.most = max(s.most, s.row)
		case out[0] == '\x1b':
			t.Fatalf("unknown sequence in %q", out[:min(len(out), 20)])
		default:
			end := strings.IndexAny(out, "\r\x1b")
			s.set(out[:end])
			out = out[end:]
		}
	}
	return s
}

func (s *screen) set(text string) {
	for len(s.lines) <= s.row {
		s.lines = append(s.lines, "")
	}
	s.lines[s.row] = text
}

func sized(columns, lines *int) Terminal {
	return Terminal{IsTerminal: true, Escapes: true, Size: func() (int, int) { return *columns, *lines }}
}

func TestLivePaintsOverItself(t *testing.T) {
	columns, lines := 80, 24
	var b bytes.Buffer
	live := NewLive(&b, sized(&columns, &lines), Options{})
	for _, of := range []fixture{many, snapshottest.Empty} {
		iv, names := of()
		if err := live.Paint(snapshot.Build(iv, names, snapshot.Options{})); err != nil {
			t.Fatal(err)
		}
	}
	s := play(t, b.String())
	iv, names := snapshottest.Empty()
	want := show(t, snapshot.Build(iv, names, snapshot.Options{}), Options{Width: 80})
	if got := strings.Join(s.lines, "\n") + "\n"; got != want {
		t.Errorf("the screen shows\n%s\nwant\n%s", got, want)
	}
	if s.most >= lines {
		t.Errorf("painted to row %d of %d: the screen scrolls", s.most, lines)
	}
}

func TestLiveFollowsResize(t *testing.T) {
	columns, lines := 200, 50
	var b bytes.Buffer
	live := NewLive(&b, sized(&columns, &lines), Options{})
	iv, names := many()
	if err := live.Paint(snapshot.Build(iv, names, snapshot.Options{})); err != nil {
		t.Fatal(err)
	}
	columns, lines = 40, 12
	if err := live.Repaint(); err != nil {
		t.Fatal(err)
	}
	s := play(t, b.String())
	if len(s.lines) >= lines {
		t.Errorf("%d lines on a screen of %d", len(s.lines), lines)
	}
	for _, l := range s.lines {
		if columnsOf(l) > columns {
			t.Errorf("%q is wider than %d", l, columns)
		}
	}
}

func TestDumbTerminalGetsNoEscapes(t *testing.T) {
	var b bytes.Buffer
	env := map[string]string{"TERM": "dumb", "LANG": "en_US.UTF-8"}
	live := NewLive(&b, inspect(true, func(k string) string { return env[k] }), Options{})
	iv, names := many()
	s := snapshot.Build(iv, names, snapshot.Options{Top: 2})
	for range 2 {
		if err := live.Paint(s); err != nil {
			t.Fatal(err)
		}
	}
	check(t, b.String(), 0)
	if n := strings.Count(b.String(), "2 CPUs"); n != 2 {
		t.Errorf("%d reports, want 2", n)
	}
}

func TestInspect(t *testing.T) {
	for _, c := range []struct {
		name     string
		terminal bool
		env      map[string]string
		want     Terminal
	}{
		{"xterm", true, map[string]string{"TERM": "xterm", "LANG": "C.UTF-8"}, Terminal{IsTerminal: true, Escapes: true, Color: true}},
		{"no color", true, map[string]string{"TERM": "xterm", "LANG": "C.UTF-8", "NO_COLOR": "1"}, Terminal{IsTerminal: true, Escapes: true}},
		{"C locale", true, map[string]string{"TERM": "xterm", "LC_ALL": "C", "LANG": "C.UTF-8"}, Terminal{IsTerminal: true, Escapes: true, Color: true, ASCII: true}},
		{"no TERM", true, map[string]string{"LANG": "C.utf8"}, Terminal{IsTerminal: true}},
		{"pipe", false, map[string]string{"TERM": "xterm"}, Terminal{}},
	} {
		got := inspect(c.terminal, func(k string) string { return c.env[k] })
		if got.IsTerminal != c.want.IsTerminal || got.Escapes != c.want.Escapes || got.Color != c.want.Color || got.ASCII != c.want.ASCII {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

func TestColumnsOfTheEnvironmentHoldForAFile(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for value, want := range map[string]int{"20": 20, "": 0, "-3": 0, "wide": 0, "0": 0} {
		terminal := Inspect(f, func(k string) string {
			if k == "COLUMNS" {
				return value
			}
			return ""
		})
		if got := terminal.Apply(Options{}).Width; got != want {
			t.Errorf("COLUMNS=%q: width %d, want %d", value, got, want)
		}
	}
}
