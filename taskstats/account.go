// SPDX-License-Identifier: Apache-2.0

package taskstats

// Sum adds up waits.
type Sum struct {
	Count uint64
	NS    uint64
}

func (s *Sum) add(count, ns uint64) {
	s.Count += count
	s.NS += ns
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
	covered   bool
	onlySeen  bool   // only waits that were seen count
	base      Stats  // what is not ours: as it was when the watch began
	latest    Stats  // as last asked for
	asked     bool   // latest is known
	baseTicks uint64 // like base, of the stat file

	sighted   Sum     // waits that were seen and judged to be iowait
	undecided []*Wait // too short to show in ticks
	unflagged Sum
	longest   uint64 // ns, of those sighted since the last account
	peak      uint64 // ns, of the accounting, at the last account
	swapIn    Sum    // likewise, at the last account
	told      Account
}

// init starts the account of a thread that was just found. One that is older
// than the watch brings counters that are not ours.
func (a *account) init(t *thread, ticks uint64, p *Poller) {
	if t.old {
		a.baseTicks = ticks
	}
	a.onlySeen = p.config.Min > 0
	a.cover(t, p)
}

// answer takes what the accounting says.
func (a *account) answer(s Stats, t *thread, p *Poller) {
	if !a.asked && t.old {
		a.base, a.peak = s, s.BlockIO.Max
	}
	a.latest, a.asked = s, true
	a.cover(t, p)
}

// cover says whether delay accounting covers a thread: one that began while it
// was off stays at 0 for ever, and that is not known to be no waiting.
func (a *account) cover(t *thread, p *Poller) {
	switch p.state {
	case OnAtBoot:
		a.covered = true
	case On:
		a.covered = a.covered || t.born >= p.onSince || t.ticks > 0 || a.latest.BlockIO.Count+a.latest.SwapIn.Count > 0
	default:
		a.covered = false
	}
}

func (a *account) mark(t *thread) mark {
	return mark{blockIO: a.latest.BlockIO, asked: a.asked, ticks: t.ticks}
}

// take adds a sighted wait that has ended.
func (a *account) take(w *Wait, after mark, p *Poller) {
	a.longest = max(a.longest, w.Blocked())
	switch {
	case a.covered:
		flag := w.judge(after)
		p.flags.learn(w, flag)
		if w.Flag = flag; flag == Flagged {
			a.leaveOut(w, after)
		}
	default:
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

// leaveOut takes off what the accounting says of a wait from before the watch
// began: it is told at once, when the wait ends.
func (a *account) leaveOut(w *Wait, after mark) {
	if !w.Adopted {
		return
	}
	if w.before.asked && after.asked {
		grown := after.blockIO.Since(w.before.blockIO).Total
		a.base.BlockIO.Total += since(grown, w.counted())
		return
	}
	grown := since(after.ticks, w.before.ticks)
	a.baseTicks += since(grown, w.counted()/TickNS)
}

// flagged is what the accounting says since the watch began.
func (a *account) flagged(ticks uint64) (sum, swapIn Sum) {
	if !a.covered || a.onlySeen {
		return a.sighted, Sum{}
	}
	if !a.asked {
		ns := since(ticks, a.baseTicks) * TickNS
		// The stat file tells no count: what was seen is a floor.
		return Sum{Count: max(a.sighted.Count, min(ns, 1)), NS: ns}, Sum{}
	}
	blockIO, swap := a.latest.BlockIO.Since(a.base.BlockIO), a.latest.SwapIn.Since(a.base.SwapIn)
	sum, swapIn = Sum{blockIO.Count, blockIO.Total}, Sum{swap.Count, swap.Total}
	if a.latest.SwapInApart() {
		sum.add(swap.Count, swap.Total)
	}
	swapIn = Sum{min(swapIn.Count, sum.Count), min(swapIn.NS, sum.NS)}
	return sum, swapIn
}

// settle decides on the waits that were too short to show in ticks: as long as
// the accounting tells more iowait than was seen so far they were that.
func (a *account) settle(flagged Sum) {
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

// settle gives the account of a thread; moved is false if it says nothing new.
func (t *thread) settle() (out Account, moved bool) {
	a := &t.account
	flagged, _ := a.flagged(t.ticks)
	a.settle(flagged)
	flagged, swapIn := a.flagged(t.ticks)
	flagged = grow(flagged, a.told.Flagged)
	out = Account{
		TID: t.tid, PID: t.process.pid, Comm: t.comm, Born: t.id(), Covered: a.covered,
		Flagged: flagged, Unflagged: a.unflagged, Wait: t.wait,
	}
	if a.longest == 0 {
		out.SwappedIn = mostly(minus(swapIn, a.swapIn), minus(flagged, a.told.Flagged))
	}
	a.swapIn = swapIn
	out.Longest = a.longestSince(&out)
	moved = flagged != a.told.Flagged || a.unflagged != a.told.Unflagged || t.wait != nil
	a.told, a.longest = out, 0
	t.told = t.told || moved && t.wanted
	return out, moved
}

// mostly is a part that is nearly the whole; else nothing.
func mostly(part, whole Sum) Sum {
	if part.NS == 0 || part.NS < whole.NS-whole.NS/10 {
		return Sum{}
	}
	return part
}

func minus(a, b Sum) Sum { return Sum{since(a.Count, b.Count), since(a.NS, b.NS)} }

// grow keeps a sum from going backwards, as a floor may when the way of counting changes.
func grow(now, before Sum) Sum { return Sum{max(now.Count, before.Count), max(now.NS, before.NS)} }

// longestSince is the longest wait since the last account: one that was seen, or
// the kernel's own longest, where that has just grown. No longest wait is shorter
// than the mean.
func (a *account) longestSince(out *Account) uint64 {
	longest := a.longest
	for _, s := range [][2]Sum{{out.Flagged, a.told.Flagged}, {out.Unflagged, a.told.Unflagged}} {
		if count := since(s[0].Count, s[1].Count); count > 0 {
			longest = max(longest, since(s[0].NS, s[1].NS)/count)
		}
	}
	if peak := a.latest.BlockIO.Max; a.latest.Peaks && peak > a.peak {
		longest, a.peak = max(longest, peak), peak
	}
	return longest
}
