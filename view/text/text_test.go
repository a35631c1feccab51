// SPDX-License-Identifier: Apache-2.0

package text

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/iowitness/iowitness/snapshot"
	"github.com/iowitness/iowitness/snapshot/snapshottest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got); if it is right, run with -update:\n%s", path, diff)
	}
}

func show(t *testing.T, s *snapshot.Snapshot, o Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, s, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

type fixture func() (*snapshot.Interval, *snapshottest.Names)

func many() (*snapshot.Interval, *snapshottest.Names) { return snapshottest.Many(30) }

func unsampled() (*snapshot.Interval, *snapshottest.Names) {
	iv, names := snapshottest.TwoProcesses()
	iv.Threads = iv.Threads[:1]
	return iv, names
}

func TestGolden(t *testing.T) {
	for _, c := range []struct {
		name  string
		of    fixture
		build snapshot.Options
		show  Options
	}{
		{"default", snapshottest.TwoProcesses, snapshot.Options{}, Options{}},
		{"width20", snapshottest.TwoProcesses, snapshot.Options{}, Options{Width: 20}},
		{"width40", snapshottest.TwoProcesses, snapshot.Options{}, Options{Width: 40}},
		{"width80", snapshottest.TwoProcesses, snapshot.Options{}, Options{Width: 80}},
		{"width200", snapshottest.TwoProcesses, snapshot.Options{}, Options{Width: 200}},
		{"ascii", snapshottest.TwoProcesses, snapshot.Options{}, Options{Width: 80, ASCII: true, Histogram: true}},
		{"color", snapshottest.TwoProcesses, snapshot.Options{}, Options{Width: 80, Color: true}},
		{"by_thread", snapshottest.TwoProcesses, snapshot.Options{By: []snapshot.Key{snapshot.ByThread}}, Options{Width: 120}},
		{"by_file", snapshottest.TwoProcesses, snapshot.Options{By: []snapshot.Key{snapshot.ByFile}}, Options{Width: 160}},
		{"by_cause_device", snapshottest.TwoProcesses, snapshot.Options{By: []snapshot.Key{snapshot.ByCause, snapshot.ByDevice}}, Options{Width: 160}},
		{"by_cgroup", snapshottest.TwoProcesses, snapshot.Options{By: []snapshot.Key{snapshot.ByCgroup}}, Options{Width: 120}},
		{"by_user_container", snapshottest.TwoProcesses, snapshot.Options{By: []snapshot.Key{snapshot.ByUser, snapshot.ByContainer}}, Options{}},
		{"columns", snapshottest.TwoProcesses, snapshot.Options{}, Options{Columns: []string{"exe", "cwd", "threads", "in_progress"}}},
		{"histogram_stacks", snapshottest.TwoProcesses, snapshot.Options{Stacks: 3}, Options{Width: 120, Histogram: true, Stacks: true}},
		{"top", many, snapshot.Options{Top: 3}, Options{Width: 120}},
		{"height", many, snapshot.Options{}, Options{Width: 80, Height: 16}},
		{"min", snapshottest.TwoProcesses, snapshot.Options{Min: 20 * time.Millisecond}, Options{Width: 120}},
		{"empty", snapshottest.Empty, snapshot.Options{}, Options{Width: 80}},
		{"hanging_only", snapshottest.HangingOnly, snapshot.Options{}, Options{Width: 120}},
		{"unsampled", unsampled, snapshot.Options{}, Options{Width: 120}},
		{"estimated", snapshottest.Estimated, snapshot.Options{}, Options{}},
		{"estimated_by_cause", snapshottest.Estimated, snapshot.Options{By: []snapshot.Key{snapshot.ByCause}}, Options{Width: 160}},
		{"quick_device", snapshottest.QuickDevice, snapshot.Options{}, Options{Width: 120, Stacks: true}},
		{"hostile", snapshottest.Hostile, snapshot.Options{}, Options{Width: 140}},
	} {
		t.Run(c.name, func(t *testing.T) {
			iv, names := c.of()
			golden(t, c.name, show(t, snapshot.Build(iv, names, c.build), c.show))
		})
	}
}

func TestCommandGolden(t *testing.T) {
	usage := &snapshot.Usage{Command: []string{"make", "-j2"}, Real: 1000 * time.Millisecond, User: 200 * time.Millisecond, Sys: 81 * time.Millisecond}
	killed := *usage
	killed.Signal = "SIGKILL"
	for _, c := range []struct {
		name  string
		of    fixture
		usage *snapshot.Usage
		width int
	}{
		{"command", snapshottest.TwoProcesses, usage, 0},
		{"command_estimated", snapshottest.Estimated, usage, 0},
		{"command_width60", snapshottest.TwoProcesses, usage, 60},
		{"command_killed", snapshottest.Empty, &killed, 80},
	} {
		t.Run(c.name, func(t *testing.T) {
			iv, names := c.of()
			var b bytes.Buffer
			if err := Command(&b, snapshot.Build(iv, names, snapshot.Options{Splits: true}), c.usage, Options{Width: c.width}); err != nil {
				t.Fatal(err)
			}
			golden(t, c.name, b.String())
		})
	}
}

// No width, grouping or hostile name makes a line too long or lets a control character through.
func TestWidthsAndHostileNames(t *testing.T) {
	for key := range snapshot.KeyNames() {
		iv, names := snapshottest.Hostile()
		s := snapshot.Build(iv, names, snapshot.Options{By: []snapshot.Key{snapshot.Key(key)}, Stacks: 3, Splits: true})
		for _, width := range []int{0, 1, 2, 5, 10, 20, 40, 80, 200} {
			o := Options{Width: width, Columns: []string{"exe", "cwd", "user", "container"}, Histogram: width >= 40, Stacks: true}
			check(t, show(t, s, o), width)
			var b bytes.Buffer
			if err := Command(&b, s, &snapshot.Usage{Signal: snapshottest.HostileNames[0]}, o); err != nil {
				t.Fatal(err)
			}
			check(t, b.String(), width)
		}
	}
}

func check(t *testing.T, out string, width int) {
	t.Helper()
	if !utf8.ValidString(out) {
		t.Errorf("width %d: invalid UTF-8", width)
	}
	for _, l := range strings.Split(out, "\n") {
		if width > 0 && columnsOf(l) > width {
			t.Errorf("width %d: %d columns: %q", width, columnsOf(l), l)
		}
		for _, r := range l {
			if unicode.In(r, unicode.Cc, unicode.Cf) {
				t.Errorf("width %d: %U in %q", width, r, l)
			}
		}
	}
}

func TestHeights(t *testing.T) {
	iv, names := many()
	s := snapshot.Build(iv, names, snapshot.Options{})
	for height := 1; height < 60; height++ {
		out := show(t, s, Options{Width: 80, Height: height, Histogram: height%2 == 0})
		if n := strings.Count(out, "\n"); n > height {
			t.Errorf("height %d: %d lines", height, n)
		}
	}
}

func TestUnknownColumn(t *testing.T) {
	iv, names := many()
	err := Write(&bytes.Buffer{}, snapshot.Build(iv, names, snapshot.Options{}), Options{Columns: []string{"nonsense"}})
	if err == nil || !strings.Contains(err.Error(), "choose from") {
		t.Errorf("%v", err)
	}
}

type closedPipe struct{}

var errClosed = errors.New("closed")

func (closedPipe) Write([]byte) (int, error) { return 0, errClosed }

func TestWriteErrorsComeBack(t *testing.T) {
	iv, names := many()
	s := snapshot.Build(iv, names, snapshot.Options{Splits: true})
	live := NewLive(closedPipe{}, Terminal{Escapes: true}, Options{})
	for name, err := range map[string]error{
		"Write":   Write(closedPipe{}, s, Options{}),
		"Command": Command(closedPipe{}, s, &snapshot.Usage{}, Options{}),
		"Paint":   live.Paint(s),
	} {
		if !errors.Is(err, errClosed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
