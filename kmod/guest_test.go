// SPDX-License-Identifier: Apache-2.0

package kmod

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/iowitness/iowitness/lab"
)

func TestMain(m *testing.M) {
	lab.Main()
	os.Exit(m.Run())
}

// load loads the module that was built for this guest, until the test ends. The
// kernel's log has to stay clean meanwhile.
func load(t *testing.T, p Params) {
	t.Helper()
	path := lab.GuestModule()
	if path == "" {
		t.Skip("needs one of the lab's guests, with the kernel module beside")
	}
	cleanLog(t)
	if err := Load(path, p); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := Unload(5 * time.Second); err != nil {
			t.Error(err)
		}
	})
}

// control opens the control file until the test ends.
func control(t *testing.T) *Controller {
	t.Helper()
	c, err := Open("/")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// must ends the test at an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func state(t *testing.T) *State {
	t.Helper()
	s, err := Read("/")
	must(t, err)
	return s
}

// process gives what the module counted of a process.
func (s *State) process(pid int) *Process {
	for i := range s.Processes {
		if s.Processes[i].TGID == uint32(pid) {
			return &s.Processes[i]
		}
	}
	return &Process{}
}

// calls adds up a count over all probes.
func (s *State) calls(count func(*Probe) uint64) (n uint64) {
	for i := range s.Probes {
		n += count(&s.Probes[i])
	}
	return n
}

func (s *State) loss(id string) Loss {
	for _, l := range s.Losses {
		if l.ID == id {
			return l
		}
	}
	return Loss{}
}

// balanced checks that nothing is unaccounted for, with all threads back.
func (s *State) balanced(t *testing.T) {
	t.Helper()
	entries, returns := s.calls(func(p *Probe) uint64 { return p.Entries }), s.calls(func(p *Probe) uint64 { return p.Returns })
	var sum, back, inHist uint64
	add := func(c *Counts) {
		sum += c.Entries
		back += c.Returns()
		for _, slot := range c.Slots {
			inHist += slot.N
		}
	}
	waits := s.Ended.Flagged.Count + s.Ended.Unflagged.Count
	add(&s.Ended.Counts)
	for i := range s.Processes {
		p := &s.Processes[i]
		add(&p.Counts)
		waits += p.Flagged.Count + p.Unflagged.Count
	}
	full := s.loss("table_full").Count
	given := s.loss("given_up").Count
	if entries != returns+given || sum > entries || sum+full < entries || back+full != returns || inHist != waits {
		t.Errorf("%d entries, %d returns, %d given up; of processes %d entries, %d returns, %d waits, %d in histograms; table full: %d",
			entries, returns, given, sum, back, waits, inHist, full)
	}
	for _, id := range []string{"unpaired", "clock", "waiting_full"} {
		if l := s.loss(id); l.Count > 0 {
			t.Errorf("lost: %+v", l)
		}
	}
}

func run(t *testing.T, name string, args ...string) lab.Truth {
	t.Helper()
	child := lab.Workload{Name: name, Args: args}.Start(t)
	child.Go()
	return child.Wait()
}

// callsOf counts calls by the kernel's own probes on the functions' entries, which
// cannot miss a sleeper: the truth that the module is compared with.
func callsOf(t *testing.T, functions ...string) (calls func() uint64) {
	t.Helper()
	const dir = "/sys/kernel/tracing/"
	tell := func(file, text string) {
		t.Helper()
		f, err := os.OpenFile(dir+file, os.O_WRONLY|os.O_APPEND, 0)
		must(t, err)
		_, err = f.WriteString(text)
		must(t, errors.Join(err, f.Close()))
	}
	for _, name := range functions {
		tell("kprobe_events", "p:truth/"+name+" "+name+"\n")
		tell("events/truth/"+name+"/enable", "1")
	}
	t.Cleanup(func() {
		for _, name := range functions {
			tell("events/truth/"+name+"/enable", "0")
			tell("kprobe_events", "-:truth/"+name+"\n")
		}
	})
	read := func() (n uint64) {
		text, err := os.ReadFile(dir + "kprobe_profile")
		must(t, err)
		for line := range strings.Lines(string(text)) {
			var name string
			var hits, misses uint64
			if _, err := fmt.Sscan(line, &name, &hits, &misses); err == nil && slices.Contains(functions, name) {
				n += hits + misses
			}
		}
		return n
	}
	before := read()
	return func() uint64 { return read() - before }
}

var probed = []string{"io_schedule", "io_schedule_timeout"}

// accounted is all calls that the module knows of, seen or not.
func (s *State) accounted() uint64 {
	return s.Closed.Unseen() + s.calls(func(p *Probe) uint64 {
		return p.Entries + p.Skipped + p.Nested + p.Missed + p.Recursed
	})
}

// about is whether a count is within a share of what is expected.
func about(got, want uint64, percent float64) bool {
	off := float64(got) - float64(want)
	return math.Abs(off) <= float64(want)*percent/100
}

// cleanLog fails the test if the kernel warns while it runs.
func cleanLog(t *testing.T) {
	t.Helper()
	fd, err := unix.Open("/dev/kmsg", unix.O_RDONLY|unix.O_NONBLOCK, 0)
	must(t, err)
	if _, err := unix.Seek(fd, 0, unix.SEEK_END); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		defer unix.Close(fd)
		b := make([]byte, 8192)
		for {
			n, err := unix.Read(fd, b)
			if err != nil || n == 0 {
				return
			}
			for _, word := range []string{"WARNING:", "BUG:", "Call Trace", "Oops", "lockup", "stall", "blocked for more than", "refcount_t"} {
				if strings.Contains(string(b[:n]), word) {
					t.Errorf("the kernel's log: %s", b[:n])
				}
			}
		}
	})
}
