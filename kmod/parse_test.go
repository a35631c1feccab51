// SPDX-License-Identifier: Apache-2.0

package kmod

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// fixture is a text that the module told in a guest of 6.1. One probe was made to fail.
func fixture(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata/proc/iowitness", name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestRead(t *testing.T) {
	s, err := Read("testdata")
	if err != nil {
		t.Fatal(err)
	}
	p := s.Processes[0]
	if len(s.Processes) != 4 || p.Comm != "kmod.test" || p.Flagged.Count == 0 || p.Returns() > p.Entries {
		t.Errorf("processes: %+v", s.Processes)
	}
	if s.Processes[2].Comm != "a b\\\"\x1b]0;\xff" {
		t.Errorf("a hostile name is %q", s.Processes[2].Comm)
	}
	if len(s.Probes) != 3 || s.Probes[0].Function != "io_schedule" || !s.Probes[0].Flagged || s.Probes[2].Error != 2 {
		t.Errorf("probes: %+v", s.Probes)
	}
	if s.Cost.Each() <= 0 || s.Cost.Estimate() < s.Cost.Each() {
		t.Errorf("cost: %+v", s.Cost)
	}
	if c := s.Control; !c.GateOpen || c.Ratio != 1 || c.Processes != 4096 || c.Looking != "open" || c.Loaded <= 0 {
		t.Errorf("control: %+v", c)
	}
}

func TestReadWithoutModule(t *testing.T) {
	if _, err := Read(t.TempDir()); !errors.Is(err, ErrNotLoaded) {
		t.Error(err)
	}
}

// Whatever is cut or changed is refused, with the line.
func TestGarbledTextIsRefused(t *testing.T) {
	text := string(fixture(t, "waits"))
	lines := strings.SplitAfter(text, "\n")
	for n := range len(text) - 1 {
		if _, err := ParseWaits([]byte(text[:n])); !errors.Is(err, ErrFormat) {
			t.Fatalf("cut after %d bytes: %v", n, err)
		}
	}
	for i := range lines[:len(lines)-1] {
		without := strings.Join(append(append([]string{}, lines[:i]...), lines[i+1:]...), "")
		if _, err := ParseWaits([]byte(without)); !errors.Is(err, ErrFormat) {
			t.Errorf("without line %d: %v", i+1, err)
		}
	}
	process := 0
	for i, line := range lines {
		if strings.HasPrefix(line, "process ") {
			process = i
			break
		}
	}
	for old, new := range map[string]string{
		"process ": "proces ", " alive ": " undead ", "\"kmod.test\"": "kmod.test", "kmod.": "kmod\x1b", "kmod": "kmod\\141",
		"\"kmod": "\"\\000", " flagged": " Flagged", ":": ";", "process": "process -1", "\n": " 1\n", "kmod.test\"": "a_name_that_is_too_long\"",
	} {
		changed := append([]string{}, lines...)
		changed[process] = strings.Replace(changed[process], old, new, 1)
		_, err := ParseWaits([]byte(strings.Join(changed, "")))
		if !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), fmt.Sprintf("line %d:", process+1)) {
			t.Errorf("%q instead of %q: %v", new, old, err)
		}
	}
}

func TestOtherVersionIsTold(t *testing.T) {
	text := strings.Replace(string(fixture(t, "waits")), "iowitness-waits 1\n", "iowitness-waits 2\n", 1)
	if _, err := ParseWaits([]byte(text)); !errors.Is(err, ErrVersion) || errors.Is(err, ErrFormat) {
		t.Error(err)
	}
	text = strings.Replace(string(fixture(t, "control")), "iowitness-control 1\n", "iowitness-control 9\n", 1)
	if _, err := ParseControl([]byte(text)); !errors.Is(err, ErrVersion) {
		t.Error(err)
	}
}

func TestGarbledControlIsRefused(t *testing.T) {
	text := string(fixture(t, "control"))
	for n := range text {
		if _, err := ParseControl([]byte(text[:n])); err == nil {
			t.Fatalf("cut after %d bytes it is taken", n)
		}
	}
	for _, more := range []string{"x 1\n", "\n"} {
		if _, err := ParseControl([]byte(text + more)); err == nil {
			t.Errorf("%q after the end is taken", more)
		}
	}
}

