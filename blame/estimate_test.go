// SPDX-License-Identifier: Apache-2.0

package blame

import (
	"math/rand/v2"
	"testing"

	"github.com/iowitness/iowitness/event"
)

// TestEstimatesBalance: whatever little was seen, causes add up to what was
// counted, in each interval.
func TestEstimatesBalance(t *testing.T) {
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		l := NewLedger(fakeNames{}, 1000, slow)
		l.Estimates = true
		tally := event.Tally{TID: 7, PID: 7, Born: 1, Now: 1000}
		var told, charged, waits, chargedWaits uint64
		for epoch := uint32(1); epoch < 20; epoch++ {
			next := tally
			next.Now += 1_000_000_000
			for range rnd.IntN(5) {
				flag := event.Flags(rnd.IntN(2)) * event.Flagged
				s := &next.Sums[event.Slow|flag]
				s.Count += rnd.Uint64N(50)
				s.Blocked += rnd.Uint64N(200_000_000)
			}
			next.Count = next.Sums[1].Count + next.Sums[3].Count
			for range rnd.IntN(6) {
				start := tally.Now + rnd.Uint64N(900_000_000)
				end := start + rnd.Uint64N(100_000_000)
				l.Wait(&event.Wait{
					TID: 7, PID: 7, Born: 1, Start: start, Woken: end, Runs: end, Seq: next.Count,
					Flags: event.Slow | event.Flags(rnd.IntN(2))*event.Flagged | event.Flags(rnd.IntN(2))*event.First,
					Site:  event.Site{Names: []string{"submit_bio_wait"}, Syscall: 17},
				})
			}
			tally = next
			l.Tally(&tally)
			for _, account := range l.Close(epoch) {
				told += account.Blocked
				waits += account.Count
				for _, c := range account.Charges {
					charged += c.Blocked
					chargedWaits += c.Count
					if len(c.Hist) > 0 {
						t.Fatalf("seed %d: a histogram of estimates", seed)
					}
				}
			}
		}
		if want := tally.Sums[1].Blocked + tally.Sums[3].Blocked; told != want || charged != want {
			t.Fatalf("seed %d: %d ns counted, %d told, %d charged", seed, want, told, charged)
		}
		if waits != tally.Count || chargedWaits != tally.Count {
			t.Fatalf("seed %d: %d waits counted, %d told, %d charged", seed, tally.Count, waits, chargedWaits)
		}
	}
}

// TestAWaitSeenOnceStandsForThoseThatNobodySaw, and one seen twice for itself.
func TestAWaitSeenOnceStandsForThoseThatNobodySaw(t *testing.T) {
	waits := []*event.Wait{{Flags: event.First}, {}, {Flags: event.First}, {}}
	for count, want := range map[uint64][]uint64{
		0: {0, 0, 0, 0}, 1: {1, 0, 0, 0}, 2: {1, 0, 1, 0}, 3: {1, 0, 1, 1}, 10: {1, 4, 1, 4},
	} {
		got := estimatedCounts(waits, count)
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("of %d waits: %v, want %v", count, got, want)
				break
			}
		}
	}
	if got := estimatedCounts(waits[:1], 7); got[0] != 7 {
		t.Errorf("a wait that is all that was seen stands for %v of 7", got)
	}
}

// TestALongEstimatedWaitIsCountedOnce: told while it goes on, as not iowait, and at
// its end by the accounting, as iowait.
func TestALongEstimatedWaitIsCountedOnce(t *testing.T) {
	const second = 1_000_000_000
	l := NewLedger(fakeNames{}, 10*second, slow)
	l.Estimates = true
	site := &event.Site{Names: []string{"submit_bio_wait"}, Syscall: 17}
	var total, flagged uint64
	close := func(epoch uint32) *Thread {
		accounts := l.Close(epoch)
		if len(accounts) != 1 {
			t.Fatalf("%d accounts", len(accounts))
		}
		total += accounts[0].Blocked
		flagged += accounts[0].FlaggedBlocked
		return &accounts[0]
	}
	// It began 5 s before the watch.
	for i := uint64(1); i <= 3; i++ {
		l.Tally(&event.Tally{TID: 1, PID: 1, Born: 1, Now: (10 + i) * second, Start: 5 * second, Flags: event.Slow | event.Adopted | event.FlagUnknown, Site: site})
		account := close(uint32(i))
		if p := account.Pending; p == nil || !p.FlagUnknown || p.Age != (5+i)*second || account.Blocked != second || !account.Charges[0].FlagUnknown {
			t.Fatalf("interval %d: %+v", i, account)
		}
	}
	ended := event.Tally{TID: 1, PID: 1, Born: 1, Now: 14 * second, Count: 1}
	ended.Sums[event.Slow|event.Flagged] = event.Sum{Count: 1, Blocked: 3_500_000_000} // of it within the watch
	l.Tally(&ended)
	l.Wait(&event.Wait{TID: 1, PID: 1, Born: 1, Start: 5 * second, Woken: 13_500_000_000, Runs: 13_500_000_000, Seq: 1, Flags: event.Slow | event.Flagged | event.First, Site: *site})
	close(4)
	if total != 3_500_000_000 || flagged != 500_000_000 {
		t.Errorf("%d ns in all, %d flagged", total, flagged)
	}
}
