// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/iowitness/iowitness/lab"
)

// faultMeans are those that faults are tried on, with few functions, so that attaching is quick.
var faultMeans = []string{"tp_btf", "fexit", "kretprobe", "tracefs", "kmod"}

// eachFault runs a test with each means that works on the guest's kernel.
func eachFault(t *testing.T, do func(t *testing.T, device lab.Device, flags []string)) {
	if !lab.Guest() {
		t.Skip("only on the lab's kernels")
	}
	device := lab.NullBlk(t, 3*time.Millisecond)
	tried := faultMeans
	if testing.Short() {
		tried = []string{"tp_btf"}
	}
	for _, via := range tried {
		t.Run(via, func(t *testing.T) {
			flags := []string{"--max-cost", "0", "--via", via, "--functions", "io_schedule,io_schedule_timeout"}
			if r := runIt(t, append(flags, "--for", "100ms")...); r.status == exitUnsupported {
				if via != "kmod" { // whose module is only there if it could be built
					t.Error(r.err)
				}
				t.Skip(r.err)
			}
			do(t, device, flags)
		})
	}
}

// started is the program under way: it tells a document each second.
type started struct {
	cmd  *exec.Cmd
	errs bytes.Buffer
	docs chan [][]byte // all, once it has ended
}

// startIt starts the program, and returns when it witnesses.
func startIt(t *testing.T, args ...string) *started {
	t.Helper()
	s := &started{cmd: exec.Command(binary, append(args, "--json", "--interval", "1s")...)}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	s.cmd.Stderr = &s.errs
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.cmd.Process.Kill(); s.cmd.Wait() })
	begun := make(chan bool, 1)
	s.docs = make(chan [][]byte, 1)
	go func() { // all the time: with its output full it could not go on
		var docs [][]byte
		lines := bufio.NewScanner(out)
		for lines.Buffer(nil, 16<<20); lines.Scan(); {
			docs = append(docs, bytes.Clone(lines.Bytes()))
			if len(docs) == 1 {
				begun <- true
			}
		}
		begun <- false
		s.docs <- docs
	}()
	if !<-begun {
		s.cmd.Wait()
		t.Fatalf("it ends before it tells anything: %s", s.errs.String())
	}
	return s
}

// finish ends the program and sums up what it tells until then.
func (s *started) finish(t *testing.T) (sum document) {
	t.Helper()
	s.cmd.Process.Signal(os.Interrupt)
	sum.Lost = map[string]lossDoc{}
	for _, line := range <-s.docs {
		doc := parseDocument(t, line)
		sum.Waits = append(sum.Waits, doc.Waits...)
		sum.Notes = append(sum.Notes, doc.Notes...)
		for id, l := range doc.Lost {
			sum.Lost[id] = lossDoc{sum.Lost[id].Count + l.Count, sum.Lost[id].NS + l.NS}
		}
	}
	if err := s.cmd.Wait(); err != nil {
		t.Fatalf("%v: %s", err, s.errs.String())
	}
	return sum
}

// reads are some that have ended: in so many of them the thread slept.
type reads struct {
	pid   uint32
	slept int
}

// readsOf runs direct reads to their end.
func readsOf(t *testing.T, device lab.Device, n int) reads {
	t.Helper()
	child := lab.Workload{Name: "counted", Args: []string{device.Path, "1", strconv.Itoa(n), "direct"}}.Start(t)
	child.Go()
	return reads{child.PID(), child.Wait().Slept}
}

func countOf(doc document, pid uint32) (n uint64) {
	for _, w := range doc.Waits {
		if w.PID == pid {
			n += w.Count
		}
	}
	return n
}

// within compares what was seen with what the reads know of themselves; a process's begin and end may wait too.
func within(t *testing.T, what string, doc document, r reads) {
	t.Helper()
	if got := countOf(doc, r.pid); got < uint64(r.slept-r.slept/100-1) || got > uint64(r.slept+r.slept/100+20) {
		t.Errorf("%s: %d waits seen of %d", what, got, r.slept)
	}
}

// TestFaultKill (case F8): nothing stays attached after kill -9, and the next run works.
func TestFaultKill(t *testing.T) {
	eachFault(t, func(t *testing.T, device lab.Device, flags []string) {
		s := startIt(t, flags...)
		ids := programsOf(t, s.cmd.Process.Pid)
		s.cmd.Process.Kill()
		s.cmd.Wait()
		for deadline := time.Now().Add(20 * time.Second); slices.ContainsFunc(ids, loaded); time.Sleep(50 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("of the programs %v some stay after kill -9", ids)
			}
		}
		next := startIt(t, flags...)
		r := readsOf(t, device, 500)
		within(t, "after a killed run", next.finish(t), r)
		if events, err := os.ReadFile("/sys/kernel/tracing/kprobe_events"); err == nil && strings.Contains(string(events), "iowitness") {
			t.Errorf("kprobe events stay: %s", events)
		}
	})
}

