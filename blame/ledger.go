// SPDX-License-Identifier: Apache-2.0

package blame

import "github.com/iowitness/iowitness/event"

// Ledger keeps each thread's account: what it waited exactly, from tallies, and
// for what, from the records of single waits. An interval is closed after its
// walk and after the ring was drained, in this order: then every record of a
// wait that a tally counts is at hand.
type Ledger struct {
	// Estimates says that all figures of tallies and waits are estimates: what was seen stands
	// for what was not. Set before use.
	Estimates bool

	judge   *judge
	opened  uint64 // ns by the witness's clock: what was waited before is nobody's business
	slow    uint64 // ns: a wait in progress is charged from this age on
	threads map[threadKey]*thread
}

type threadKey struct {
	tid  uint32
	born uint64
}

// thread is what the ledger knows of a thread between intervals.
type thread struct {
	settled counters     // at the end of the last interval
	latest  *event.Tally // of this interval, if there is one
	waits   []*event.Wait
	carried carried
	site    *event.Site // of the wait in progress, told once
	siteOf  uint64      // its start
}

// counters are the part of a tally that only grows.
type counters struct {
	count uint64
	sums  [4]event.Sum
	hist  event.Hist
}

// carried is a wait in progress of which earlier intervals have charged a part.
type carried struct {
	start   uint64
	charged uint64 // ns
	before  uint64 // ns of it that lie before the ledger was opened
	flags   event.Flags
}

// NewLedger opens an empty ledger at an instant of the witness's clock, with the
// threshold of slow waits; both in ns.
func NewLedger(names Names, opened, slow uint64) *Ledger {
	return &Ledger{judge: newJudge(names), opened: opened, slow: slow, threads: map[threadKey]*thread{}}
}

func (l *Ledger) thread(tid uint32, born uint64) *thread {
	key := threadKey{tid, born}
	t := l.threads[key]
	if t == nil {
		t = &thread{}
		l.threads[key] = t
	}
	return t
}

// Tally takes a thread's counters. A later one of the same interval replaces it.
func (l *Ledger) Tally(tally *event.Tally) {
	t := l.thread(tally.TID, tally.Born)
	if tally.Site != nil {
		t.site, t.siteOf = tally.Site, tally.Start
	}
	t.latest = tally
}

// Wait takes the record of one wait.
func (l *Ledger) Wait(w *event.Wait) {
	t := l.thread(w.TID, w.Born)
	t.waits = append(t.waits, w)
}

// Close ends an interval: epoch is its number, as NextEpoch gave it. Only
// threads that waited in it have an account.
func (l *Ledger) Close(epoch uint32) []Thread {
	var accounts []Thread
	for key, t := range l.threads {
		if t.latest == nil {
			continue
		}
		account := l.settle(t, epoch)
		if t.latest.Exited {
			delete(l.threads, key)
		}
		t.latest = nil
		if account.Count+account.Blocked > 0 || account.Pending != nil {
			accounts = append(accounts, account)
		}
	}
	return accounts
}

// Reopen continues at an instant of the witness's clock, after a time of which
// nothing was seen: that time is charged to nobody.
func (l *Ledger) Reopen(opened uint64) {
	l.opened = opened
	for _, t := range l.threads {
		t.carried = carried{}
	}
}

// InProgress takes the tally of a thread whose wait was under way when the ledger was opened.
func (l *Ledger) InProgress(tally *event.Tally) {
	l.Tally(tally)
	if tally.Start != 0 && tally.Start < l.opened {
		l.thread(tally.TID, tally.Born).carried = carried{start: tally.Start, flags: tally.Flags, before: l.opened - tally.Start}
	}
}

// Retain drops the threads that are no longer alive: needed only after final
// tallies were lost.
func (l *Ledger) Retain(alive func(tid uint32) bool) {
	for key, t := range l.threads {
		if t.latest == nil && !alive(key.tid) {
			delete(l.threads, key)
		}
	}
}

// Threads is the number of threads that the ledger keeps.
func (l *Ledger) Threads() int { return len(l.threads) }

func (l *Ledger) settle(t *thread, epoch uint32) Thread {
	tally := t.latest
	account := Thread{TID: tally.TID, PID: tally.PID, Comm: tally.Comm, Exited: tally.Exited}
	ended := t.takeWaits(tally.Count)
	strata, hist := t.advance(tally)
	account.Hist = hist
	if t.carried.start != 0 && tally.Start != t.carried.start {
		l.takeOff(&strata, t.carried, ended)
	}
	charges := newCharges()
	for i, sum := range strata {
		account.Count += sum.Count
		account.Blocked += sum.Blocked
		account.RunQueue += sum.RunQueue
		if event.Flags(i)&event.Flagged != 0 {
			account.FlaggedBlocked += sum.Blocked
		}
		if sum.Count+sum.Blocked > 0 {
			l.explain(charges, event.Flags(i), sum, pick(ended, event.Flags(i)), t.carried)
		}
	}
	account.Max = longest(tally, epoch, ended, account.Hist)
	l.carry(t, &account, charges)
	account.Charges = charges.list()
	return account
}

