// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"strconv"
	"testing"
	"time"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/lab"
)

func ignore(*event.Tally) {}

// TestARatioCountsWhatItLeavesOut: of a known number of reads some are measured, all are accounted for.
func TestARatioCountsWhatItLeavesOut(t *testing.T) {
	const reads, ratio = 2000, 4
	lab.NeedRoot(t)
	device := lab.Waiting(t)
	eachMeans(t, func(t *testing.T, via Means) {
		child := lab.Workload{Name: "direct_read", Args: []string{device.Path, strconv.Itoa(reads)}}.Start(t)
		w := openWitness(t, Options{Via: via, PIDs: []uint32{child.PID()}})
		if err := w.SetDetail(Detail{Stacks: true, Ratio: ratio}); err != nil {
			t.Fatal(err)
		}
		child.Go()
		child.Wait()
		sum, _, _ := finish(t, w).sum(child.PID())
		left := loss(t, w, "ratio").Count
		if all := sum.Count + left; all < reads*9/10 || all > reads+50 {
			t.Errorf("%d measured and %d left out of %d reads", sum.Count, left, reads)
		}
		if expected := uint64(reads / ratio); sum.Count < expected*7/10 || sum.Count > expected*13/10 {
			t.Errorf("%d of %d reads measured at 1 in %d", sum.Count, reads, ratio)
		}
	})
}

// TestASilentUserSideClosesTheGate (case F8): without a heartbeat nothing is witnessed until somebody asks again.
func TestASilentUserSideClosesTheGate(t *testing.T) {
	const reads = 100
	silence := 300 * time.Millisecond
	if lab.Guest() {
		silence = 5 * time.Second // all is slower there, the reads too
	}
	lab.NeedRoot(t)
	device := lab.Waiting(t)
	eachMeans(t, func(t *testing.T, via Means) {
		run := func() (pid uint32, slept int) {
			child := lab.Workload{Name: "counted", Args: []string{device.Path, "1", strconv.Itoa(reads), "direct"}}.Start(t)
			child.Go()
			return child.PID(), child.Wait().Slept
		}
		w := openWitness(t, Options{Via: via, Silence: silence})
		if closed, err := w.Heartbeat(); err != nil || closed {
			t.Fatalf("closed from the start: %v, %v", closed, err)
		}
		time.Sleep(2 * silence)
		unheard, _ := run()
		closed, err := w.Heartbeat()
		if err != nil || !closed {
			t.Fatalf("after the silence: closed %v, %v", closed, err)
		}
		if err := w.Resume(ignore); err != nil {
			t.Fatal(err)
		}
		heard, slept := run()
		r := finish(t, w)
		if sum, _, _ := r.sum(unheard); sum.Count > 1 {
			t.Errorf("%d waits seen in silence", sum.Count)
		}
		if sum, _, _ := r.sum(heard); slept == 0 || sum.Count < uint64(slept)*9/10 {
			t.Errorf("%d waits seen after it, of %d reads that slept", sum.Count, slept)
		}
	})
}

// TestAPauseIsChargedToNobody: a thread waits all the time, the gate is open for some of it.
func TestAPauseIsChargedToNobody(t *testing.T) {
	lab.NeedRoot(t)
	if line := lab.GuestLine(); line == "5.10" || line == "6.1" {
		t.Skip("this kernel does not call a wait in io_uring iowait")
	}
	eachMeans(t, func(t *testing.T, via Means) {
		if via == Fexit || via == Kretprobe {
			t.Skip("a call is seen from its entry on: one that is under way is not taken on")
		}
		child := lab.Workload{Name: "ring_idle", Args: []string{"6000"}}.Start(t)
		child.Go()
		time.Sleep(800 * time.Millisecond) // until it waits, also on a busy machine
		w := openWitness(t, Options{Via: via, PIDs: []uint32{child.PID()}})
		if err := w.Pause(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(200 * time.Millisecond)
		var resumed []*event.Tally
		if err := w.Resume(func(tally *event.Tally) { resumed = append(resumed, tally) }); err != nil {
			t.Fatal(err)
		}
		if len(resumed) != 1 || resumed[0].Start == 0 || resumed[0].Flags&event.Adopted == 0 {
			t.Fatalf("in progress after the pause: %+v", resumed)
		}
		if age := time.Duration(resumed[0].Now - resumed[0].Start); age < 400*time.Millisecond {
			t.Errorf("it has waited for %v, not since before the pause", age)
		}
		child.Wait()
	})
}
