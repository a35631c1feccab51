// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"errors"
	"os"
	"runtime"
	"slices"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/cilium/ebpf"

	"github.com/iowitness/iowitness/expr"
	"github.com/iowitness/iowitness/lab"
	"github.com/iowitness/iowitness/lab/fact"
)

// contender witnesses vfs_write in some way while its cost is measured.
type contender struct {
	tool, load string
	peer       *peer // a program; nil: it is ours
	via        Means
	options    CallOptions
	where      string
	fields     []string
}

// running is a contender at work. Its stop takes everything out of the function's way.
type running struct {
	programs []*ebpf.Program
	stop     func() error
}

// TestACallCosts what the table in docs/CALLCOST.md says: the time that a call of a cheap
// function takes with a means less the time without, by turns.
func TestACallCosts(t *testing.T) {
	if !lab.Guest() {
		t.Skip("functions are probed in the lab's guests: hosts may forbid it")
	}
	calls, rounds := 20000, 3
	if testing.Short() {
		calls, rounds = 2000, 1 // programs that compile first take long to start
	}
	for i, c := range append(ownContenders(), peerContenders()...) {
		t.Run(c.tool+"/"+c.load, func(t *testing.T) {
			if c.via == KprobeMulti && !hasMulti(t) {
				t.Skip("this kernel has no kprobe.multi")
			}
			told := fact.CallCost{Tool: c.tool, Load: c.load, Order: i}
			if err := c.measure(t, &told, calls, rounds); err != nil {
				told.Why = err.Error()
				if c.peer == nil {
					t.Error(err)
				}
			}
			t.Logf("%+v", told)
			lab.Fact(t, fact.KindCallCost, told)
		})
	}
}

// ownContenders are what iowitness func is asked for, by each means.
func ownContenders() (all []contender) {
	loads := []contender{
		{load: "sums", options: CallOptions{Sums: true}},
		{load: "sums by comm", options: CallOptions{Sums: true, By: CallBy{Comm: true}}},
		{load: "a filter that accepts", options: CallOptions{Sums: true}, where: "count < 1024"},
		{load: "a filter that rejects", options: CallOptions{Sums: true}, where: "count > 1024"},
		{load: "sums by an argument", options: CallOptions{Sums: true, KeyWords: 1}, fields: []string{"count"}},
		{load: "three fields, one a name by pointers, none printed", options: CallOptions{Records: true, Slower: time.Hour}, fields: []string{"count", "ret", "file->f_path.dentry->d_name.name"}},
		{load: "slow calls, none printed", options: CallOptions{Records: true, Slower: time.Hour}},
		{load: "sums of one call in 100", options: CallOptions{Sums: true, Ratio: 100}},
	}
	for _, via := range callMeans {
		for _, c := range loads {
			if via == KprobeMulti && (c.where != "" || c.fields != nil) {
				continue // its one program has no function's own code
			}
			c.via, c.tool = via, "iowitness "+string(via)
			all = append(all, c)
		}
	}
	return all
}

// measure takes rounds without and with the contender by turns, and one by the kernel's BPF statistics.
func (c *contender) measure(t *testing.T, told *fact.CallCost, calls, rounds int) error {
	for range rounds {
		bare := perCall(t, calls)
		r, err := c.start(t)
		if err != nil {
			return err
		}
		for range 3 {
			told.Added = append(told.Added, perCall(t, calls)-bare)
		}
		told.Bare = append(told.Bare, bare)
		if err := errors.Join(c.check(t, r, told, calls), r.stop()); err != nil {
			return err
		}
	}
	return nil
}

// check says that the contender has really worked, and what its programs took.
func (c *contender) check(t *testing.T, r *running, told *fact.CallCost, calls int) error {
	if len(r.programs) == 0 {
		return nil
	}
	stats, err := ebpf.EnableStats(unix.BPF_STATS_RUN_TIME)
	if err != nil {
		return err
	}
	defer stats.Close()
	before, err := statsOf(r.programs)
	if err != nil {
		return err
	}
	perCall(t, calls)
	after, err := statsOf(r.programs)
	if err != nil {
		return err
	}
	told.InBPF = float64(after.Runtime-before.Runtime) / float64(calls)
	told.Runs = float64(after.Runs-before.Runs) / float64(calls)
	told.Misses = float64(after.Misses-before.Misses) / float64(calls)
	if told.Runs+told.Misses < 1 {
		t.Errorf("%.3f runs a call", told.Runs)
	}
	return nil
}

func (c *contender) start(t *testing.T) (*running, error) {
	if c.peer != nil {
		return c.peer.start(t)
	}
	find, err := NewCallTargets("")
	if err != nil {
		return nil, err
	}
	targets, _, err := find.Find([]string{"vfs_write"})
	if err != nil {
		return nil, err
	}
	if err := c.compile(targets[0]); err != nil {
		return nil, err
	}
	o := c.options
	o.Via, o.IncludeSelf, o.Silence = c.via, true, time.Hour
	w, err := OpenCalls(find, targets, o)
	if err != nil {
		return nil, err
	}
	if err := w.Start(); err != nil {
		return nil, err
	}
	perCall(t, 100)
	programs := slices.Clone(w.programs)
	for _, name := range []string{o.entryProgram(KprobeMulti), o.returnProgram(KprobeMulti)} {
		if p := w.collection.Programs[name]; p != nil {
			programs = append(programs, p)
		}
	}
	return &running{programs: programs, stop: w.Close}, nil
}

func (c *contender) compile(target *CallTarget) (err error) {
	var filter *expr.Filter
	if c.where != "" {
		if filter, err = target.Scope().Filter(c.where); err != nil {
			return err
		}
	}
	var captured []*expr.Field
	for _, text := range c.fields {
		field, err := target.Scope().Field(text)
		if err != nil {
			return err
		}
		captured = append(captured, field)
	}
	if filter != nil || captured != nil {
		target.Program, err = expr.Compile(filter, captured)
	}
	return err
}

// perCall is what a write of one byte to /dev/null takes, in ns, in a thread that stays on one CPU.
func perCall(t *testing.T, calls int) float64 {
	t.Helper()
	fd, err := unix.Open(os.DevNull, unix.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var last unix.CPUSet
	last.Set(runtime.NumCPU() - 1)
	if err := unix.SchedSetaffinity(0, &last); err != nil {
		t.Fatal(err)
	}
	defer unix.SchedSetaffinity(0, allCPUs())
	b := []byte{1}
	began := time.Now()
	for range calls {
		// Not unix.Write: what Go's scheduler does around a system call differs from call to call.
		if n, _, err := unix.RawSyscall(unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), 1); n != 1 {
			t.Fatalf("a byte was not written: %v", err)
		}
	}
	return float64(time.Since(began)) / float64(calls)
}
