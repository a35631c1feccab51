// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/expr"
)

// compiled finds one function and gives it a filter and fields.
func compiled(t *testing.T, pattern, where string, fields ...string) (*CallTargets, []*CallTarget) {
	t.Helper()
	find, targets := findCalls(t, pattern)
	var err error
	scope := targets[0].Scope()
	var filter *expr.Filter
	if where != "" {
		if filter, err = scope.Filter(where); err != nil {
			t.Fatal(err)
		}
	}
	var captured []*expr.Field
	for _, text := range fields {
		field, err := scope.Field(text)
		if err != nil {
			t.Fatal(err)
		}
		captured = append(captured, field)
	}
	if targets[0].Program, err = expr.Compile(filter, captured); err != nil {
		t.Fatal(err)
	}
	return find, targets
}

// overlaid mounts an overlay on an overlay on tmpfs, through which a read of a file
// calls ovl_read_iter twice, one within the other. It gives the file's path.
func overlaid(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	mount := func(source, target, kind, data string) {
		if err := os.MkdirAll(target, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := unix.Mount(source, target, kind, 0, data); err != nil {
			t.Skipf("mounting %s: %v", kind, err)
		}
		t.Cleanup(func() {
			if err := unix.Unmount(target, 0); err != nil {
				t.Error(err)
			}
		})
	}
	bottom, other, one, two := filepath.Join(dir, "bottom"), filepath.Join(dir, "other"), filepath.Join(dir, "one"), filepath.Join(dir, "two")
	mount("tmpfs", bottom, "tmpfs", "")
	if err := os.WriteFile(filepath.Join(bottom, "file"), make([]byte, 4096), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(other, 0o755); err != nil {
		t.Fatal(err)
	}
	mount("overlay", one, "overlay", fmt.Sprintf("lowerdir=%s:%s", bottom, other))
	mount("overlay", two, "overlay", fmt.Sprintf("lowerdir=%s:%s", one, other))
	return filepath.Join(two, "file")
}

// TestNoCallIsTakenForAnother: calls within calls of the same function, by many threads
// that wander between CPUs. Each returns what it was asked for, which no other was.
func TestNoCallIsTakenForAnother(t *testing.T) {
	needProbes(t)
	const threads = 16
	reads := 31250 // two calls each: 1,000,000
	if testing.Short() {
		reads = 500
	}
	for _, via := range []Means{Fexit, Kretprobe} {
		t.Run(string(via), func(t *testing.T) {
			seen := witnessWandering(t, via, overlaid(t), "((struct iov_iter *)arg2)->count != (int)ret", threads, reads)
			for key, sum := range seen.sums {
				if sum.Count > seen.skipped { // where nothing is left out, none
					t.Errorf("%d calls returned what another was asked for: %+v", sum.Count, key)
				}
				seen.Unwanted += sum.Count
			}
			want := uint64(2 * threads * reads)
			if seen.Unwanted != seen.Returns || seen.Returns+seen.skipped < want || seen.Returns > want || seen.Missed > seen.skipped {
				t.Errorf("%d calls, %d runs skipped: %+v", want, seen.skipped, seen.CallBalance)
			}
			t.Logf("%+v", seen.CallBalance)
		})
	}
}

// wandering is what was seen of reads by threads that wander.
type wandering struct {
	CallBalance
	sums    map[event.CallKey]*event.CallSum
	skipped uint64 // runs that the kernel says it left out
}

// witnessWandering has threads read a file of overlaid, and witnesses those calls that a filter takes.
func witnessWandering(t *testing.T, via Means, file, where string, threads, reads int) wandering {
	t.Helper()
	find, targets := compiled(t, "ovl_read_iter", where)
	if via == Fexit && targets[0].Func == nil {
		t.Skip("this kernel has no types of its modules")
	}
	w := openTargets(t, find, targets, CallOptions{Via: via, Sums: true})
	startCalls(t, w)
	var all sync.WaitGroup
	for i := range threads {
		all.Go(func() { wander(t, file, reads, uint64(i)) })
	}
	all.Wait()
	if err := w.Pause(); err != nil {
		t.Fatal(err)
	}
	expected := []string{}
	if via == Fexit { // a preemptible kernel leaves out some runs, and says how many
		expected = []string{"missed_run", "missed_return", "frames"}
	}
	losses := callLosses(t, w, expected...)
	// 7.x refuses storage where a thread was preempted while it got some: frames.
	seen := wandering{balance(t, w), callSums(t, w), losses["missed_run"] + losses["frames"]}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return seen
}

func balance(t *testing.T, w *Calls) CallBalance {
	t.Helper()
	balances, err := w.Balances()
	if err != nil {
		t.Fatal(err)
	}
	return balances[0]
}

// wander reads pieces of random length from the begin of a file, now on one CPU, now on another.
func wander(t *testing.T, file string, reads int, seed uint64) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer unix.SchedSetaffinity(0, allCPUs())
	fd, err := unix.Open(file, unix.O_RDONLY, 0)
	if err != nil {
		t.Error(err)
		return
	}
	defer unix.Close(fd)
	random := wanderer(seed)
	b := make([]byte, 4096)
	for i := range reads {
		if i%64 == 0 {
			var one unix.CPUSet
			one.Set(random.IntN(runtime.NumCPU()))
			_ = unix.SchedSetaffinity(0, &one)
		}
		n := wanderedBytes(random)
		if got, err := unix.Pread(fd, b[:n], 0); err != nil || got != n {
			t.Errorf("%d of %d bytes: %v", got, n, err)
			return
		}
	}
}

// wanderer are the random numbers by which a thread wanders.
func wanderer(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 7)) }

