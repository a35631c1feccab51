// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"cmp"

	"github.com/iowitness/iowitness/blame"
)

// Head holds what the kernel says against what was witnessed. The sums are over
// all threads of the interval, whatever the options leave out.
type Head struct {
	System
	StorageNS     uint64 // waited for storage
	UnflaggedNS   uint64 // of StorageNS: not called iowait by the kernel
	FlagUnknownNS uint64 // of StorageNS, beside UnflaggedNS: it may be iowait or not
	OtherNS       uint64 // waits that are not for storage, such as io_uring's for work
	Largest       *Largest
	wall          uint64
}

// ThreadSeconds is how many threads waited for storage on average: the seconds
// of waiting in each second. It may exceed the number of CPUs.
func (h *Head) ThreadSeconds() float64 { return percent(h.StorageNS, h.wall) / 100 }

// OtherSeconds is the same of the waits that are not for storage.
func (h *Head) OtherSeconds() float64 { return percent(h.OtherNS, h.wall) / 100 }

// UnflaggedPercent is the share of StorageNS that the kernel does not call iowait.
func (h *Head) UnflaggedPercent() float64 { return percent(h.UnflaggedNS, h.StorageNS) }

// FlagKnown says that somebody waited for storage, and that it is known how much of it is iowait.
func (h *Head) FlagKnown() bool { return h.StorageNS > 0 && !flagUnknown(h.FlagUnknownNS, h.StorageNS) }

// Largest is the process that waited most for storage or, where none did, that waited most.
type Largest struct {
	Row            // its storage waits only, if Storage
	Storage bool   // false: nothing in Row is a wait for storage
	OtherNS uint64 // its waits that are not for storage, beside those in Row
}

func (b *builder) head(iv *Interval) (Head, Sampled, Joined) {
	h, sampled, joined := Head{System: iv.System, wall: wallNS(iv)}, Sampled{}, Joined{Can: iv.Joins}
	for t := range b.threads {
		for i := range t.Charges {
			c := &t.Charges[i]
			h.add(c)
			sampled.Any = sampled.Any || c.Sampled
			sampled.Seen += c.Seen
			if c.Cause.Storage() {
				joined.Joined += c.Joins.Waits
				joined.Of += c.Seen
			}
		}
		h.add(&blame.Charge{Cause: blame.Unattributed, Blocked: unexplained(t)})
		sampled.Of += t.Count
	}
	sampled.Of = max(sampled.Of, sampled.Seen)
	return h, sampled, joined
}

func (h *Head) add(c *blame.Charge) {
	switch {
	case !c.Cause.Storage():
		h.OtherNS += c.Blocked
	case c.Flagged:
		h.StorageNS += c.Blocked
	case c.FlagUnknown:
		h.StorageNS += c.Blocked
		h.FlagUnknownNS += c.Blocked
	default:
		h.StorageNS += c.Blocked
		h.UnflaggedNS += c.Blocked
	}
}

func (b *builder) largest(wall uint64) *Largest {
	type sums struct{ storage, other uint64 }
	processes := map[uint32]sums{}
	b.visitCause(func(pid uint32, p *part, storage bool) {
		s := processes[pid]
		if storage {
			s.storage += p.blocked
		} else {
			s.other += p.blocked
		}
		processes[pid] = s
	})
	storage, other := map[uint32]uint64{}, map[uint32]uint64{}
	for pid, s := range processes {
		storage[pid], other[pid] = s.storage, s.other
	}
	l := &Largest{Storage: true}
	pid, ns := largest(storage, cmp.Compare[uint32])
	if ns == 0 {
		l.Storage = false
		if pid, ns = largest(other, cmp.Compare[uint32]); ns == 0 {
			return nil
		}
	} else {
		l.OtherNS = other[pid]
	}
	g := newGroup(1)
	b.visitCause(func(of uint32, p *part, storage bool) {
		if of == pid && storage == l.Storage {
			g.add(p)
		}
	})
	l.Row = g.row1(b, nil, groupKey{}, wall)
	return l
}

// visitCause walks the selected waits by process, each told as storage or not.
func (b *builder) visitCause(do func(pid uint32, p *part, storage bool)) {
	b.visit([]Key{ByProcess, ByCause}, true, func(k groupKey, p *part) { do(k.pid, p, k.cause.Storage()) })
}
