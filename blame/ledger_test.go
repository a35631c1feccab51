// SPDX-License-Identifier: Apache-2.0

package blame

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/iowitness/iowitness/event"
)

// fakeNames gives each address a name of a real function.
type fakeNames struct{}

var fakeStacks = [][]string{
	{"io_schedule", "folio_wait_bit_common", "filemap_get_pages", "filemap_read", "vfs_read"},
	{"io_schedule_timeout", "wait_for_completion_io_timeout", "submit_bio_wait", "blkdev_issue_flush", "ext4_sync_file"},
	{"schedule", "request_wait_answer", "fuse_simple_request"},
}

func (fakeNames) Stack(addresses []uint64) []string {
	if len(addresses) == 0 {
		return nil
	}
	return fakeStacks[addresses[0]%uint64(len(fakeStacks))]
}

func (fakeNames) Syscall(int32) string { return "read" }

// machine is a kernel side of one thread, in miniature: it counts exactly what
// bpf/ counts, and records what bpf/ would record.
type machine struct {
	rnd    *rand.Rand
	now    uint64
	tally  event.Tally
	site   event.Site
	epoch  uint32
	inside int
	told   uint64
}

const slow = 1_000_000

func newMachine(seed uint64) *machine {
	m := &machine{rnd: rand.New(rand.NewPCG(seed, 1)), now: 1000, epoch: 1}
	m.tally = event.Tally{TID: 7, PID: 7, Comm: "x", Born: 500}
	return m
}

func (m *machine) start() {
	m.site = event.Site{Stack: []uint64{m.rnd.Uint64N(3)}, File: event.File{Source: event.ByFD, Ino: m.rnd.Uint64N(2), Dev: 9}}
	m.tally.Start = m.now
	m.tally.Flags = event.Flags(m.rnd.Uint64N(2)) << 1
}

func (m *machine) end() *event.Wait {
	w := &event.Wait{TID: 7, PID: 7, Born: 500, Start: m.tally.Start, Woken: m.now, Runs: m.now + m.rnd.Uint64N(1000), Site: m.site}
	w.Flags = m.tally.Flags
	if w.Blocked() >= slow {
		w.Flags |= event.Slow
	}
	if m.rnd.IntN(3) > 0 {
		w.Flags |= event.Joined
		w.Request = randomRequest(m.rnd, 2*slow)
	}
	m.now = w.Runs
	m.tally.Start = 0
	m.tally.Count++
	w.Seq = m.tally.Count
	s := &m.tally.Sums[w.Flags&3]
	s.Count++
	s.Blocked += w.Blocked()
	s.RunQueue += w.RunQueue()
	m.tally.Hist = slices.Clone(m.tally.Hist)
	m.tally.Hist.Add(event.HistSlot(w.Blocked()), 1)
	max := &m.tally.Max[m.epoch&1]
	if max.Epoch != m.epoch {
		*max = event.Max{Epoch: m.epoch}
	}
	if w.Blocked() > max.NS {
		max.NS = w.Blocked()
	}
	if m.inside++; m.inside <= 2 {
		w.Flags |= event.First
	} else if w.Flags&event.Slow == 0 && m.inside%4 != 0 {
		return nil
	}
	return w
}

func (m *machine) walk() *event.Tally {
	t := m.tally
	t.Now = m.now
	if t.Start != 0 && t.Start != m.told && m.now-t.Start >= slow {
		site := m.site
		t.Site, m.told = &site, t.Start
	}
	return &t
}

// TestTheLedgerBalances lets threads wait at random, with records lost at random
// and intervals closed in the midst of waits, and holds the ledger to the truth.
func TestTheLedgerBalances(t *testing.T) {
	for seed := range uint64(300) {
		m := newMachine(seed)
		l := NewLedger(fakeNames{}, 0, slow)
		var truth, got, count uint64
		for range 20 {
			for range m.rnd.IntN(12) {
				m.now += m.rnd.Uint64N(10_000)
				if m.tally.Start == 0 {
					m.start()
				}
				m.now += []uint64{m.rnd.Uint64N(50_000), m.rnd.Uint64N(5 * slow)}[m.rnd.IntN(2)]
				if m.rnd.IntN(5) == 0 {
					break // the interval ends in the midst of the wait
				}
				blocked := m.now - m.tally.Start
				w := m.end()
				truth += blocked
				if w != nil && m.rnd.IntN(4) > 0 {
					l.Wait(w)
				}
			}
			closed := m.epoch
			m.epoch++
			m.inside = 0
			tally := m.walk()
			l.Tally(tally)
			for _, account := range l.Close(closed) {
				got += account.Blocked
				count += account.Count
				checkBalance(t, seed, account)
			}
		}
		if m.tally.Start != 0 {
			m.now += slow
			truth += m.now - m.tally.Start
			m.end()
		}
		l.Tally(m.walk())
		for _, account := range l.Close(m.epoch) {
			got += account.Blocked
			count += account.Count
			checkBalance(t, seed, account)
		}
		if got != truth || count != m.tally.Count {
			t.Fatalf("seed %d: %d ns in %d waits, in truth %d ns in %d", seed, got, count, truth, m.tally.Count)
		}
	}
}

