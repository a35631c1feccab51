// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/lab"
)

// openFS witnesses file systems, or skips where the kernel cannot do it by this means.
func openFS(t *testing.T, o FSOptions) *FS {
	t.Helper()
	lab.NeedRoot(t)
	f, err := OpenFS(o)
	if errors.Is(err, ErrFSUnsupported) && !lab.Guest() {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if err := f.Start(); err != nil {
		t.Fatal(err)
	}
	return f
}

// eachFSMeans runs a test by each means, and by the first one also as an old kernel has it.
func eachFSMeans(t *testing.T, test func(*testing.T, FSOptions)) {
	for _, via := range fsMeans {
		t.Run(string(via), func(t *testing.T) { test(t, FSOptions{Via: via}) })
	}
	t.Run("old "+string(TPBTF), func(t *testing.T) { test(t, FSOptions{Via: TPBTF, old: true}) })
}

// devOf is the device of the superblock that a directory is on.
func devOf(t *testing.T, dir string) event.Dev {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		t.Fatal(err)
	}
	return event.MakeDev(unix.Major(st.Dev), unix.Minor(st.Dev))
}

func inode(t *testing.T, file string) uint64 {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Stat(file, &st); err != nil {
		t.Fatal(err)
	}
	return st.Ino
}

// TestCallsAreCountedExactly: by file and process, against the workload's own numbers and clock.
func TestCallsAreCountedExactly(t *testing.T) {
	const opens, reads, writes, fsyncs = 50, 200, 100, 40
	lab.NeedRoot(t)
	dir := lab.Mount(t, lab.Loop(t, 400), "ext4", "")
	file := filepath.Join(dir, "data")
	eachFSMeans(t, func(t *testing.T, o FSOptions) {
		o.Devs = []event.Dev{devOf(t, dir)}
		f := openFS(t, o)
		child := lab.Workload{Name: "files", Args: []string{file, fmt.Sprint(opens), fmt.Sprint(reads), fmt.Sprint(writes), fmt.Sprint(fsyncs)}}.Start(t)
		child.Go()
		truth := child.Wait()
		var paths []string
		if err := f.Drain(time.Unix(1, 0), func(record any) {
			if file, ok := record.(*event.File); ok {
				paths = append(paths, file.Path)
			}
		}); err != nil {
			t.Fatal(err)
		}
		iv, err := f.Interval()
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(paths, " "); got != "/data" {
			t.Errorf("paths told: %q", got)
		}
		for op, count := range map[event.FSOp]uint64{event.FSOpen: opens + 1, event.FSRead: reads, event.FSWrite: writes + fsyncs, event.FSFsync: fsyncs} {
			sum := iv.Sums[event.FSKey{Ino: inode(t, file), Dev: devOf(t, dir), PID: child.PID(), Op: op}]
			if sum == nil {
				t.Errorf("no %v seen", op)
				continue
			}
			own := truth.Calls[op.String()]
			// A preemptible kernel does not run each program: that is counted.
			stats, err := f.Stats()
			if err != nil {
				t.Fatal(err)
			}
			if stats.Misses > 0 && sum.Count < count && sum.Count+stats.Misses >= count {
				t.Logf("%v: %d of %d, %d runs skipped by the kernel", op, sum.Count, count, stats.Misses)
				continue
			}
			if sum.Count != count || sum.Bytes != uint64(own.Bytes) || sum.Errors != 0 {
				t.Errorf("%v: %+v, not %d of %d bytes", op, sum, count, own.Bytes)
			}
			// Between the two clocks the thread may lose its CPU; the way to the kernel and back is long for
			// an open, and where a hypervisor has a hand in system calls.
			slack := own.Total/20 + truth.RunQueue + time.Duration(own.Count)*10*time.Microsecond
			if op == event.FSOpen {
				slack = own.Total
			}
			if took := time.Duration(sum.NS); took > own.Total || took < own.Total-slack {
				t.Errorf("%v took %v by the kernel side, %v by the workload's clock, %v off the CPU", op, took, own.Total, truth.RunQueue)
			}
			var inHist uint64
			for _, c := range sum.Hist {
				inHist += uint64(c.N)
			}
			if inHist != sum.Count || sum.Max > uint64(own.Max) {
				t.Errorf("%v: %d in the histogram of %d calls, longest %d of %d ns", op, inHist, sum.Count, sum.Max, own.Max)
			}
		}
		checkParts(t, iv)
		again, err := f.Interval()
		if err != nil || len(again.Sums)+len(again.Parts) > 0 {
			t.Errorf("told again: %+v, %v", again, err)
		}
	})
}

