// SPDX-License-Identifier: Apache-2.0

package taskstats

import "math"

// Sum adds up waits.
type Sum struct {
	Count uint64
	NS    uint64
}

func (s *Sum) add(count, ns uint64) {
	s.Count += count
	s.NS += ns
}

func (s Sum) since(before Sum) Sum {
	return Sum{since(s.Count, before.Count), since(s.NS, before.NS)}
}

// Account is what a thread has waited since the watch began, or since it did.
// All of it is an estimate but Flagged where Covered is true.
type Account struct {
	TID, PID uint32
	Comm     string
	Born     uint64 // tells the threads of one id apart; never 0
	// Flagged are the waits that the kernel calls iowait: by delay accounting or, where that
	// does not cover the thread, as they were seen. Unflagged are the others that were seen,
	// those of which it is not known among them.
	Flagged, Unflagged Sum
	Covered            bool
	// SwappedIn is how much of Flagged grew since the last account for swapped out pages: told
	// only where that is nearly all of it and no poll saw another wait.
	SwappedIn Sum
	Longest   uint64 // ns: of the waits that have ended since the last account; at least the mean
	Wait      *Wait  // that goes on
	Exited    bool
}

// account is the running state of an Account.
type account struct {
	covered  bool
	onlySeen bool // only waits that were seen count
	blind    bool // waits in io_uring are hidden from us: there may be iowait that no poll sees

	// What delay accounting tells, by netlink or by the ticks of the stat file.
	latest   Stats
	asked    bool   // latest is known
	ticks    uint64 // as last polled
	taken    uint64 // instant of the last of either; 0: none was
	waiting  uint64 // since when a wait went on then; 0: none was seen
	counted  Sum    // what it has grown by, within what is possible
	swapIn   Sum    // part of it
	excess   Sum    // more than is possible, and so left out
	ticksNS  uint64 // the growth in ticks since the last account
	sighting Sum    // all waits that were seen, whatever they were: what counted is held against

	sighted   Sum     // waits that were seen and judged to be iowait
	undecided []*Wait // too short to show in ticks
	unflagged Sum
	longest   uint64 // ns, of those seen since the last account
	peak      uint64 // ns, the kernel's longest as of the last account

	told       Account
	toldSwapIn Sum
	toldSeen   uint64 // waits sighted, as of the last account
}

// cover says whether delay accounting covers a thread: one that began while it
// was off stays at 0 for ever, and that is not known to be no waiting.
func (a *account) cover(t *thread, p *Poller) {
	a.onlySeen = p.config.Min > 0
	switch p.state {
	case OnAtBoot:
		a.covered = true
	case On:
		a.covered = a.covered || t.born >= p.onSince || t.ticks > 0 || a.latest.BlockIO.Count+a.latest.SwapIn.Count > 0
	default:
		a.covered = false
	}
}

// answer takes what the accounting says by netlink.
func (a *account) answer(s Stats, t *thread, p *Poller) {
	grown, swapped, peak := s.BlockIO, s.SwapIn, s.BlockIO.Max
	if a.asked {
		grown, swapped = s.BlockIO.Since(a.latest.BlockIO), s.SwapIn.Since(a.latest.SwapIn)
	}
	if s.SwapInApart() {
		grown.Count, grown.Total = grown.Count+swapped.Count, grown.Total+swapped.Total
	}
	ours := a.asked && a.taken >= p.since || !a.asked && !t.old
	a.latest, a.asked = s, true
	a.cover(t, p)
	if !ours {
		a.peak = peak
	} else {
		a.grow(Sum{grown.Count, grown.Total}, t, p, 0)
		a.swapIn.add(min(swapped.Count, grown.Count), min(swapped.Total, grown.Total))
	}
	a.note(t, p)
}

// tick takes the ticks of the stat file, where there is no better.
func (a *account) tick(ticks uint64, t *thread, p *Poller) {
	before := a.ticks
	a.ticks = ticks
	if p.client != nil {
		return
	}
	if a.taken >= p.since && a.taken != 0 || !t.met && !t.old {
		grown := Sum{NS: since(ticks, before) * TickNS}
		a.ticksNS += grown.NS
		a.grow(grown, t, p, TickNS)
	}
	a.note(t, p)
}

func (a *account) note(t *thread, p *Poller) {
	a.taken, a.waiting = p.asOf, 0
	if t.wait != nil {
		a.waiting = t.wait.begin()
	}
}

// grow adds what the accounting has grown by. It may be more than can be: from
// 6.12 on the kernel notes the start of a wait at the wrong thread when another
// one takes it off the CPU's queue, so that the wait seems to begin with an older
// one, or with the machine; and CPUs whose clocks differ shorten and lengthen waits.
func (a *account) grow(grown Sum, t *thread, p *Poller, slack uint64) {
	from := max(a.taken, t.born, p.since)
	if a.waiting != 0 {
		from = a.waiting
	} else if a.taken != 0 {
		from = since(from, p.gap()) // of waits that no poll saw
	}
	possible := since(p.asOf, from) + slack
	if grown.NS > possible {
		if t.wait == nil || !t.wait.Adopted {
			a.excess.add(1, grown.NS-possible)
		}
		grown.NS = possible
	}
	a.counted.add(grown.Count, grown.NS)
}

