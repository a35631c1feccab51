// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"encoding/binary"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/expr"
	"github.com/iowitness/iowitness/kernel"
	"github.com/iowitness/iowitness/tracefs"
)

// openTracedTargets witnesses functions of this process without BPF.
func openTracedTargets(t *testing.T, targets []*CallTarget, o CallOptions) *tracedCalls {
	t.Helper()
	o.PIDs = []uint32{uint32(os.Getpid())}
	return openTracedOfAll(t, targets, o)
}

// openTracedOfAll witnesses everybody's.
func openTracedOfAll(t *testing.T, targets []*CallTarget, o CallOptions) *tracedCalls {
	t.Helper()
	needProbes(t)
	o.Via, o.IncludeSelf = Tracefs, true
	opened, err := OpenCallWitness(nil, targets, o)
	if err != nil {
		t.Fatal(err)
	}
	w := opened.(*tracedCalls)
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		nothingLeft(t)
	})
	return w
}

// nothingLeft fails for what a witness has left in the tracing file system.
func nothingLeft(t *testing.T) {
	t.Helper()
	fs, err := tracefs.Open("/")
	if err != nil {
		t.Fatal(err)
	}
	defer fs.Close()
	if left, err := fs.Cleanup(); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func findTraced(t *testing.T, patterns ...string) []*CallTarget {
	t.Helper()
	_, targets := findCalls(t, patterns...)
	return targets
}

// settled ends the witnessing and checks that calls add up.
func settled(t *testing.T, w *tracedCalls, expected ...string) (map[event.CallKey]*event.CallSum, CallBalance, map[string]uint64) {
	t.Helper()
	if err := w.Pause(); err != nil {
		t.Fatal(err)
	}
	losses := tracedLosses(t, w, expected...)
	var all CallBalance
	balances, err := w.Balances()
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range balances {
		if b.Entries != b.Returns+b.Missed+b.GivenUp {
			t.Errorf("%+v does not add up", b)
		}
		all.Entries += b.Entries
		all.Returns += b.Returns
		all.Missed += b.Missed
		all.GivenUp += b.GivenUp
		all.Unwanted += b.Unwanted
		all.Strays += b.Strays
	}
	sums, err := w.Sums()
	if err != nil {
		t.Fatal(err)
	}
	return sums, all, losses
}

func tracedLosses(t *testing.T, w CallWitness, expected ...string) map[string]uint64 {
	t.Helper()
	losses, err := w.Losses()
	if err != nil {
		t.Fatal(err)
	}
	return checkLosses(t, losses, expected...)
}

func TestTracedCallsOfAFunctionAreCounted(t *testing.T) {
	const calls = 5000
	w := openTracedTargets(t, findTraced(t, "vfs_write"), CallOptions{By: CallBy{Thread: true, Process: true, Comm: true}, Sums: true})
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	took := writes(t, calls)
	sums, b, _ := settled(t, w)
	var all event.CallSum
	for key, sum := range sums {
		if sum.Count >= calls {
			all.Add(sum)
			if key.PID != uint32(os.Getpid()) || key.Comm == "" {
				t.Errorf("%+v", key)
			}
		}
	}
	if all.Count < calls || all.Count > calls+20 || b.Returns < calls || b.Missed != 0 {
		t.Errorf("%d calls, not %d: %+v", all.Count, calls, b)
	}
	if all.NS == 0 || time.Duration(all.NS) > took || all.Errors != 0 {
		t.Errorf("%v in the function, of %v around it, %d errors", time.Duration(all.NS), took, all.Errors)
	}
	t.Logf("%d calls, %v of %v", all.Count, time.Duration(all.NS), took)
}

// TestTracedCallsAreFilteredByTheKernel: of calls that its filter leaves out no event is
// made; what it cannot say is tested here.
func TestTracedCallsAreFilteredByTheKernel(t *testing.T) {
	targets := findTraced(t, "vfs_write")
	scope := &expr.Scope{} // registers alone, as without types
	filter, err := scope.Filter("arg3 == 777 && ret == 777")
	if err != nil {
		t.Fatal(err)
	}
	size, err := scope.Field("arg3")
	if err != nil {
		t.Fatal(err)
	}
	if targets[0].Program, err = expr.Compile(filter, []*expr.Field{size}); err != nil {
		t.Fatal(err)
	}
	w := openTracedTargets(t, targets, CallOptions{Sums: true, KeyWords: 1, Records: true, Budget: 10000})
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Open("/dev/null", unix.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	for i := range 500 {
		b := make([]byte, 777-i%2)
		if n, err := unix.Write(fd, b); err != nil || n != len(b) {
			t.Fatal(n, err)
		}
	}
	sums, b, _ := settled(t, w)
	if b.Entries != 250 || b.Unwanted != 0 || len(sums) != 1 {
		t.Errorf("%+v, %v", b, sums)
	}
	for key, sum := range sums {
		if got := binary.NativeEndian.Uint64([]byte(key.Fields)); got != 777 || sum.Count != 250 {
			t.Errorf("%d of size %d", sum.Count, got)
		}
	}
	told := 0
	if err := w.Drain(time.Unix(1, 0), func(r any) {
		if c := r.(*event.Call); c.Ret == 777 && binary.NativeEndian.Uint64(c.Out[8:]) == 777 && c.Comm != "" {
			told++
		}
	}); err != nil || told != 250 {
		t.Errorf("%d told, %v", told, err)
	}
}

// TestTracedCallsHaveStacks: of the callers, not of the function itself.
func TestTracedCallsHaveStacks(t *testing.T) {
	w := openTracedTargets(t, findTraced(t, "vfs_write"), CallOptions{By: CallBy{Stack: true}, Sums: true, Records: true, Stacks: true})
	symbols, err := kernel.LoadSymbols("/")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	writes(t, 100)
	sums, _, _ := settled(t, w)
	most := uint64(0)
	for key, sum := range sums {
		stack := w.Stack(key.Stack)
		if most = max(most, sum.Count); sum.Count < 100 || len(stack) < 2 {
			continue
		}
		if name, _, _ := symbols.Lookup(stack[0]); name == "vfs_write" || !strings.Contains(name, "write") {
			t.Errorf("called by %s", name)
		}
	}
	if most < 100 {
		t.Errorf("%d calls by one stack", most)
	}
	if err := w.Drain(time.Unix(1, 0), func(r any) {
		if len(r.(*event.Call).Stack) < 2 {
			t.Error("a call without its stack")
		}
	}); err != nil {
		t.Error(err)
	}
}

// TestNoTracedCallIsTakenForAnother: reads within reads, by threads that wander between CPUs.
func TestNoTracedCallIsTakenForAnother(t *testing.T) {
	const threads, reads = 8, 2000
	needProbes(t)
	file := overlaid(t)
	targets := findTraced(t, "ovl_read_iter", "vfs_read")
	for _, f := range targets {
		if f.Name != "vfs_read" {
			continue
		}
		scope := &expr.Scope{}
		filter, err := scope.Filter(`comm == "wander" && arg3 != ret`)
		if err != nil {
			t.Fatal(err)
		}
		if f.Program, err = expr.Compile(filter, nil); err != nil {
			t.Fatal(err)
		}
	}
	w := openTracedTargets(t, targets, CallOptions{Sums: true, UsesComm: true, RingBytes: 8 << 20})
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i := range threads {
		all.Go(func() {
			runtime.LockOSThread() // never unlocked: its name ends with it
			name, _ := unix.BytePtrFromString("wander")
			if err := unix.Prctl(unix.PR_SET_NAME, uintptr(unsafe.Pointer(name)), 0, 0, 0); err != nil {
				t.Error(err)
			}
			wander(t, file, reads, uint64(i))
		})
	}
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	for over := false; !over; {
		select {
		case <-done:
			over = true
		default:
			if err := w.Drain(time.Now().Add(20*time.Millisecond), func(any) {}); err != nil {
				t.Fatal(err)
			}
		}
	}
	sums, b, losses := settled(t, w, "buffer_full", "given_up")
	for key, sum := range sums {
		if targets[key.Function].Name == "vfs_read" {
			t.Errorf("%d calls returned what another was asked for", sum.Count)
		}
	}
	if whole := losses["buffer_full"] == 0; whole && b.Returns < 3*threads*reads || b.Missed != 0 || b.Unwanted == 0 {
		t.Errorf("%d reads: %+v", threads*reads, b)
	}
	t.Logf("%+v", b)
}

// TestMissedReturnsOfTracedCallsAreExact: sleepers for whom the pool of return probes is
// too small. What they did themselves, what is shown and what the kernel tells agree.
func TestMissedReturnsOfTracedCallsAreExact(t *testing.T) {
	const threads, sleeps = 32, 6
	w := openTracedOfAll(t, findTraced(t, "__x64_sys_clock_nanosleep"), CallOptions{Sums: true, MaxActive: 8})
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range threads {
		all.Go(func() {
			runtime.LockOSThread() // never unlocked: a thread of its own
			for range sleeps {
				ts := unix.NsecToTimespec(int64(30 * time.Millisecond))
				_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &ts, nil) // which nobody else calls in a guest
			}
		})
	}
	all.Wait()
	time.Sleep(200 * time.Millisecond) // until their ends have been seen
	if err := w.Drain(time.Now().Add(300*time.Millisecond), func(any) {}); err != nil {
		t.Fatal(err)
	}
	_, b, _ := settled(t, w, "missed_return", "given_up", "missed_run")
	counts, err := w.kernelCounts()
	if err != nil {
		t.Fatal(err)
	}
	f := w.functions[0]
	hits, returned := counts.profiles[f.events[0]].Hits, counts.profiles[f.returns[0]].Hits
	misses := counts.profiles[f.returns[0]].Misses
	if b.Missed == 0 {
		t.Fatal("the kernel missed nothing: this is no test")
	}
	if b.Entries != threads*sleeps || b.GivenUp != 0 || b.Missed+b.Returns != b.Entries {
		t.Errorf("%d sleeps: %+v", threads*sleeps, b)
	}
	if hits != b.Entries || returned != b.Returns {
		t.Errorf("%d entries and %d returns, shown are %+v", hits, returned, b)
	}
	if misses > 0 && misses != b.Missed { // older kernels do not count them
		t.Errorf("the kernel says that it missed %d, not %d", misses, b.Missed)
	}
	t.Logf("%+v, the kernel: %d entries, %d returns, %d missed", b, hits, returned, misses)
}
