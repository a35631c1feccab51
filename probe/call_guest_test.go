// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"errors"
	"os"
	"runtime"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/lab"
)

// needProbes skips where functions may not be probed.
func needProbes(t *testing.T) {
	t.Helper()
	if !lab.Guest() {
		t.Skip("functions are probed in the lab's guests: hosts may forbid it")
	}
}

// findCalls finds functions by their names or patterns.
func findCalls(t *testing.T, patterns ...string) (*CallTargets, []*CallTarget) {
	t.Helper()
	find, err := NewCallTargets("")
	if err != nil {
		t.Fatal(err)
	}
	targets, _, err := find.Find(patterns)
	if err != nil {
		t.Fatal(err)
	}
	return find, targets
}

// openCalls witnesses functions in this process, or skips where this kernel has no such means.
func openCalls(t *testing.T, o CallOptions, patterns ...string) *Calls {
	t.Helper()
	find, targets := findCalls(t, patterns...)
	return openTargets(t, find, targets, o)
}

func openTargets(t *testing.T, find *CallTargets, targets []*CallTarget, o CallOptions) *Calls {
	t.Helper()
	if o.Via == KprobeMulti && !hasMulti(t) {
		t.Skip("this kernel has no kprobe.multi")
	}
	if o.IncludeSelf = true; o.PIDs == nil {
		o.PIDs = []uint32{uint32(os.Getpid())}
	}
	w, err := OpenCalls(find, targets, o)
	if err != nil && !lab.Guest() {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// hasMulti says whether the kernel has kprobe.multi, by its types.
func hasMulti(t *testing.T) bool {
	t.Helper()
	find, err := NewCallTargets("")
	if err != nil {
		t.Fatal(err)
	}
	return find.types != nil && hasMember(find.types, "bpf_kprobe_multi_link", "fp")
}

func startCalls(t *testing.T, w *Calls) {
	t.Helper()
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
}

func callSums(t *testing.T, w *Calls) map[event.CallKey]*event.CallSum {
	t.Helper()
	sums, err := w.Sums()
	if err != nil {
		t.Fatal(err)
	}
	return sums
}

// callLosses fails for each loss that is not expected, and tells all of them.
func callLosses(t *testing.T, w *Calls, expected ...string) map[string]uint64 {
	t.Helper()
	losses, err := w.Losses()
	if err != nil {
		t.Fatal(err)
	}
	return checkLosses(t, losses, expected...)
}

func checkLosses(t *testing.T, losses []Loss, expected ...string) map[string]uint64 {
	t.Helper()
	counts := map[string]uint64{}
	for _, l := range losses {
		counts[l.ID] = l.Count
		if l.Count > 0 {
			t.Logf("%s: %d", l.ID, l.Count)
		}
		if l.Count > 0 && !l.Harmless && !slices.Contains(expected, l.ID) {
			t.Errorf("%d × %s", l.Count, l.Title)
		}
	}
	return counts
}

// writes calls vfs_write a number of times in one thread, and tells how long that took by its own clock.
func writes(t *testing.T, n int) time.Duration {
	t.Helper()
	fd, err := unix.Open("/dev/null", unix.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	b := []byte{1}
	began := time.Now()
	for range n {
		if _, err := unix.Write(fd, b); err != nil && !errors.Is(err, unix.EINTR) {
			t.Fatal(err)
		}
	}
	return time.Since(began)
}

// TestCallsOfAFunctionAreCounted: each call once, by each means, and no more
// time than the caller's own clock has.
func TestCallsOfAFunctionAreCounted(t *testing.T) {
	const calls = 5000
	for _, via := range callMeans {
		t.Run(string(via), func(t *testing.T) {
			w := openCalls(t, CallOptions{Via: via, By: CallBy{Thread: true}, Sums: true}, "vfs_write")
			var took time.Duration
			startCalls(t, w)
			took = writes(t, calls)
			if err := w.Pause(); err != nil {
				t.Fatal(err)
			}
			var all event.CallSum
			for key, sum := range callSums(t, w) {
				if sum.Count >= calls {
					all.Add(sum)
				}
				if key.Comm != "" || key.PID != 0 {
					t.Errorf("a key has what was not asked for: %+v", key)
				}
			}
			if all.Count < calls || all.Count > calls+20 {
				t.Errorf("%d calls, not %d", all.Count, calls)
			}
			if all.NS == 0 || time.Duration(all.NS) > took {
				t.Errorf("%v in the function, of %v around it", time.Duration(all.NS), took)
			}
			if all.Errors != 0 {
				t.Errorf("%d errors", all.Errors)
			}
			t.Logf("%d calls, %v of %v", all.Count, time.Duration(all.NS), took)
			callLosses(t, w)
			balances, err := w.Balances()
			if err != nil {
				t.Fatal(err)
			}
			if b := balances[0]; b.Entries != b.Returns+b.Missed+b.GivenUp+b.UnderWay() || b.Returns < calls {
				t.Errorf("the balance of calls: %+v", b)
			}
		})
	}
}
