// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"runtime"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/iowitness/iowitness/call"
	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/lab"
)

// TestNestedAndRecursiveCalls (case D5): a read of a file on an overlay of an overlay is four calls, one
// within the other, of three functions, of which one calls itself. Each is told with its time in all and of
// its own, as a single call and summed up.
func TestNestedAndRecursiveCalls(t *testing.T) {
	if !lab.Guest() {
		t.Skip("functions are probed in the lab's guests: hosts may forbid it")
	}
	const reads = 200
	file := overlaid(t)
	for _, via := range callMeans {
		t.Run(string(via), func(t *testing.T) {
			w := openCalls(t, CallOptions{Via: via, Sums: true, Records: true, Budget: 1 << 20, By: CallBy{Thread: true}}, "vfs_read", "ovl_read_iter", "shmem_file_read_iter")
			if w.unprobed() > 0 {
				t.Skip(w.Notes())
			}
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			fd, err := unix.Open(file, unix.O_RDONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer unix.Close(fd)
			startCalls(t, w)
			began := time.Now()
			for range reads {
				if n, err := unix.Read(fd, make([]byte, 8)); err != nil || n != 8 {
					t.Fatal(n, err)
				}
			}
			took := time.Since(began)
			if err := w.Pause(); err != nil {
				t.Fatal(err)
			}
			skipped := callLosses(t, w, "missed_run", "missed_return", "frames")
			if via == Fexit && skipped["missed_run"]+skipped["missed_return"]+skipped["frames"] > 0 {
				t.Skip("this preemptible kernel has left out runs of its programs, so which call is which is not certain")
			}
			checkTrees(t, w, reads)
			checkOwnTimes(t, w, reads, took)
		})
	}
}

// checkTrees holds single calls to how the reads nest.
func checkTrees(t *testing.T, w *Calls, reads int) {
	t.Helper()
	var trees call.Trees
	whole := 0
	if err := w.Drain(time.Unix(1, 0), func(r any) {
		c, ok := r.(*event.Call)
		if !ok || c.TID != uint32(unix.Gettid()) {
			return
		}
		tree := trees.Add(c)
		if tree == nil {
			return
		}
		var names []string
		for n := tree; n != nil; {
			names = append(names, w.targets[n.Call.Function].Name)
			var inner uint64
			for _, child := range n.Children {
				inner += child.Call.NS
			}
			if n.Call.Inner != inner || n.Own() != n.Call.NS-inner || inner > n.Call.NS {
				t.Errorf("%s: %d ns, %d of its own and %d within", names[len(names)-1], n.Call.NS, n.Own(), inner)
			}
			if len(n.Children) > 1 {
				t.Errorf("%d calls within one of %s", len(n.Children), names[len(names)-1])
			}
			if len(n.Children) == 0 {
				break
			}
			n = n.Children[0]
		}
		if want := []string{"vfs_read", "ovl_read_iter", "ovl_read_iter", "shmem_file_read_iter"}; !slices.Equal(names, want) {
			t.Errorf("%v, not %v", names, want)
		}
		whole++
	}); err != nil {
		t.Fatal(err)
	}
	if whole != reads || trees.Orphans+trees.Dropped > 0 {
		t.Errorf("%d trees of %d reads, %d orphans, %d dropped", whole, reads, trees.Orphans, trees.Dropped)
	}
}

// checkOwnTimes holds sums to what they are of: own times add up to that of the outermost calls.
func checkOwnTimes(t *testing.T, w *Calls, reads int, took time.Duration) {
	t.Helper()
	sums := map[string]*event.CallSum{}
	var own uint64
	for key, sum := range callSums(t, w) {
		if key.TID == uint32(unix.Gettid()) {
			sums[w.targets[key.Function].Name] = sum
			own += sum.NS - sum.Inner
		}
	}
	outer, recursive, inner := sums["vfs_read"], sums["ovl_read_iter"], sums["shmem_file_read_iter"]
	if outer == nil || recursive == nil || inner == nil || outer.Count != uint64(reads) || recursive.Count != uint64(2*reads) || inner.Count != uint64(reads) {
		t.Fatalf("%+v", sums)
	}
	if own != outer.NS || time.Duration(outer.NS) > took || inner.Inner != 0 || inner.NS == 0 {
		t.Errorf("own times are %d ns, the outermost calls %d in %v: %+v", own, outer.NS, took, sums)
	}
	// Of the recursive function the outer call has the inner one within.
	if outer.Inner >= recursive.NS || recursive.Inner <= inner.NS || recursive.NS-recursive.Inner >= outer.NS {
		t.Errorf("%+v, %+v, %+v", *outer, *recursive, *inner)
	}
	t.Logf("%v: vfs_read %v, of its own %v; ovl_read_iter %v, %v", took, time.Duration(outer.NS), time.Duration(outer.NS-outer.Inner), time.Duration(recursive.NS), time.Duration(recursive.NS-recursive.Inner))
}
