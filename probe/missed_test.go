// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/iowitness/iowitness/lab"
	"github.com/iowitness/iowitness/lab/fact"
)

// TestMissedReturnsAreShown (cases D1, D2): more threads sleep in a function than
// the kernel has room for returns. What is shown as missed is what is missing.
func TestMissedReturnsAreShown(t *testing.T) {
	const threads, reads, active = 64, 30, 4
	device := lab.NullBlk(t, 20*time.Millisecond)
	for _, via := range []Means{Fexit, Kretprobe, Tracefs, Kmod} {
		if !isExpected(via) {
			continue
		}
		t.Run(string(via), func(t *testing.T) {
			child := lab.Workload{Name: "counted", Args: []string{device.Path, strconv.Itoa(threads), strconv.Itoa(reads), "direct"}}.Start(t)
			w := openWitness(t, Options{Via: via, PIDs: []uint32{child.PID()}, Functions: sleepers, Module: lab.GuestModule(), MaxActive: active})
			truth, told := accompany(t, child, w)
			_, flagged, _ := told[0].sum(child.PID())
			m := &fact.Missed{
				Via: string(via), MaxActive: active, Threads: threads, Switches: truth.Switches, Waits: flagged,
				Shown: loss(t, w, "missed_return").Count + loss(t, w, "missed_entry").Count, Kernel: kernelMissed(t, w),
			}
			lab.Fact(t, fact.KindMissed, m)
			if m.Waits+m.Shown < uint64(m.Switches)-uint64(m.Switches)/100 || m.Waits+m.Shown > uint64(m.Switches)+uint64(m.Switches)/100 {
				t.Errorf("%d waits counted, %d returns told as missed, in %d switches", m.Waits, m.Shown, m.Switches)
			}
			// Case D2: a kernel may say that it missed none. 5.10 counts others than those that its pool has no room for.
			// It counts a call twice of which it ran neither program.
			losses := lossesOf(t, w)
			awake, twice := int64(losses["missed_awake"].Count), losses["missed_entry"].Count
			if m.Kernel >= 0 && math.Abs(float64(m.Kernel-awake)-float64(m.Shown)) > float64(m.Shown)/100+3+float64(twice) && lab.GuestLine() != "5.10" {
				t.Errorf("%d returns are told as missed, %d by the kernel", m.Shown, m.Kernel)
			}
			if hasPool(w) && m.Shown == 0 {
				t.Errorf("nothing is missed by a pool of %d for %d threads", active, threads)
			}
		})
	}
}

// hasPool says whether a means keeps what it needs until a return in a pool of fixed size.
func hasPool(w Witness) bool {
	b, ok := w.(*bpfWitness)
	return !ok || b.means == Kretprobe && len(b.calls.programs) > 0
}

// kernelMissed is the kernel's own count of missed entries and returns, or -1
// where it tells none.
func kernelMissed(t *testing.T, w Witness) int64 {
	t.Helper()
	losses, err := w.Losses()
	if err != nil {
		t.Fatal(err)
	}
	missed, told := int64(0), false
	for _, l := range losses {
		if l.ID == "kernel_missed" || l.ID == "missed_entry" {
			missed += int64(l.Count)
			told = told || l.ID == "kernel_missed"
		}
	}
	if !told {
		return -1
	}
	return missed
}
