// SPDX-License-Identifier: Apache-2.0

package blame

import (
	"math/rand/v2"
	"testing"

	"github.com/iowitness/iowitness/event"
)

func TestAWaitDividesByItsRequest(t *testing.T) {
	for _, c := range []struct {
		name    string
		blocked uint64
		request event.Request
		want    Split
	}{
		{"throttled before it", 10_000, event.Request{Queue: 30, Device: 660}, Split{Before: 9310, Queued: 30, Within: 660}},
		{"all in the device", 500, event.Request{Device: 500}, Split{Within: 500}},
		{"read ahead long before", 100, event.Request{Queue: 50, Device: 4000}, Split{Within: 100}},
		{"queued before the wait began", 100, event.Request{Queue: 90, Device: 40}, Split{Queued: 60, Within: 40}},
		{"queueing not known", 100, event.Request{Device: 40}, Split{Before: 60, Within: 40}},
		{"nothing known", 100, event.Request{}, Split{Before: 100}},
		{"no wait", 0, event.Request{Queue: 5, Device: 7}, Split{}},
	} {
		if got := SplitBy(c.blocked, c.request); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

// TestSumsOfJoinsDoNotDependOnOrder: nor on how they are grouped, and their parts add up.
func TestSumsOfJoinsDoNotDependOnOrder(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 3))
		waits := make([]*event.Wait, 1+r.IntN(20))
		for i := range waits {
			waits[i] = &event.Wait{Start: 1, Woken: 1 + r.Uint64N(4), Request: randomRequest(r, 4)}
		}
		var one Joins
		for _, w := range waits {
			one.add(w)
		}
		r.Shuffle(len(waits), func(i, j int) { waits[i], waits[j] = waits[j], waits[i] })
		var halves [2]Joins
		for _, w := range waits {
			halves[r.IntN(2)].add(w)
		}
		halves[1].Merge(&halves[0])
		if halves[1] != one {
			t.Fatalf("seed %d: %+v, in another order %+v", seed, one, halves[1])
		}
		if mean, ok := one.Mean(); ok != (one.Timed > 0) || ok && mean.Before+mean.Queued+mean.Within != one.Blocked/one.Timed {
			t.Fatalf("seed %d: %+v of %+v", seed, mean, one)
		}
	}
}

func randomRequest(r *rand.Rand, most uint64) event.Request {
	return event.Request{
		Sector: r.Uint64N(3), Dev: event.Dev(r.IntN(2)), Bytes: uint32(r.IntN(2)) * 4096, Op: uint32(r.IntN(3)),
		Queue: r.Uint64N(most), Device: r.Uint64N(most),
	}
}

// TestWhatIsNotKnownOfARequestStaysUnknown: such a wait is joined and in no mean.
func TestWhatIsNotKnownOfARequestStaysUnknown(t *testing.T) {
	var j Joins
	j.add(&event.Wait{Start: 10, Woken: 110, Request: event.Request{Sector: 8}})
	if _, ok := j.Mean(); ok || j.Waits != 1 || j.Timed+j.Blocked+j.Device+j.QueueTimed != 0 || j.Longest.Sector != 8 || j.LongestWait != 100 {
		t.Errorf("%+v", j)
	}
	j.add(&event.Wait{Start: 10, Woken: 60, Request: event.Request{Sector: 16, Device: 20}})
	mean, ok := j.Mean()
	if !ok || mean != (Split{Before: 30, Within: 20}) || j.Timed != 1 || j.QueueTimed != 0 || j.Longest.Sector != 8 {
		t.Errorf("%+v, on average %+v", j, mean)
	}
}

// stackNames names whole stacks.
type stackNames [][]string

func (s stackNames) Stack(addresses []uint64) []string { return s[addresses[0]] }

func (stackNames) Syscall(int32) string { return "fsync" }

// TestACompletionByChanceIsNoJoin: another thread ends the wait for a commit, though a
// request may complete on the same CPU just before.
func TestACompletionByChanceIsNoJoin(t *testing.T) {
	names := stackNames{
		{"schedule", "jbd2_log_wait_commit", "ext4_sync_file"},
		{"io_schedule", "folio_wait_bit_common", "filemap_get_pages", "filemap_read", "vfs_read"},
	}
	for stack, want := range []uint64{0, 1} {
		l := NewLedger(names, 0, slow)
		w := wait(1, 10, event.First|event.Joined, uint64(stack))
		w.Request = event.Request{Dev: 5, Device: 3}
		l.Wait(w)
		l.Tally(tally(1, 10, 0))
		c := l.Close(1)[0].Charges[0]
		if c.Seen != 1 || c.Joins.Waits != want || c.Joins.Longest.Dev != event.Dev(5*want) {
			t.Errorf("%s: %+v", c.Cause, c.Joins)
		}
	}
}
