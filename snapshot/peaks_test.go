// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/iowitness/iowitness/event"
)

// draw gives a time in ns.
type draw func(r *rand.Rand) float64

func lognormal(median, sigma float64) draw {
	return func(r *rand.Rand) float64 { return median * math.Exp(sigma*r.NormFloat64()) }
}

func uniform(from, to float64) draw {
	return func(r *rand.Rand) float64 { return from + (to-from)*r.Float64() }
}

func exponential(mean float64) draw {
	return func(r *rand.Rand) float64 { return mean * r.ExpFloat64() }
}

func ticks(of draw, tick float64) draw {
	return func(r *rand.Rand) float64 { return math.Ceil(of(r)/tick) * tick }
}

// mixed draws from each with its share.
func mixed(shares []float64, of ...draw) draw {
	return func(r *rand.Rand) float64 {
		x := r.Float64()
		for i, s := range shares {
			if x < s || i == len(of)-1 {
				return of[i](r)
			}
			x -= s
		}
		return 0
	}
}

func sample(d draw, n int, seed uint64) *Histogram {
	r := rand.New(rand.NewPCG(seed, 7))
	var h Histogram
	for range n {
		h[event.HistSlot(uint64(max(d(r), 0)))]++
	}
	return &h
}

const us, ms = 1e3, 1e6

func TestPeaksAreFound(t *testing.T) {
	for _, c := range []struct {
		name   string
		of     draw
		at     []float64
		shares []float64
	}{
		{"cache and medium", mixed([]float64{.71, .29}, lognormal(80*us, .2), lognormal(4.2*ms, .4)), []float64{80 * us, 4.2 * ms}, []float64{71, 29}},
		{"even", mixed([]float64{.5, .5}, lognormal(100*us, .3), lognormal(1*ms, .3)), []float64{100 * us, 1 * ms}, []float64{50, 50}},
		{"three", mixed([]float64{.6, .3, .1}, lognormal(20*us, .25), lognormal(400*us, .25), lognormal(9*ms, .25)), []float64{20 * us, 400 * us, 9 * ms}, []float64{60, 30, 10}},
		{"few", mixed([]float64{.96, .04}, lognormal(90*us, .2), lognormal(20*ms, .2)), []float64{90 * us, 20 * ms}, []float64{96, 4}},
		{"narrow and wide", mixed([]float64{.4, .6}, lognormal(70*us, .05), lognormal(8*ms, .7)), []float64{70 * us, 8 * ms}, []float64{40, 60}},
		{"below the first slot", mixed([]float64{.5, .5}, uniform(200, 1000), lognormal(1*ms, .3)), []float64{724, 1 * ms}, []float64{50, 50}},
	} {
		for _, n := range []int{2000, 50_000, 1_000_000} {
			for seed := range uint64(10) {
				if n == 1_000_000 && seed > 0 {
					break
				}
				peaks := Peaks(sample(c.of, n, seed))
				if len(peaks) != len(c.at) {
					t.Errorf("%s, %d times, seed %d: %+v", c.name, n, seed, peaks)
					continue
				}
				var whole uint64
				for i, p := range peaks {
					if ratio := float64(p.NS) / c.at[i]; ratio < .7 || ratio > 1.4 {
						t.Errorf("%s, %d times: peak %d is at %d ns, not %v", c.name, n, i, p.NS, c.at[i])
					}
					if math.Abs(p.Percent-c.shares[i]) > 4 {
						t.Errorf("%s, %d times: peak %d has %.1f%%, not %v", c.name, n, i, p.Percent, c.shares[i])
					}
					whole += p.Count
				}
				if whole != uint64(n) {
					t.Errorf("%s: the peaks have %d of %d", c.name, whole, n)
				}
			}
		}
	}
}

// One hill, however wide, and whatever its samples, is no two peaks.
func TestNoPeaksWhereThereAreNone(t *testing.T) {
	for name, of := range map[string]draw{
		"narrow":           lognormal(100*us, .05),
		"lognormal":        lognormal(300*us, .5),
		"wide":             lognormal(300*us, 1.2),
		"very wide":        lognormal(300*us, 2.5),
		"uniform":          uniform(10*us, 10*ms),
		"uniform from 0":   uniform(0, 1*ms),
		"exponential":      exponential(2 * ms),
		"near each other":  mixed([]float64{.5, .5}, lognormal(100*us, .3), lognormal(150*us, .3)),
		"a shallow valley": mixed([]float64{.5, .5}, lognormal(100*us, .4), lognormal(290*us, .4)),
		"1 in 100":         mixed([]float64{.99, .01}, lognormal(100*us, .2), lognormal(20*ms, .2)),
		"ticks of 10 µs":   ticks(lognormal(60*us, .5), 10*us),
		"ticks of 1 ms":    ticks(lognormal(5*ms, .8), 1*ms),
	} {
		for _, n := range []int{100, 300, 1000, 10_000, 100_000} {
			for seed := range uint64(200) {
				if n > 1000 && seed >= 20 {
					break
				}
				if peaks := Peaks(sample(of, n, seed)); peaks != nil {
					t.Fatalf("%s, %d times, seed %d: %+v", name, n, seed, peaks)
				}
			}
		}
	}
}

func TestTinySamplesSayNothing(t *testing.T) {
	of := mixed([]float64{.5, .5}, lognormal(100*us, .1), lognormal(10*ms, .1))
	for n := range leastCount {
		if peaks := Peaks(sample(of, n, uint64(n))); peaks != nil {
			t.Errorf("%d times: %+v", n, peaks)
		}
	}
}

// A second peak counts from two in a hundred on.
func TestTheLeastShare(t *testing.T) {
	for count, want := range map[uint64]int{199: 0, 200: 2, 5000: 2, 9800: 2, 9801: 0} {
		var h Histogram
		h[event.HistSlot(90*us)] = 10_000 - count
		h[event.HistSlot(20*ms)] = count
		if peaks := Peaks(&h); len(peaks) != want {
			t.Errorf("%d of 10,000: %+v", count, peaks)
		}
	}
}

func TestPeaksAtTheEnds(t *testing.T) {
	var h Histogram
	h[0], h[event.HistSlots-1] = 1000, 1000
	if peaks := Peaks(&h); len(peaks) != 2 || peaks[0].Count != 1000 || peaks[1].Count != 1000 {
		t.Errorf("%+v", peaks)
	}
	h[0] = 0
	if peaks := Peaks(&h); peaks != nil {
		t.Errorf("%+v", peaks)
	}
	if peaks := Peaks(&Histogram{}); peaks != nil {
		t.Errorf("%+v", peaks)
	}
}

func FuzzPeaks(f *testing.F) {
	f.Add([]byte{0, 9, 0, 0, 0, 0, 0, 0, 200, 3})
	f.Fuzz(func(t *testing.T, b []byte) {
		var h Histogram
		for i, c := range b {
			h[i%event.HistSlots] += uint64(c) << (i % 40)
		}
		for i := LastUsedSlot + 1; i < event.HistSlots-1; i++ {
			h[i] = 0
		}
		peaks := Peaks(&h)
		var sum, last uint64
		for _, p := range peaks {
			if p.Percent < 100*leastShare-1e-9 || p.NS <= last {
				t.Errorf("%+v", peaks)
			}
			sum, last = sum+p.Count, p.NS
		}
		if len(peaks) == 1 || len(peaks) > 0 && sum != h.Count() {
			t.Errorf("%+v of %d", peaks, h.Count())
		}
	})
}