func checkBalance(t *testing.T, seed uint64, account Thread) {
	t.Helper()
	var blocked, count, runqueue, flagged uint64
	for _, c := range account.Charges {
		blocked += c.Blocked
		count += c.Count
		runqueue += c.RunQueue
		if c.Flagged {
			flagged += c.Blocked
		}
		checkJoins(t, seed, &c)
		if c.Max > account.Max {
			t.Fatalf("seed %d: a charge's longest wait %d is longer than the thread's %d", seed, c.Max, account.Max)
		}
	}
	if blocked != account.Blocked || count != account.Count || runqueue != account.RunQueue || flagged != account.FlaggedBlocked {
		t.Fatalf("seed %d: charges add up to %d ns, %d waits, %d ns queued, %d ns flagged; the account has %d, %d, %d, %d",
			seed, blocked, count, runqueue, flagged, account.Blocked, account.Count, account.RunQueue, account.FlaggedBlocked)
	}
	if account.Blocked > 1<<60 || account.RunQueue > 1<<60 {
		t.Fatalf("seed %d: an absurd time: %+v", seed, account)
	}
}

// checkJoins: no more is told of requests than of the waits that they ended.
func checkJoins(t *testing.T, seed uint64, c *Charge) {
	t.Helper()
	j := &c.Joins
	if j.Waits > c.Seen || j.Timed > j.Waits || j.QueueTimed > j.Timed || j.LongestWait > c.Max || j.Before+j.Within > j.Blocked ||
		j.Within > j.Device || j.Blocked > j.Timed*j.LongestWait || j.Waits > 0 && !endsWithRequest(c.Cause) {
		t.Fatalf("seed %d: %+v of a charge %+v", seed, j, c)
	}
}

func wait(seq, blocked uint64, flags event.Flags, stack uint64) *event.Wait {
	return &event.Wait{
		TID: 1, PID: 1, Born: 5, Start: 100 * seq, Woken: 100*seq + blocked, Runs: 100*seq + blocked, Seq: seq,
		Flags: flags, Site: event.Site{Stack: []uint64{stack}},
	}
}

func tally(count, blocked uint64, flags event.Flags) *event.Tally {
	t := &event.Tally{TID: 1, PID: 1, Born: 5, Count: count}
	t.Sums[flags&3] = event.Sum{Count: count, Blocked: blocked}
	return t
}

// TestSampledWaitsStandForTheRest: the first wait stands for itself, the
// periodic one for the others.
func TestSampledWaitsStandForTheRest(t *testing.T) {
	l := NewLedger(fakeNames{}, 0, slow)
	l.Wait(wait(1, 10, event.Flagged|event.First, 1))
	l.Wait(wait(64, 20, event.Flagged, 0))
	l.Tally(tally(101, 2010, event.Flagged))
	charges := l.Close(1)[0].Charges
	if len(charges) != 2 {
		t.Fatalf("%d charges: %+v", len(charges), charges)
	}
	first, rest := charges[0], charges[1]
	if first.Cause != DeviceFlush || first.Count != 1 || first.Blocked != 10 || first.Sampled {
		t.Errorf("the first wait: %+v", first)
	}
	if rest.Cause != PageCacheRead || rest.Count != 100 || rest.Blocked != 2000 || !rest.Sampled || rest.Seen != 1 {
		t.Errorf("the rest: %+v", rest)
	}
}

// TestAWaitYoungerThanTheTallyIsLeftForTheNextInterval: the ring is drained after the walk.
func TestAWaitYoungerThanTheTallyIsLeftForTheNextInterval(t *testing.T) {
	l := NewLedger(fakeNames{}, 0, slow)
	l.Tally(tally(1, 10, event.Flagged))
	l.Wait(wait(1, 10, event.Flagged, 0))
	l.Wait(wait(2, 30, event.Flagged, 0))
	if got := l.Close(1)[0].Blocked; got != 10 {
		t.Errorf("first interval: %d ns", got)
	}
	l.Tally(tally(2, 40, event.Flagged))
	second := l.Close(2)[0]
	if second.Blocked != 30 || second.Charges[0].Cause != PageCacheRead || second.Charges[0].Sampled {
		t.Errorf("second interval: %+v", second)
	}
}