// TestFaultStop (case F8): a stopped program costs nothing, and says what it has missed.
func TestFaultStop(t *testing.T) {
	eachFault(t, func(t *testing.T, device lab.Device, flags []string) {
		s := startIt(t, flags...)
		before := readsOf(t, device, 300)
		time.Sleep(time.Second)
		s.cmd.Process.Signal(syscall.SIGSTOP)
		time.Sleep(12 * time.Second)
		unseen := readsOf(t, device, 300)
		if !testing.Short() {
			time.Sleep(18 * time.Second)
		}
		s.cmd.Process.Signal(syscall.SIGCONT)
		time.Sleep(2 * time.Second)
		after := readsOf(t, device, 300)
		doc := s.finish(t)
		within(t, "before the stop", doc, before)
		within(t, "after the stop", doc, after)
		seen := countOf(doc, unseen.pid)
		if slices.Contains(flags, "tracefs") && seen >= uint64(unseen.slept) {
			return // all of it fitted into the kernel's buffers
		}
		if seen >= uint64(unseen.slept) {
			t.Errorf("%d waits seen in the silence", seen)
		}
		if !slices.ContainsFunc(doc.Notes, func(n string) bool { return strings.Contains(n, "nobody read") }) {
			t.Errorf("no word of the silence in %q", doc.Notes)
		}
	})
}

// TestFaultCPUOffline: a CPU goes and comes back while threads wait.
func TestFaultCPUOffline(t *testing.T) {
	const online = "/sys/devices/system/cpu/cpu1/online"
	eachFault(t, func(t *testing.T, device lab.Device, flags []string) {
		s := startIt(t, flags...)
		child := lab.Workload{Name: "counted", Args: []string{device.Path, "4", "750", "direct"}}.Start(t)
		child.Go()
		for _, state := range []string{"0", "1", "0", "1"} {
			time.Sleep(300 * time.Millisecond)
			if err := os.WriteFile(online, []byte(state), 0); err != nil {
				t.Fatal(err)
			}
		}
		r := reads{child.PID(), child.Wait().Slept}
		within(t, "with a CPU that goes and comes", s.finish(t), r)
	})
}

// TestFaultThreadStorm: very many short threads; those that wait are all counted, or told as lost.
func TestFaultThreadStorm(t *testing.T) {
	threads, every := 100_000, 100
	if testing.Short() {
		threads = 5_000
	}
	eachFault(t, func(t *testing.T, device lab.Device, flags []string) {
		child := lab.Workload{Name: "storm", Args: []string{device.Path, strconv.Itoa(threads), strconv.Itoa(every)}}.Start(t)
		s := startIt(t, append(flags, "--pid", fmt.Sprint(child.PID()))...)
		child.Go()
		truth := child.Wait()
		time.Sleep(2 * time.Second)
		doc := s.finish(t)
		seen := countOf(doc, child.PID())
		var lost uint64
		for _, id := range []string{"state_full", "ring_exit", "missed_return", "buffer_lost"} {
			lost += doc.Lost[id].Count
		}
		if seen+lost < uint64(truth.Slept-truth.Slept/50) {
			t.Errorf("%d waits seen and %d lost of %d; lost %v", seen, lost, truth.Slept, doc.Lost)
		}
	})
}

// TestFaultTwoAtOnce: two instances see the same. The module serves one at a time:
// the second is told so, and the first sees all the same.
func TestFaultTwoAtOnce(t *testing.T) {
	eachFault(t, func(t *testing.T, device lab.Device, flags []string) {
		a := startIt(t, flags...)
		if slices.Contains(flags, "kmod") {
			if second := runIt(t, append(flags, "--for", "1s")...); second.status != exitUnsupported || !strings.Contains(second.err, "in use by") {
				t.Errorf("a second one ends with %d: %s", second.status, second.err)
			}
			r := readsOf(t, device, 500)
			within(t, "the first", a.finish(t), r)
			return
		}
		b := startIt(t, flags...)
		r := readsOf(t, device, 500)
		within(t, "the first", a.finish(t), r)
		within(t, "the second", b.finish(t), r)
	})
}
