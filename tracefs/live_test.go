// SPDX-License-Identifier: Apache-2.0

package tracefs

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// open opens the running kernel's tracefs, or skips where that is not to be had.
func open(t *testing.T) *FS {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	f, err := Open("/")
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func newInstance(t *testing.T, f *FS, kib int) *Instance {
	t.Helper()
	owner, err := f.NewOwner()
	if err != nil {
		t.Fatal(err)
	}
	i, err := f.NewInstance(owner.String()+"_test", kib)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := i.Close(); err != nil {
			t.Error(err)
		}
	})
	return i
}

func newReader(t *testing.T, f *FS, i ...*Instance) *Reader {
	t.Helper()
	r, err := f.NewReader(i...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// readNow tells all that is there.
func readNow(t *testing.T, r *Reader, tell func(*Record)) {
	t.Helper()
	if _, err := r.Collect(); err != nil {
		t.Fatal(err)
	}
	r.Read(now(t), tell)
}

func now(t *testing.T) uint64 {
	t.Helper()
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		t.Fatal(err)
	}
	return uint64(ts.Nano())
}

// TestEveryFormatOfThisKernelIsRead: the parser meets all that the kernel has.
func TestEveryFormatOfThisKernelIsRead(t *testing.T) {
	f := open(t)
	read := 0
	err := fs.WalkDir(f.root.FS(), "events", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "format" {
			return err
		}
		parts := strings.Split(name, "/")
		format, err := f.Format(parts[1], parts[2])
		if err != nil {
			return err
		}
		common, _ := format.Field("common_pid")
		if format.ID == 0 || format.Name != parts[2] || common.Size != 4 {
			return fmt.Errorf("%s: %+v", name, format)
		}
		if parts[1] != "ftrace" {
			if id, err := f.EventID(parts[1], parts[2]); err != nil || id != uint64(format.ID) {
				return fmt.Errorf("%s: ID %d, not %d: %w", name, format.ID, id, err)
			}
		}
		read++
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if read < 100 {
		t.Errorf("only %d formats", read)
	}
	t.Logf("%d formats", read)
}

// mark writes texts into an instance's own marker file.
func mark(t *testing.T, i *Instance, n int, text func(int) string) {
	t.Helper()
	m, err := i.fs.root.OpenFile(path.Join(i.dir, "trace_marker"), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for k := range n {
		// A full buffer makes the write fail: that is counted by the kernel.
		if _, err := m.WriteString(text(k)); err != nil && !errors.Is(err, unix.EBADF) {
			t.Fatal(err)
		}
	}
}

// length stays below the 1,024 bytes at which kernels before 6.8 cut.
func length(k int) int { return k * 7 % 1000 }

func text(k int) string { return fmt.Sprintf("%d:%s", k, strings.Repeat("x", length(k))) }

// TestEveryRecordIsReadAsItWasWritten: texts of many lengths, read while they are written.
func TestEveryRecordIsReadAsItWasWritten(t *testing.T) {
	f := open(t)
	i := newInstance(t, f, 1024)
	r := newReader(t, f, i)
	if err := i.Trace(true); err != nil {
		t.Fatal(err)
	}
	format, err := f.Format("ftrace", "print")
	if err != nil {
		t.Fatal(err)
	}
	buf, _ := format.Field("buf")
	const n = 3000
	next, begun := 0, now(t)
	latest := begun
	tell := func(record *Record) {
		if record.ID != format.ID {
			t.Fatalf("event %d", record.ID)
		}
		got, _, _ := strings.Cut(string(record.Data[buf.Offset:]), "\n")
		if got != text(next) {
			t.Fatalf("record %d: %q", next, got)
		}
		if record.Time < latest {
			t.Fatalf("record %d at %d, after %d", next, record.Time, latest)
		}
		latest = record.Time
		next++
	}
	for next < n {
		at := next
		mark(t, i, 100, func(k int) string { return text(at + k) })
		readNow(t, r, tell)
		if next != at+100 {
			t.Fatalf("%d records of %d read", next, at+100)
		}
	}
	if latest > now(t) {
		t.Errorf("the last record is of %d, now is %d", latest, now(t))
	}
	stats, err := i.Stats()
	if err != nil || stats.Lost() != 0 || r.Counts().Records != n {
		t.Errorf("%+v, %+v, %v", stats, r.Counts(), err)
	}
}

// TestAFullBufferTakesNothingMoreAndCounts: what was written is what is read and what was lost.
func TestAFullBufferTakesNothingMoreAndCounts(t *testing.T) {
	f := open(t)
	i := newInstance(t, f, 64)
	r := newReader(t, f, i)
	if err := i.Trace(true); err != nil {
		t.Fatal(err)
	}
	const n = 5000
	mark(t, i, n, func(k int) string { return fmt.Sprintf("%d:%s", k, strings.Repeat("y", 50)) })
	first := -1
	readNow(t, r, func(record *Record) {
		if first < 0 {
			_, _ = fmt.Sscanf(string(record.Data[16:]), "%d:", &first)
		}
	})
	stats, err := i.Stats()
	if err != nil {
		t.Fatal(err)
	}
	c := r.Counts()
	if c.Records+stats.Lost() != n || stats.Dropped == 0 || stats.Overrun != 0 || first != 0 {
		t.Errorf("%d written, %d read from number %d on, %+v", n, c.Records, first, stats)
	}
}

// TestStacksOfEvents: each switch of the scheduler with its stack, from all CPUs in order.
func TestStacksOfEvents(t *testing.T) {
	f := open(t)
	i := newInstance(t, f, 4096)
	r := newReader(t, f, i)
	format, err := f.Format("sched", "sched_switch")
	if err != nil {
		t.Fatal(err)
	}
	from := now(t)
	if err := errors.Join(i.Stacks(true), i.Enable("sched", "sched_switch", true), i.Trace(true)); err != nil {
		t.Fatal(err)
	}
	for range 100 { // an idle machine has hardly any switches but ours
		time.Sleep(3 * time.Millisecond)
	}
	if err := i.Trace(false); err != nil {
		t.Fatal(err)
	}
	until := now(t)
	cpus, frames, stacks := map[int]bool{}, 0, 0
	readNow(t, r, func(record *Record) {
		if record.ID != format.ID || record.Time < from || record.Time > until {
			t.Fatalf("event %d at %d, of %d to %d", record.ID, record.Time, from, until)
		}
		cpus[record.CPU] = true
		if record.Stack != nil {
			stacks++
			frames += len(record.Stack)
		}
		for _, address := range record.Stack {
			if address < 1<<63 {
				t.Fatalf("%#x is no address of the kernel", address)
			}
		}
	})
	c := r.Counts()
	if c.Records < 20 || uint64(stacks) < c.Records*95/100 || frames < 3*stacks || c.OutOfOrder != 0 || c.StrayStacks != 0 || c.BrokenPages != 0 {
		t.Errorf("%d of %d events have a stack, %d frames: %+v", stacks, c.Records, frames, c)
	}
	t.Logf("%d CPUs, %d events, %d frames, %+v", len(cpus), c.Records, frames, c)
}

// TestOnlyTheNamedThreadsPass: the filter is the instance's own, and thread 0 lets nobody pass.
func TestOnlyTheNamedThreadsPass(t *testing.T) {
	f := open(t)
	i := newInstance(t, f, 1024)
	r := newReader(t, f, i)
	if err := errors.Join(i.OnlyThreads([]uint32{0}, true), i.Enable("raw_syscalls", "sys_enter", true), i.Trace(true)); err != nil {
		t.Fatal(err)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	own := uint32(unix.Gettid())
	calls := func() (mine int) {
		for range 100 {
			unix.Getpid()
			unix.Getppid()
		}
		readNow(t, r, func(record *Record) {
			if pid := binary.NativeEndian.Uint32(record.Data[4:]); pid != own {
				t.Errorf("an event of thread %d", pid)
			}
			mine++
		})
		return mine
	}
	if n := calls(); n != 0 {
		t.Errorf("%d events while nobody may pass", n)
	}
	if err := i.AddThreads([]uint32{own}); err != nil {
		t.Fatal(err)
	}
	if n := calls(); n < 200 {
		t.Errorf("%d events of 200 system calls and more", n)
	}
}