// checkParts: what calls slept is within what they took, and each stack's part within that.
func checkParts(t *testing.T, iv *event.FSInterval) {
	t.Helper()
	parts := map[event.FSKey]uint64{}
	for _, p := range iv.Parts {
		parts[p.Key] += p.NS
		if len(p.Stack) == 0 {
			t.Errorf("a part without a stack: %+v", p)
		}
	}
	for key, sum := range iv.Sums {
		if sum.Blocked+sum.RunQueue > sum.DividedNS || sum.DividedNS > sum.NS || parts[key] > sum.Blocked {
			t.Errorf("%+v: %d ns, of them divided %d, blocked %d, run queue %d, parts %d", key, sum.NS, sum.DividedNS, sum.Blocked, sum.RunQueue, parts[key])
		}
		if key.Op == event.FSFsync && (sum.Divided != sum.Count || parts[key] == 0) {
			t.Errorf("of %d fsyncs %d were divided, parts %d ns", sum.Count, sum.Divided, parts[key])
		}
	}
}

// run counts what a workload does, by operation.
func (f *FS) run(t *testing.T, work lab.Workload) (ops map[event.FSOp]*event.FSSum, truth lab.Truth) {
	t.Helper()
	child := work.Start(t)
	child.Go()
	truth = child.Wait()
	iv, err := f.Interval()
	if err != nil {
		t.Fatal(err)
	}
	checkParts(t, iv)
	ops = map[event.FSOp]*event.FSSum{}
	for key, sum := range iv.Sums {
		if key.PID != child.PID() {
			continue
		}
		if ops[key.Op] == nil {
			ops[key.Op] = &event.FSSum{}
		}
		ops[key.Op].Add(sum)
	}
	return ops, truth
}

// TestMsyncIsOfItsMapping: it has no descriptor, but an address.
func TestMsyncIsOfItsMapping(t *testing.T) {
	lab.NeedRoot(t)
	dir := lab.Mount(t, lab.Loop(t, 64), "ext4", "")
	f := openFS(t, FSOptions{Devs: []event.Dev{devOf(t, dir)}})
	if f.programs["enter"] != enterWithVMA {
		t.Skip("before 5.17, or not by tp_btf")
	}
	ops, truth := f.run(t, lab.Workload{Name: "msync", Args: []string{filepath.Join(dir, "mapped"), "50"}})
	if s := ops[event.FSMsync]; s == nil || s.Count != 50 || s.Divided != 50 || s.Blocked == 0 || s.NS > uint64(truth.Total) {
		t.Errorf("%+v of %+v", s, truth)
	}
}

// TestSynchronousWritesAreDivided: O_SYNC makes each write one that synchronizes.
func TestSynchronousWritesAreDivided(t *testing.T) {
	lab.NeedRoot(t)
	dir := lab.Mount(t, lab.Loop(t, 64), "ext4", "")
	eachFSMeans(t, func(t *testing.T, o FSOptions) {
		o.Devs = []event.Dev{devOf(t, dir)}
		f := openFS(t, o)
		ops, truth := f.run(t, lab.Workload{Name: "osync", Args: []string{filepath.Join(dir, "log"), "50"}})
		if s := ops[event.FSWrite]; s == nil || s.Count != 50 || s.Divided != 50 || s.Blocked == 0 || s.NS > uint64(truth.Total) || s.DividedNS != s.NS {
			t.Errorf("%+v of %+v", s, truth)
		}
	})
}

