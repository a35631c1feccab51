// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/kernel"
	"github.com/iowitness/iowitness/lab"
)

// TestTheLastWaitOfAThreadIsTold: that in which a thread that is followed lets go of its files, by each means.
func TestTheLastWaitOfAThreadIsTold(t *testing.T) {
	lab.NeedRoot(t)
	symbols, err := kernel.LoadSymbols("/")
	if err != nil {
		t.Fatal(err)
	}
	device := lab.Written(t)
	for _, via := range append(slices.Clone(byTracepoints), Fexit, Kretprobe, Tracefs) {
		t.Run(string(via), func(t *testing.T) {
			c := lab.Workload{Name: "leave", Args: []string{"1", device.Path}}.Start(t)
			w := openWitness(t, Options{Via: via, Follow: true, SampleEvery: 1, Functions: sleepers})
			tids, err := threadsOf("/", c.PID())
			if err != nil {
				t.Fatal(err)
			}
			for _, tid := range tids {
				if err := w.Follow(tid); err != nil {
					t.Fatal(err)
				}
			}
			c.Go()
			c.Wait()
			r := untilFreed(t, w, c.PID())
			last, waits := 0, uint64(0)
			for _, wait := range r.waits {
				if wait.PID == c.PID() && holds(symbols, wait.Site.Stack, "do_exit") {
					last++
				}
			}
			for _, tally := range r.tallies {
				if tally.PID == c.PID() {
					waits += tally.Count
					if !tally.Exited {
						t.Errorf("the end of thread %d was not told", tally.TID)
					}
				}
			}
			// At the return of a kprobe not every kernel sees the callers: of this process's waits there is no other.
			if waits == 0 || last == 0 && via != Kretprobe || waits < uint64(last) {
				t.Errorf("%d waits in its end, %d in all", last, waits)
			}
		})
	}
}

// untilFreed takes what is told of a process until the end of all its threads is, which the kernel takes its time for.
func untilFreed(t *testing.T, w Witness, pid uint32) *witnessed {
	t.Helper()
	r := &witnessed{tallies: map[uint32]*event.Tally{}}
	for range 20 {
		time.Sleep(2 * lastEvents)
		more := finish(t, w)
		r.waits = append(r.waits, more.waits...)
		maps.Copy(r.tallies, more.tallies)
		known, live := false, false
		for _, tally := range r.tallies {
			if tally.PID == pid {
				known, live = true, live || !tally.Exited
			}
		}
		if known && !live {
			break
		}
	}
	return r
}
