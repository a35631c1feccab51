// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"math"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/kmod"
)

type processKey struct {
	tgid uint32
	born uint64
}

// kmodProcess is what is known of a process between walks.
type kmodProcess struct {
	base    kmod.Counts // at Start
	told    uint64      // returns at the last walk
	wanted  bool
	checked uint64 // when that was asked
	comm    string // of then
}

// merge adds up the entries of a process, of which the module may have two.
func merge(processes []kmod.Process) map[processKey]*kmod.Process {
	merged := make(map[processKey]*kmod.Process, len(processes))
	for i := range processes {
		p := &processes[i]
		key := processKey{p.TGID, p.Born}
		if first := merged[key]; first != nil {
			addProcess(first, p)
		} else {
			merged[key] = p
		}
	}
	return merged
}

func addProcess(to, p *kmod.Process) {
	to.Entries += p.Entries
	to.BelowMin += p.BelowMin
	to.MaxNS = max(to.MaxNS, p.MaxNS)
	for sum, more := range map[*kmod.Sum]kmod.Sum{&to.Flagged: p.Flagged, &to.Unflagged: p.Unflagged, &to.NotWaited: p.NotWaited} {
		sum.Count += more.Count
		sum.NS += more.NS
	}
	for i, m := range p.Epochs {
		switch mine := &to.Epochs[i]; {
		case m.Epoch == mine.Epoch:
			mine.NS = max(mine.NS, m.NS)
		case (m.Epoch-mine.Epoch)&kmod.EpochMask < kmod.EpochMask/2:
			*mine = m
		}
	}
	to.Slots = addSlots(to.Slots, p.Slots)
	to.Waiting += p.Waiting
	if p.Oldest != 0 && (to.Oldest == 0 || p.Oldest < to.Oldest) {
		to.Oldest, to.OldestFlagged = p.Oldest, p.OldestFlagged
	}
	to.Now, to.Alive = max(to.Now, p.Now), to.Alive || p.Alive
}

func addSlots(a, b []kmod.SlotCount) (sum []kmod.SlotCount) {
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && a[0].Slot < b[0].Slot:
			sum, a = append(sum, a[0]), a[1:]
		case len(a) == 0 || b[0].Slot < a[0].Slot:
			sum, b = append(sum, b[0]), b[1:]
		default:
			sum = append(sum, kmod.SlotCount{Slot: a[0].Slot, N: a[0].N + b[0].N})
			a, b = a[1:], b[1:]
		}
	}
	return sum
}

// settle takes what has been counted as what was before the start.
func (w *kmodWitness) settle(s *kmod.State) {
	w.last = s
	for key, p := range merge(s.Processes) {
		w.processes[key] = &kmodProcess{base: p.Counts, told: p.Returns()}
	}
}

// Walk tells the processes that have waited since the last walk, or wait now.
func (w *kmodWitness) Walk(tell func(*event.Tally)) error { return w.walk(tell, false) }

// walk tells all that waits or has waited, or only what waits.
func (w *kmodWitness) walk(tell func(*event.Tally), onlyWaiting bool) error {
	s, err := w.read()
	if err != nil {
		return err
	}
	w.last = s
	seen := merge(s.Processes)
	w.follow.learn(seen)
	ended := false
	for key, p := range seen {
		known := w.processes[key]
		if known == nil {
			known = &kmodProcess{}
			w.processes[key] = known
		}
		ended = ended || !p.Alive
		if !w.wants(known, p) || p.Oldest == 0 && (onlyWaiting || p.Returns() == known.told && p.Alive) {
			continue
		}
		known.told = p.Returns()
		tell(w.tally(known, p))
	}
	for key := range w.processes {
		if seen[key] == nil {
			delete(w.processes, key) // its place was given away
		}
	}
	// Resume's caller has not taken the last counts of those that have ended.
	if !ended || onlyWaiting || w.control == nil {
		return nil
	}
	return w.control.Reap()
}

func (w *kmodWitness) wants(known *kmodProcess, p *kmod.Process) bool {
	if known.checked == 0 || known.comm != p.Comm || w.wishes.cgroup != nil && p.Now > known.checked+recheckAfter && p.Alive {
		known.checked, known.comm = p.Now, p.Comm
		known.wanted = w.wishes.want(p.TGID, p.TGID, p.Comm)
	}
	return known.wanted && (!w.options.Follow || w.follow.descends(p.TGID))
}

// tally is a process's counts since the start, as those of its first thread. All
// waits count as slow: the module does not tell slow ones apart, and no stacks
// are to be awaited of any.
func (w *kmodWitness) tally(known *kmodProcess, p *kmod.Process) *event.Tally {
	t := &event.Tally{TID: p.TGID, PID: p.TGID, Comm: p.Comm, Born: p.Born, Now: p.Now, Exited: !p.Alive, Hist: histogram(p.Slots, known.base.Slots)}
	for i, sum := range map[event.Flags][2]kmod.Sum{
		event.Slow:                 {p.Unflagged, known.base.Unflagged},
		event.Slow | event.Flagged: {p.Flagged, known.base.Flagged},
	} {
		t.Sums[i] = event.Sum{Count: sum[0].Count - sum[1].Count, Blocked: sum[0].NS - sum[1].NS}
		t.Count += t.Sums[i].Count
	}
	for i, m := range p.Epochs {
		t.Max[i] = w.epochMax(m, p.MaxNS)
	}
	if p.Oldest != 0 {
		t.Start = min(p.Oldest, p.Now)
		t.Flags = event.Slow
		if p.OldestFlagged {
			t.Flags |= event.Flagged
		}
	}
	return t
}

// epochMax gives an epoch's longest wait its full number.
func (w *kmodWitness) epochMax(m kmod.EpochMax, longest uint64) event.Max {
	for _, epoch := range []uint32{w.epoch, w.epoch - 1} {
		if epoch&kmod.EpochMask != m.Epoch {
			continue
		}
		if m.NS == kmod.EpochMaxLimit {
			return event.Max{NS: longest, Epoch: epoch} // it is longer than the module keeps by epoch
		}
		return event.Max{NS: m.NS, Epoch: epoch}
	}
	return event.Max{}
}

// histogram is what the slots have grown by.
func histogram(now, base []kmod.SlotCount) event.Hist {
	was := map[uint8]uint64{}
	for _, s := range base {
		was[s.Slot] = s.N
	}
	var h event.Hist
	for _, s := range now {
		if n := s.N - was[s.Slot]; n > 0 {
			h.Add(int(s.Slot), uint32(min(n, math.MaxUint32)))
		}
	}
	return h
}