// TestASilentUserSideEndsTheCounting: until somebody asks again.
func TestASilentUserSideEndsTheCounting(t *testing.T) {
	lab.NeedRoot(t)
	silence := 500 * time.Millisecond
	if lab.Guest() {
		silence = 10 * time.Second
	}
	dir := lab.Mount(t, lab.Loop(t, 64), "ext4", "")
	work := lab.Workload{Name: "osync", Args: []string{filepath.Join(dir, "log"), "20"}}
	eachFSMeans(t, func(t *testing.T, o FSOptions) {
		o.Silence, o.Devs = silence, []event.Dev{devOf(t, dir)}
		f := openFS(t, o)
		if closed, err := f.Heartbeat(); closed || err != nil {
			t.Fatalf("closed from the start: %v, %v", closed, err)
		}
		time.Sleep(2 * silence)
		unheard := work.Start(t)
		unheard.Go()
		unheard.Wait()
		if closed, err := f.Heartbeat(); !closed || err != nil {
			t.Errorf("after the silence: closed %v, %v", closed, err)
		}
		if iv, err := f.Interval(); err != nil || len(iv.Sums) > 0 {
			t.Errorf("counted in silence: %+v, %v", iv, err)
		}
		if ops, _ := f.run(t, work); ops[event.FSWrite] == nil || ops[event.FSWrite].Count != 20 {
			t.Errorf("after it: %+v", ops)
		}
	})
}

// TestAProcessThatDoesNotExist is said to be so, not watched for ever.
func TestAProcessThatDoesNotExist(t *testing.T) {
	lab.NeedRoot(t)
	f, err := OpenFS(FSOptions{PIDs: []uint32{1 << 30}})
	if errors.Is(err, ErrFSUnsupported) && !lab.Guest() {
		t.Skip(err)
	}
	if pid := new(PIDError); !errors.As(err, &pid) {
		f.Close()
		t.Errorf("%v", err)
	}
}

// TestWhatDoesNotFitIsCounted: more files than there is room for in an interval.
func TestWhatDoesNotFitIsCounted(t *testing.T) {
	const files = 9000 // the kernel side's maps hold 8,192, its ring some 4,500 paths
	lab.NeedRoot(t)
	dir := lab.Mount(t, lab.Loop(t, 200), "ext4", "", "-N", "20000")
	f := openFS(t, FSOptions{Devs: []event.Dev{devOf(t, dir)}})
	ops, _ := f.run(t, lab.Workload{Name: "make", Args: []string{dir, fmt.Sprint(files)}})
	lost := map[string]uint64{}
	losses, err := f.Losses()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range losses {
		lost[l.ID] = l.Count
	}
	var counted uint64
	for _, sum := range ops {
		counted += sum.Count
	}
	if counted != 8192 || counted+lost["sums"] != 2*files { // each is opened and written
		t.Errorf("%d calls counted, %d lost, of %d", counted, lost["sums"], 2*files)
	}
	var paths uint64
	if err := f.Drain(time.Unix(1, 0), func(record any) {
		if _, ok := record.(*event.File); ok {
			paths++
		}
	}); err != nil {
		t.Fatal(err)
	}
	if paths == 0 || paths+lost["ring_file"] < files {
		t.Errorf("%d paths told and %d lost, of %d", paths, lost["ring_file"], files)
	}
	if ops, _ := f.run(t, lab.Workload{Name: "osync", Args: []string{filepath.Join(dir, "log"), "5"}}); ops[event.FSWrite] == nil || ops[event.FSWrite].Count != 5 {
		t.Errorf("in the next interval: %+v", ops)
	}
}
