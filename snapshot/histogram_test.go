// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/iowitness/iowitness/event"
)

// kernelSlot is hist_slot of bpf/hist.h, word for word.
func kernelSlot(ns uint64) int {
	if ns < 1<<10 {
		return 0
	}
	e := uint64(0)
	for v := ns; v > 1; v >>= 1 {
		e++
	}
	if e > 40 {
		return event.HistSlots - 1
	}
	return int(1 + (e-10)*4 + ns>>(e-2)&3)
}

func random(r *rand.Rand) uint64 { return r.Uint64() >> r.IntN(64) }

func TestSlotsAndBoundsAgree(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200_000 {
		ns := random(r)
		slot := event.HistSlot(ns)
		if slot != kernelSlot(ns) {
			t.Fatalf("Slot(%d) = %d, the kernel says %d", ns, slot, kernelSlot(ns))
		}
		if lo, hi := Bounds(slot); ns < lo || ns >= hi && hi != math.MaxUint64 {
			t.Fatalf("%d is not within [%d, %d) of slot %d", ns, lo, hi, slot)
		}
	}
}

func TestBoundsLeaveNoGap(t *testing.T) {
	_, last := Bounds(0)
	for slot := 1; slot < event.HistSlots; slot++ {
		lo, hi := Bounds(slot)
		if lo != last {
			t.Errorf("slot %d starts at %d, the one before ends at %d", slot, lo, last)
		}
		if slot <= lastSlot && (event.HistSlot(lo) != slot || event.HistSlot(hi-1) != slot) {
			t.Errorf("slot %d: its bounds lie in %d and %d", slot, event.HistSlot(lo), event.HistSlot(hi-1))
		}
		last = hi
	}
}

func TestQuantilesAgainstSorting(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		var h Histogram
		values := make([]uint64, 1+r.IntN(2000))
		for i := range values {
			values[i] = random(r)
			h[event.HistSlot(values[i])]++
		}
		slices.Sort(values)
		longest := values[len(values)-1]
		for _, q := range []float64{0, 0.5, 0.9, 0.99, 1} {
			want := values[max(int(math.Ceil(q*float64(len(values)))), 1)-1]
			e := EstimateQuantile(&h, q, longest)
			if !e.Known || want < e.AtLeast || want > e.Value || e.Value > longest {
				t.Fatalf("q %g of %d values is %d, told as %+v (longest %d)", q, len(values), want, e, longest)
			}
		}
	}
	if e := EstimateQuantile(&Histogram{}, 0.5, 0); e.Known {
		t.Errorf("no waits have a median of %+v", e)
	}
}

func TestBandsAgainstCounting(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 300 {
		var h Histogram
		var exact [4]int64
		straddling := [5]int64{} // waits in the slots around each limit
		n := r.IntN(5000)
		for range n {
			ns := r.Uint64N(uint64(1) << (10 + r.IntN(20)))
			h[event.HistSlot(ns)]++
			exact[bandOf(ns)]++
			for i, limit := range BandLimits {
				if event.HistSlot(ns) == event.HistSlot(limit) {
					straddling[i+1]++
				}
			}
		}
		var sum int64
		for i, got := range Bands(&h) {
			sum += int64(got)
			if off := max(int64(got)-exact[i], exact[i]-int64(got)); off > straddling[i]+straddling[i+1] {
				t.Fatalf("band %d: %d, counted %d", i, got, exact[i])
			}
		}
		if sum != int64(n) {
			t.Fatalf("bands hold %d of %d waits", sum, n)
		}
	}
}

func TestBandsSpreadAStraddlingSlot(t *testing.T) {
	var h Histogram
	h[event.HistSlot(1e6)] = 1000 // 917,504 to 1,048,576 ns: 62.9% of it lies below 1 ms
	if got, want := Bands(&h), ([4]uint64{629, 371, 0, 0}); got != want {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestMergeAddsUp(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	var all, a, b Histogram
	for i := range 10_000 {
		slot := event.HistSlot(random(r))
		all[slot]++
		if i%3 == 0 {
			a[slot]++
		} else {
			b[slot]++
		}
	}
	a.Merge(&b)
	if a != all || a.Count() != 10_000 {
		t.Error("merging loses waits")
	}
}