func wanderedBytes(random *rand.Rand) int { return 1 + random.IntN(4000) }

func allCPUs() *unix.CPUSet {
	var all unix.CPUSet
	for i := range runtime.NumCPU() {
		all.Set(i)
	}
	return &all
}

// TestACallTakesTheTimeItsCallerSees: sleeps of known length, by the sleeper's own clock.
func TestACallTakesTheTimeItsCallerSees(t *testing.T) {
	needProbes(t)
	const sleeps, length = 10, 200 * time.Millisecond
	for _, via := range callMeans {
		t.Run(string(via), func(t *testing.T) {
			w := openCalls(t, CallOptions{Via: via, Sums: true, Records: true, By: CallBy{Thread: true}}, "hrtimer_nanosleep")
			startCalls(t, w)
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			tid := uint32(unix.Gettid())
			var clock []time.Duration
			for range sleeps {
				began := time.Now()
				ts := unix.NsecToTimespec(int64(length))
				if err := unix.Nanosleep(&ts, nil); err != nil {
					t.Fatal(err)
				}
				clock = append(clock, time.Since(began))
			}
			if err := w.Pause(); err != nil {
				t.Fatal(err)
			}
			var calls []*event.Call
			if err := w.Drain(time.Unix(1, 0), func(r any) {
				if c := r.(*event.Call); c.TID == tid {
					calls = append(calls, c)
				}
			}); err != nil {
				t.Fatal(err)
			}
			losses := callLosses(t, w, "missed_run", "missed_return")
			if skipped := losses["missed_run"]; via == Fexit && skipped > 0 {
				t.Skipf("this preemptible kernel has left out %d runs of its programs, so which call is which is not certain", skipped)
			}
			if len(calls) != sleeps {
				t.Fatalf("%d calls of %d", len(calls), sleeps)
			}
			var seen, truth time.Duration
			for i, c := range calls {
				seen, truth = seen+time.Duration(c.NS), truth+clock[i]
				if time.Duration(c.NS) > clock[i] || time.Duration(c.NS) < length {
					t.Errorf("sleep %d: %v, by the sleeper's clock %v", i, time.Duration(c.NS), clock[i])
				}
			}
			if seen < truth*95/100 {
				t.Errorf("%v in the function, %v by the sleeper's clock", seen, truth)
			}
		})
	}
}

// sleepTogether has threads sleep at the same time, more often than once.
func sleepTogether(threads, sleeps int) {
	var all sync.WaitGroup
	for range threads {
		all.Go(func() {
			runtime.LockOSThread() // never unlocked: a thread of its own
			for range sleeps {
				ts := unix.NsecToTimespec(int64(30 * time.Millisecond))
				_ = unix.Nanosleep(&ts, nil)
			}
		})
	}
	all.Wait()
	time.Sleep(50 * time.Millisecond)
}

// TestMissedReturnsOfCallsAreShown: sleepers for whom the pool of return probes is too small.
func TestMissedReturnsOfCallsAreShown(t *testing.T) {
	needProbes(t)
	const threads, sleeps = 32, 6
	// The kernel's count is of all processes.
	w := openCalls(t, CallOptions{Via: Kretprobe, Sums: true, MaxActive: 8, PIDs: []uint32{}}, "hrtimer_nanosleep")
	startCalls(t, w)
	sleepTogether(threads, sleeps)
	if err := w.Pause(); err != nil {
		t.Fatal(err)
	}
	b := balance(t, w)
	losses := callLosses(t, w, "missed_return", "missed_run")
	truth := losses["kernel_missed"]
	if truth == 0 {
		t.Fatal("the kernel missed nothing: this is no test")
	}
	shown := b.Missed + b.UnderWay()
	if b.Entries < threads*sleeps || shown > truth+truth/100 || shown < truth-truth/100 {
		t.Errorf("%d shown as missed, %d were: %+v", shown, truth, b)
	}
}
