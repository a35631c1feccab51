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

// probed is the function whose calls are paid for.
type probed struct {
	find   *CallTargets
	target *CallTarget
}

// batches of calls are measured without a contender, with it, and without it again.
const batches, warmUp = 9, 3

// TestACallCosts what the table in docs/CALLCOST.md says: the time that a call of a cheap
// function takes with a means less the time without, in batches of one size.
func TestACallCosts(t *testing.T) {
	needProbes(t)
	calls, rounds := 20000, 3
	if testing.Short() {
		calls, rounds = 2000, 1 // programs that compile first take long to start
	}
	find, targets := findCalls(t, "vfs_write")
	of := &probed{find, targets[0]}
	ours, peers := ownContenders(), peerContenders()
	for _, i := range byTurns(len(ours), len(peers)) {
		c := append(ours, peers...)[i]
		t.Run(c.tool+"/"+c.load, func(t *testing.T) {
			if c.via == KprobeMulti && !hasMulti(t) {
				t.Skip("this kernel has no kprobe.multi")
			}
			told := fact.CallCost{Tool: c.tool, Load: c.load, Order: i}
			if err := c.measure(t, of, &told, calls, rounds); err != nil {
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

// byTurns are the numbers below a + b, those below a and the others spread evenly.
func byTurns(a, b int) (order []int) {
	for i, j := 0, 0; i < a || j < b; {
		if j == b || i < a && i*b <= j*a {
			order, i = append(order, i), i+1
		} else {
			order, j = append(order, a+j), j+1
		}
	}
	return order
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

// measure takes batches without and with the contender, and one by the kernel's BPF statistics.
func (c *contender) measure(t *testing.T, of *probed, told *fact.CallCost, calls, rounds int) error {
	for range rounds {
		bare := inBatches(t, calls)
		r, err := c.start(t, of)
		if err != nil {
			return err
		}
		with := inBatches(t, calls)
		if err := errors.Join(c.check(t, r, told, calls), r.stop()); err != nil {
			return err
		}
		bare = append(bare, inBatches(t, calls)...)
		slices.Sort(bare)
		for _, each := range with {
			told.Added = append(told.Added, each-bare[len(bare)/2])
		}
		told.Bare = append(told.Bare, bare...)
	}
	return nil
}

// inBatches is what a call takes in each of some batches, when all has settled.
func inBatches(t *testing.T, calls int) (each []float64) {
	for range warmUp {
		perCall(t, calls)
	}
	for range batches {
		each = append(each, perCall(t, calls))
	}
	return each
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

func (c *contender) start(t *testing.T, of *probed) (*running, error) {
	if c.peer != nil {
		return c.peer.start(t)
	}
	target := *of.target
	if err := c.compile(&target); err != nil {
		return nil, err
	}
	o := c.options
	o.Via, o.IncludeSelf, o.Silence = c.via, true, time.Hour
	w, err := OpenCalls(of.find, []*CallTarget{&target}, o)
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

// perCall is what a write of one byte to /dev/null takes of its thread's CPU time, in ns. The thread stays on one CPU.
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
	began := threadTime(t)
	for range calls {
		// Not unix.Write: what Go's scheduler does around a system call differs from call to call.
		if n, _, err := unix.RawSyscall(unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), 1); n != 1 {
			t.Fatalf("a byte was not written: %v", err)
		}
	}
	return float64(threadTime(t)-began) / float64(calls)
}

// threadTime is the CPU time of the calling thread: what others do on its CPU meanwhile is no part of it.
func threadTime(t *testing.T) time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now); err != nil {
		t.Fatal(err)
	}
	return time.Duration(now.Nano())
}