func TestParams(t *testing.T) {
	p := Params{
		MaxActive: 4, Processes: 64, Probes: []string{"jbd2_log_wait_commit", "bit_wait_io"}, Heartbeat: 3 * time.Second,
		Ratio: 8, DutyOn: time.Second, DutyEvery: 5 * time.Second, GateClosed: true, Transient: true,
	}
	want := "maxactive=4 processes=64 heartbeat_ms=3000 ratio=8 duty_on_ms=1000 duty_every_ms=5000 probes=jbd2_log_wait_commit,bit_wait_io gate=0 transient=1"
	if p.String() != want || (Params{}).String() != "" {
		t.Errorf("%q, and for nothing %q", p, Params{})
	}
	for _, name := range []string{"", "a b", "x ratio=2", "a,b", "a\"b"} {
		if (Params{Probes: []string{name}}).check() == nil {
			t.Errorf("%q is taken for a function", name)
		}
	}
}

// What is accepted is what the module would write of it: nothing is guessed or dropped.
func FuzzParseWaits(f *testing.F) {
	f.Add(fixture(f, "waits"))
	f.Add([]byte("iowitness-waits 1\nend 2\n"))
	f.Add([]byte("iowitness-waits 1\nprocess 1 0 5 alive \"\\040x\" 9 1 1 1 0 0 0 0 0 1 0 0 0 0 0 0 unflagged 0:1 127:18446744073709551615\nend 3\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := ParseWaits(text)
		if err != nil {
			return
		}
		again, err := ParseWaits(write(s))
		if err != nil {
			t.Fatalf("%v\n%s", err, write(s))
		}
		if !reflect.DeepEqual(s, again) {
			t.Errorf("%+v\nis not\n%+v", s, again)
		}
	})
}

func FuzzParseControl(f *testing.F) {
	f.Add(fixture(f, "control"))
	f.Fuzz(func(t *testing.T, text []byte) {
		_, _ = ParseControl(text)
	})
}

// write is a state in the module's own form.
func write(s *State) []byte {
	var b strings.Builder
	lines := 1
	line := func(format string, args ...any) {
		fmt.Fprintf(&b, format+"\n", args...)
		lines++
	}
	line("iowitness-waits %d", WaitsVersion)
	line("now %d", s.Now)
	line("epoch %d", s.Epoch)
	for name, r := range map[string]ByReason{"time": s.Time, "closed": s.Closed} {
		for reason, n := range map[string]uint64{"open": r.Open, "gate": r.Gate, "duty": r.Duty, "heartbeat": r.Heartbeat} {
			line("%s %s %d", name, reason, n)
		}
	}
	for _, p := range s.Probes {
		line("probe %s %s %d %d %d %d %d %d %d %d", p.Function, flagged(p.Flagged), -p.Error, p.MaxActive,
			p.Entries, p.Returns, p.Skipped, p.Nested, p.Missed, p.Recursed)
	}
	for _, l := range s.Losses {
		line("loss %s %d %d", l.ID, l.Count, l.NS)
	}
	line("cost %d %d %d %d", s.Cost.Runs, s.Cost.Timed, s.Cost.NS, s.Cost.MaxNS)
	for i := range s.Processes {
		p := &s.Processes[i]
		line("process %d %d %d %s \"%s\" %d %s %d %d %s%s", p.TGID, p.PPID, p.Born, map[bool]string{true: "alive", false: "ended"}[p.Alive],
			escape(p.Comm), p.Now, counts(&p.Counts), p.Waiting, p.Oldest, flagged(p.OldestFlagged), slots(p.Slots))
	}
	line("ended %d %s%s", s.Ended.Processes, counts(&s.Ended.Counts), slots(s.Ended.Slots))
	line("end %d", lines)
	return []byte(b.String())
}

func flagged(is bool) string {
	if is {
		return "flagged"
	}
	return "unflagged"
}

func counts(c *Counts) string {
	return strings.Trim(fmt.Sprint([]any{
		c.Entries, c.Flagged.Count, c.Flagged.NS, c.Unflagged.Count, c.Unflagged.NS, c.NotWaited.Count, c.NotWaited.NS,
		c.BelowMin, c.MaxNS, c.Epochs[0].Epoch, c.Epochs[0].NS, c.Epochs[1].Epoch, c.Epochs[1].NS,
	}), "[]")
}

func slots(slots []SlotCount) string {
	var b strings.Builder
	for _, s := range slots {
		fmt.Fprintf(&b, " %d:%d", s.Slot, s.N)
	}
	return b.String()
}

func escape(name string) string {
	var b strings.Builder
	for i := range len(name) {
		if plain(name[i]) {
			b.WriteByte(name[i])
		} else {
			fmt.Fprintf(&b, "\\%03o", name[i])
		}
	}
	return b.String()
}
