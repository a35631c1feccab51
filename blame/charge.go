// SPDX-License-Identifier: Apache-2.0

package blame

import (
	"github.com/iowitness/iowitness/event"
)

// chargeKey is what makes two charges one.
type chargeKey struct {
	cause        Cause
	flagged      bool
	flagUnknown  bool
	device       event.Dev
	deviceSource DeviceSource
	file         event.File
	syscall      int32
	stack        *string // identity of the stack: stacks are shared
}

// stackID tells shared stacks apart.
func stackID(stack []string) *string {
	if len(stack) == 0 {
		return nil
	}
	return &stack[0]
}

// charges collects a thread's charges of an interval, in the order of their first wait.
type charges struct {
	byKey map[chargeKey]int
	all   []Charge
}

func newCharges() *charges { return &charges{byKey: map[chargeKey]int{}} }

func (c *charges) list() []Charge { return c.all }

// of gives the charge of a key, valid until the next call.
func (c *charges) of(key chargeKey, stack []string) *Charge {
	i, ok := c.byKey[key]
	if !ok {
		i = len(c.all)
		c.byKey[key] = i
		c.all = append(c.all, Charge{
			Cause: key.cause, Flagged: key.flagged, FlagUnknown: key.flagUnknown, Device: key.device, DeviceSource: key.deviceSource,
			File: key.file, Syscall: key.syscall, Stack: stack,
		})
	}
	return &c.all[i]
}

// explain divides a stratum's exact sum by the records of its waits. Where each
// wait has its record, the charges are exact. Else the recorded ones stand for
// the rest: those of the periodic sample, or, without any, all there are. A sum
// without a record is unattributed.
func (l *Ledger) explain(charges *charges, stratum event.Flags, sum event.Sum, waits []*event.Wait, carry carried) {
	if len(waits) == 0 {
		c := charges.of(chargeKey{cause: Unattributed, flagged: stratum&event.Flagged != 0, syscall: -1}, nil)
		c.Count += sum.Count
		c.Blocked += sum.Blocked
		c.RunQueue += sum.RunQueue
		return
	}
	if l.Estimates {
		l.estimate(charges, sum, waits, carry)
		return
	}
	exact, sampled := divide(waits, sum.Count)
	rest := sum
	for _, w := range exact {
		part := partOf(w, carry)
		rest = minus(rest, part)
		l.charge(charges, w, part, 1, false)
	}
	l.spread(charges, sampled, rest, carry)
}

// divide tells the waits that stand for themselves from those that stand for others.
func divide(waits []*event.Wait, count uint64) (exact, sampled []*event.Wait) {
	if uint64(len(waits)) >= count {
		return waits, nil
	}
	for _, w := range waits {
		if w.Flags&event.First != 0 {
			exact = append(exact, w)
		} else {
			sampled = append(sampled, w)
		}
	}
	if len(sampled) == 0 {
		return nil, waits
	}
	return exact, sampled
}

// partOf is what a wait adds to this interval: a carried one was charged in part before.
func partOf(w *event.Wait, carry carried) event.Sum {
	blocked := w.Blocked()
	if carry.start == w.Start && carry.start != 0 {
		blocked = since(blocked, carry.charged+carry.before)
	}
	return event.Sum{Count: 1, Blocked: blocked, RunQueue: w.RunQueue()}
}

func minus(a, b event.Sum) event.Sum {
	return event.Sum{Count: since(a.Count, b.Count), Blocked: since(a.Blocked, b.Blocked), RunQueue: since(a.RunQueue, b.RunQueue)}
}

// spread divides a sum over sampled waits, in proportion to their own time and
// to how many waits each was chosen from, without a remainder.
func (l *Ledger) spread(charges *charges, sampled []*event.Wait, rest event.Sum, carry carried) {
	var left event.Sum
	for _, w := range sampled {
		left = plus(left, weighted(w, carry))
	}
	for _, w := range sampled {
		own := weighted(w, carry)
		part := event.Sum{
			Count:    share(rest.Count, own.Count, left.Count),
			Blocked:  share(rest.Blocked, own.Blocked, left.Blocked),
			RunQueue: share(rest.RunQueue, own.RunQueue, left.RunQueue),
		}
		rest, left = minus(rest, part), minus(left, own)
		l.charge(charges, w, part, part.Count, true)
	}
}

func weighted(w *event.Wait, carry carried) event.Sum {
	part, weight := partOf(w, carry), uint64(max(w.Weight, 1))
	if w.Flags&event.Slow != 0 {
		weight = 1
	}
	return event.Sum{Count: weight, Blocked: part.Blocked * weight, RunQueue: part.RunQueue * weight}
}

func plus(a, b event.Sum) event.Sum {
	return event.Sum{Count: a.Count + b.Count, Blocked: a.Blocked + b.Blocked, RunQueue: a.RunQueue + b.RunQueue}
}

// share is part/whole of a total; the last part takes what is left. A whole of
// nothing gives all to the first.
func share(total, part, whole uint64) uint64 {
	if whole == 0 || part >= whole {
		return total
	}
	return uint64(float64(total) * (float64(part) / float64(whole)))
}

func (l *Ledger) charge(charges *charges, w *event.Wait, part event.Sum, waits uint64, sampled bool) {
	v := l.judge.verdict(&w.Site, w.Flags)
	dev, source := device(v.cause, w.Flags, w.Request, w.Site.File)
	c := charges.of(chargeKey{
		cause: v.cause, flagged: w.Flags&event.Flagged != 0, flagUnknown: w.Flags&event.FlagUnknown != 0, device: dev, deviceSource: source,
		file: w.Site.File, syscall: w.Site.Syscall, stack: stackID(v.stack),
	}, v.stack)
	c.Count += part.Count
	c.Blocked += part.Blocked
	c.RunQueue += part.RunQueue
	c.Max = max(c.Max, w.Blocked())
	if waits > 0 {
		c.Hist.Add(event.HistSlot(w.Blocked()), uint32(waits))
	}
	c.Seen++
	if endedByRequest(w.Flags, v.cause) {
		c.Joins.add(w)
	}
	c.Sampled = c.Sampled || sampled
}
