// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"fmt"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestCallsThatAFilterLeavesOut: of two calls one within the other a filter takes the outer one, the
// inner one, or both of some reads. Those are all counted, none is missed, and each returns what it was asked for.
func TestCallsThatAFilterLeavesOut(t *testing.T) {
	needProbes(t)
	const threads = 4
	reads := 10000
	if testing.Short() {
		reads = 500
	}
	for _, via := range []Means{Fexit, Kretprobe} {
		t.Run(string(via), func(t *testing.T) {
			file := overlaid(t)
			two := filepath.Dir(file)
			one := filepath.Join(filepath.Dir(two), "one")
			on := func(dir string) string {
				var s unix.Stat_t
				if err := unix.Stat(dir, &s); err != nil {
					t.Fatal(err)
				}
				kernels := unix.Major(s.Dev)<<20 | unix.Minor(s.Dev)
				return fmt.Sprintf("((struct kiocb *)arg1)->ki_filp->f_inode->i_sb->s_dev == %d", kernels)
			}
			short := "((struct iov_iter *)arg2)->count <= 2000"
			// In four threads the same reads, half of which are short, as wander's numbers are what its seed makes them.
			shorts := shortReads(threads, reads, 2000)
			for _, c := range []struct {
				where string
				calls int
			}{
				{on(two), threads * reads},
				{on(one), threads * reads},
				{short, 2 * shorts},
				{short + " && " + on(one), shorts},
				{"arg1 == 0", 0},
			} {
				seen := witnessWandering(t, via, file, c.where+" && ((struct iov_iter *)arg2)->count == (int)ret", threads, reads)
				var counted uint64
				for _, sum := range seen.sums {
					counted += sum.Count
				}
				b, want := seen.CallBalance, uint64(c.calls)
				if counted > want || counted+seen.skipped < want || b.Entries > want || b.Returns > want || b.Missed > seen.skipped || b.Unwanted > 0 {
					t.Errorf("%s: %d calls counted of %d, %d runs skipped: %+v", c.where, counted, want, seen.skipped, b)
				}
				t.Logf("%s: %d, %+v", c.where, counted, b)
			}
		})
	}
}

// shortReads is how many of the reads of threads that wander are of no more than some bytes.
func shortReads(threads, reads, bytes int) (n int) {
	for seed := range threads {
		random := wanderer(uint64(seed))
		for i := range reads {
			if i%64 == 0 {
				random.IntN(runtime.NumCPU())
			}
			if wanderedBytes(random) <= bytes {
				n++
			}
		}
	}
	return n
}

// readOfPipes is the function that reads from a pipe, which 7.x calls otherwise.
func readOfPipes(t *testing.T) string {
	find, err := NewCallTargets("")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := find.Find([]string{"pipe_read"}); err != nil {
		return "anon_pipe_read"
	}
	return "pipe_read"
}

// TestACallThatIsLeftOutTakesNoOther: of two calls at the same place of the stack a filter takes the
// first, whose return is often not seen, as the pool of return probes is too small. The return of the
// second is not taken for it.
func TestACallThatIsLeftOutTakesNoOther(t *testing.T) {
	needProbes(t)
	const threads, rounds, long, short = 32, 10, 100, 50
	find, targets := compiled(t, readOfPipes(t), fmt.Sprintf("((struct iov_iter *)arg2)->count == %d && (int)ret == %d", long, short))
	// The kernel's count of returns that it missed is of all processes.
	w := openTargets(t, find, targets, CallOptions{Via: Kretprobe, Sums: true, MaxActive: 8, PIDs: []uint32{}})
	startCalls(t, w)
	var all sync.WaitGroup
	for range threads {
		all.Go(func() {
			runtime.LockOSThread() // never unlocked: a thread of its own
			var pipe [2]int
			if err := unix.Pipe(pipe[:]); err != nil {
				t.Error(err)
				return
			}
			defer unix.Close(pipe[0])
			for range rounds {
				for _, n := range []int{long, short} {
					time.AfterFunc(20*time.Millisecond, func() { _, _ = unix.Write(pipe[1], make([]byte, n)) })
					if got, err := unix.Read(pipe[0], make([]byte, n)); got != n {
						t.Errorf("%d of %d bytes: %v", got, n, err)
					}
				}
			}
			unix.Close(pipe[1])
		})
	}
	all.Wait()
	if err := w.Pause(); err != nil {
		t.Fatal(err)
	}
	losses, b := callLosses(t, w, "missed_return"), balance(t, w)
	if losses["kernel_missed"] == 0 {
		t.Fatal("the kernel missed nothing: this is no test")
	}
	for _, sum := range callSums(t, w) {
		t.Errorf("%d calls returned what another was asked for", sum.Count)
	}
	// A signal makes a call of one that waits return, and begin anew.
	if want := uint64(threads * rounds); b.Entries < want || b.Entries > want+want/10 || b.Missed == 0 || b.Entries != b.Returns+b.Missed+b.UnderWay() {
		t.Errorf("%d calls: %+v", want, b)
	}
	t.Logf("%+v, %v", b, losses)
}