// TestAReusedThreadIDIsAnotherThread: an ended thread and its successor of the same id.
func TestAReusedThreadIDIsAnotherThread(t *testing.T) {
	l := NewLedger(fakeNames{}, 0, slow)
	old := tally(5, 50, event.Flagged)
	old.Exited, old.Comm = true, "old"
	young := tally(1, 7, event.Flagged)
	young.Born, young.Comm = 99, "young"
	l.Tally(young)
	l.Tally(old)
	sum := map[string]uint64{}
	for _, account := range l.Close(1) {
		sum[account.Comm] += account.Blocked
	}
	if sum["old"] != 50 || sum["young"] != 7 {
		t.Errorf("%v", sum)
	}
	if l.Threads() != 1 {
		t.Errorf("%d threads kept after one has ended", l.Threads())
	}
}

// TestAStuckThreadShowsWhileItIsStuck: 40 s in one wait are told second by second.
func TestAStuckThreadShowsWhileItIsStuck(t *testing.T) {
	const second = 1_000_000_000
	l := NewLedger(fakeNames{}, 0, slow)
	for i := uint64(1); i <= 40; i++ {
		stuck := &event.Tally{TID: 1, PID: 1, Born: 5, Start: 5, Now: 5 + i*second}
		if i == 1 {
			stuck.Site = &event.Site{Stack: []uint64{2}}
		}
		l.Tally(stuck)
		account := l.Close(uint32(i))[0]
		if account.Blocked != second || account.Pending == nil || account.Pending.Age != i*second || account.Pending.Cause != FUSE {
			t.Fatalf("second %d: %+v", i, account)
		}
		checkBalance(t, i, account)
	}
	ended := tally(1, 40*second+500, event.Slow)
	l.Tally(ended)
	l.Wait(&event.Wait{TID: 1, PID: 1, Born: 5, Start: 5, Woken: 5 + 40*second + 500, Runs: 5 + 40*second + 500, Seq: 1, Flags: event.Slow, Site: event.Site{Stack: []uint64{2}}})
	account := l.Close(41)[0]
	if account.Blocked != 500 || account.Count != 1 {
		t.Errorf("at its end: %+v", account)
	}
	checkBalance(t, 41, account)
}

// TestWhatWasWaitedBeforeTheStartIsNotCharged: an adopted wait began an hour ago.
func TestWhatWasWaitedBeforeTheStartIsNotCharged(t *testing.T) {
	l := NewLedger(fakeNames{}, 3_600_000_000_000, slow)
	l.Tally(&event.Tally{TID: 1, PID: 1, Born: 5, Start: 5, Now: 3_601_000_000_000, Flags: event.Adopted, Site: &event.Site{Stack: []uint64{2}}})
	account := l.Close(1)[0]
	if account.Blocked != 1_000_000_000 || account.Pending.Age != 3_601_000_000_000-5 || !account.Pending.Adopted {
		t.Errorf("%+v %+v", account, account.Pending)
	}
}

// TestATimeOfWhichNothingWasSeenIsChargedToNobody: a wait goes on through a
// closed gate, and ends after it.
func TestATimeOfWhichNothingWasSeenIsChargedToNobody(t *testing.T) {
	const second = uint64(1e9)
	l := NewLedger(fakeNames{}, 1*second, 1e6)
	under := func(now uint64) *event.Tally {
		return &event.Tally{TID: 7, PID: 7, Born: second / 2, Now: now, Start: second / 2}
	}
	l.InProgress(under(1 * second))
	l.Tally(under(3 * second))
	if got := l.Close(1)[0].Blocked; got != 2*second {
		t.Errorf("before the gate closed: %d ns", got)
	}
	l.Reopen(10 * second)
	l.InProgress(under(10 * second))
	ended := under(12 * second)
	ended.Start, ended.Count = 0, 1
	ended.Sums[event.Slow] = event.Sum{Count: 1, Blocked: 11*second - second/2}
	l.Tally(ended)
	account := l.Close(2)
	if len(account) != 1 || account[0].Count != 1 || account[0].Blocked != 1*second {
		t.Errorf("after it opened: %+v", account)
	}
}