func (a *account) mark(t *thread) mark {
	return mark{blockIO: a.latest.BlockIO, asked: a.asked, ticks: a.ticks}
}

// take adds a sighted wait that has ended.
func (a *account) take(w *Wait, after mark, p *Poller) {
	a.longest = max(a.longest, w.Blocked())
	a.sighting.add(1, w.counted())
	if a.covered {
		w.Flag = w.judge(after)
		p.flags.learn(w, w.Flag)
	} else {
		w.Flag = p.flags.of(w)
	}
	switch {
	case w.Flag == Flagged:
		a.sighted.add(1, w.counted())
	case w.Flag == FlagUnknown && a.covered:
		a.undecided = append(a.undecided, w)
	default:
		a.unflagged.add(1, w.counted())
	}
}

// flagged is what there was of iowait since the watch began.
func (a *account) flagged(p *Poller) Sum {
	if !a.covered || a.onlySeen {
		return a.sighted
	}
	if !a.blind {
		a.holdAgainstSightings(p)
	}
	return a.counted
}

// holdAgainstSightings takes back what the accounting tells beyond all likelihood.
// Each sighting stands for a gap between polls, which is right in the mean; three
// times the spread of that, and what no poll can have seen yet, is let pass.
func (a *account) holdAgainstSightings(p *Poller) {
	gap, seen := float64(p.gap()), float64(a.sighting.NS)
	likely := uint64(seen + 3*gap + 3*math.Sqrt(gap*seen))
	if a.waiting != 0 {
		likely += since(p.asOf, a.waiting)
	}
	if a.counted.NS > likely {
		a.excess.add(1, a.counted.NS-a.sighting.NS)
		a.counted.NS = a.sighting.NS
		a.swapIn.NS = min(a.swapIn.NS, a.counted.NS)
	}
}

// decide settles the waits that were too short to show in ticks: as long as the
// accounting tells more iowait than was seen so far they were that.
func (a *account) decide(flagged Sum) {
	for _, w := range a.undecided {
		if a.sighted.NS+w.counted() <= flagged.NS {
			w.Flag = Flagged
			a.sighted.add(1, w.counted())
			continue
		}
		w.Flag = Unflagged
		a.unflagged.add(1, w.counted())
	}
	a.undecided = nil
}

// countTicks counts waits where the kernel tells only their time: those that were seen, and at least one.
func (a *account) countTicks() {
	if a.asked || !a.covered || a.onlySeen {
		return
	}
	if n := a.sighted.Count - a.toldSeen; n > 0 || a.ticksNS > 0 {
		a.counted.Count += max(n, 1)
	}
	a.toldSeen, a.ticksNS = a.sighted.Count, 0
}

// settle gives the account of a thread; moved is false if it says nothing new.
func (t *thread) settle(p *Poller) (out Account, moved bool) {
	a := &t.account
	a.decide(a.flagged(p))
	a.countTicks()
	flagged := a.flagged(p)
	// Neither what was told nor a floor goes backwards when the way of counting changes.
	flagged = Sum{max(flagged.Count, a.told.Flagged.Count), max(flagged.NS, a.told.Flagged.NS)}
	out = Account{
		TID: t.tid, PID: t.process.pid, Comm: t.comm, Born: t.id(), Covered: a.covered,
		Flagged: flagged, Unflagged: a.unflagged,
	}
	if t.wait != nil && since(p.now, t.wait.Start) >= p.config.Min {
		out.Wait = t.wait
	}
	if a.longest == 0 {
		out.SwappedIn = mostly(a.swapIn.since(a.toldSwapIn), flagged.since(a.told.Flagged))
	}
	out.Longest = a.longestSince(&out)
	moved = flagged != a.told.Flagged || a.unflagged != a.told.Unflagged || out.Wait != nil
	a.told, a.toldSwapIn, a.longest = out, a.swapIn, 0
	t.told = t.told || moved && t.wanted
	p.counts.Excess += a.excess.Count
	p.counts.ExcessNS += a.excess.NS
	a.excess = Sum{}
	return out, moved
}

// mostly is a part that is nearly the whole; else nothing.
func mostly(part, whole Sum) Sum {
	if part.NS == 0 || part.NS < whole.NS-whole.NS/10 {
		return Sum{}
	}
	return part
}

// longestSince is the longest wait since the last account: one that was seen, or
// the kernel's own longest, where that has just grown and is no more than all of
// them. No longest wait is shorter than the mean.
func (a *account) longestSince(out *Account) uint64 {
	longest := a.longest
	flagged, unflagged := out.Flagged.since(a.told.Flagged), out.Unflagged.since(a.told.Unflagged)
	for _, s := range []Sum{flagged, unflagged} {
		if s.Count > 0 {
			longest = max(longest, s.NS/s.Count)
		}
	}
	if peak := a.latest.BlockIO.Max; a.latest.Peaks && peak > a.peak {
		if a.peak = peak; peak <= flagged.NS {
			longest = max(longest, peak)
		}
	}
	return longest
}
