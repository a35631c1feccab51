// SPDX-License-Identifier: Apache-2.0

package taskstats

import (
	"math/rand/v2"
	"testing"
)

// accounted is a world whose kernel accounts for delays from its boot on.
func accounted(t *testing.T) *world {
	t.Helper()
	return newWorld(t, map[string]string{"proc/sys/kernel/task_delayacct": "1\n", "proc/cmdline": "delayacct\n"})
}

// TestNoThreadWaitsLongerThanTimePasses: where the kernel noted the start of a wait
// at the wrong thread, it seems to have begun with the machine.
func TestNoThreadWaitsLongerThanTimePasses(t *testing.T) {
	w := accounted(t)
	x := &task{tid: 50, comm: "x", state: 'R', runs: 1}
	w.write(x)
	p := w.open(Config{})
	w.start()
	for i := range 40 {
		w.now += 50 * ms
		x.runs++
		x.state = "DRRRR"[i%5]
		if x.ticks++; i == 20 {
			x.ticks += 1_000_000
		}
		w.write(x)
		w.poll()
	}
	a := w.settle()[50]
	if a.Flagged.NS < 390*ms || a.Flagged.NS > 520*ms {
		t.Errorf("%d ms, of which 400 ms are possible", a.Flagged.NS/ms)
	}
	if c := p.Counts(); c.Excess != 1 || c.ExcessNS < 9_999_000*ms || c.ExcessNS > 10_000_000*ms {
		t.Errorf("%+v", c)
	}
}

// TestAccountingIsHeldAgainstWhatIsSeen: a thread that waits a tenth of the time,
// for which the accounting tells nine tenths, and one for which it tells the truth.
func TestAccountingIsHeldAgainstWhatIsSeen(t *testing.T) {
	for _, times := range []uint64{1, 9} {
		w := accounted(t)
		rnd := rand.New(rand.NewPCG(times, 8))
		l := &life{rnd: rnd, wait: 2 * ms, run: 18 * ms}
		l.task = task{tid: 51, comm: "x", state: 'R', start: w.bornNow() - 100}
		w.write(&l.task)
		p := w.open(Config{Detail: true})
		w.start()
		var told uint64
		for i := range 1200 {
			before := w.now
			w.now += uint64(float64(50*ms) * (0.75 + 0.5*rnd.Float64()))
			l.live(before, w.now)
			l.ticks = l.waited * times / TickNS
			w.move(&l.task)
			w.poll()
			if i%20 == 19 {
				if a, ok := w.settle()[51]; ok {
					told = a.Flagged.NS + a.Unflagged.NS
				}
				p.Waits()
			}
		}
		if told < l.waited*7/10 || told > l.waited*2 {
			t.Errorf("told %d ms of %d ms, where the accounting has %d times as much", told/ms, l.waited/ms, times)
		}
		if c := p.Counts(); (c.Excess > 0) != (times > 1) {
			t.Errorf("%d times: %+v", times, c)
		}
	}
}

// TestAWaitThatEndsIsNoExcess, however long it went on.
func TestAWaitThatEndsIsNoExcess(t *testing.T) {
	w := accounted(t)
	x := &task{tid: 52, comm: "x", state: 'R', runs: 1}
	w.write(x)
	p := w.open(Config{})
	w.start()
	w.now += 50 * ms
	x.state, x.runs = 'D', 2
	w.write(x)
	for range 100 {
		w.poll()
		w.settle()
		w.now += 50 * ms
	}
	x.state, x.runs, x.ticks = 'R', 3, 501
	w.write(x)
	w.poll()
	a := w.settle()[52]
	if a.Flagged != (Sum{1, 5010 * ms}) || p.Counts().Excess != 0 {
		t.Errorf("%+v, %+v", a, p.Counts())
	}
}