// takeWaits gives the records of waits that a count includes; younger ones stay for the next interval.
func (t *thread) takeWaits(count uint64) []*event.Wait {
	n := len(t.waits)
	for n > 0 && t.waits[n-1].Seq > count {
		n--
	}
	ended := t.waits[:n:n]
	t.waits = append([]*event.Wait(nil), t.waits[n:]...)
	return ended
}

// advance gives what the counters grew by, and settles them.
func (t *thread) advance(tally *event.Tally) (strata [4]event.Sum, hist event.Hist) {
	for i, sum := range tally.Sums {
		was := t.settled.sums[i]
		strata[i] = event.Sum{Count: sum.Count - was.Count, Blocked: sum.Blocked - was.Blocked, RunQueue: sum.RunQueue - was.RunQueue}
	}
	hist = tally.Hist.Since(t.settled.hist)
	t.settled = counters{count: tally.Count, sums: tally.Sums, hist: tally.Hist}
	return strata, hist
}

// pick gives the waits of a stratum: by whether they are slow, and flagged.
func pick(waits []*event.Wait, stratum event.Flags) []*event.Wait {
	var picked []*event.Wait
	for _, w := range waits {
		if w.Flags&(event.Slow|event.Flagged) == stratum {
			picked = append(picked, w)
		}
	}
	return picked
}

// longest is the interval's longest wait: the kernel keeps it by epoch.
func longest(tally *event.Tally, epoch uint32, ended []*event.Wait, hist event.Hist) uint64 {
	var ns uint64
	if m := tally.Max[epoch&1]; m.Epoch == epoch {
		ns = m.NS
	}
	for _, w := range ended {
		ns = max(ns, w.Blocked())
	}
	if ns == 0 && len(hist) > 0 {
		// All of them ended after the epoch and before the walk: the next epoch has them.
		ns = tally.Max[(epoch+1)&1].NS
	}
	return ns
}

// carry charges the part of a wait in progress that lies in this interval. Waits
// that are not yet slow are charged when they end.
func (l *Ledger) carry(t *thread, account *Thread, charges *charges) {
	tally := t.latest
	if tally.Start == 0 || tally.Exited {
		t.carried = carried{}
		return
	}
	age := since(tally.Now, tally.Start)
	woken := tally.Woken >= tally.Start
	blocked := age
	if woken {
		blocked = min(age, since(tally.Woken, tally.Start))
	}
	if t.siteOf != tally.Start {
		t.site = nil
	}
	if t.carried.start != tally.Start {
		t.carried = carried{}
		if blocked < l.slow {
			return
		}
		t.carried = carried{start: tally.Start, flags: tally.Flags, before: since(l.opened, tally.Start)}
	}
	charge := since(since(blocked, t.carried.before), t.carried.charged)
	t.carried.charged += charge

	p := l.pending(t.site, tally.Flags)
	p.Age, p.Woken = age, woken
	account.Pending = p
	account.Blocked += charge
	account.Max = max(account.Max, blocked)
	if p.Flagged {
		account.FlaggedBlocked += charge
	}
	c := charges.of(chargeKey{
		cause: p.Cause, flagged: p.Flagged, flagUnknown: p.FlagUnknown, device: p.Device, deviceSource: p.DeviceSource,
		file: p.File, syscall: p.Syscall, stack: stackID(p.Stack),
	}, p.Stack)
	c.Blocked += charge
	c.Max = max(c.Max, blocked)
}

func (l *Ledger) pending(site *event.Site, flags event.Flags) *Pending {
	p := &Pending{
		Adopted: flags&event.Adopted != 0, Flagged: flags&event.Flagged != 0, FlagUnknown: flags&event.FlagUnknown != 0,
		Cause: Unattributed, Syscall: -1,
	}
	if site == nil {
		return p
	}
	v := l.judge.verdict(site, flags&^event.Joined)
	p.Cause, p.Stack, p.File, p.Syscall = v.cause, v.stack, site.File, site.Syscall
	p.Device, p.DeviceSource = device(v.cause, 0, event.Request{}, site.File)
	return p
}

// since is a difference that is never negative.
func since(now, then uint64) uint64 {
	if now < then {
		return 0
	}
	return now - then
}
