// SPDX-License-Identifier: Apache-2.0

package blame

import "github.com/iowitness/iowitness/event"

// estimate divides a stratum's sum by waits that were seen by chance, the longer
// the likelier, and whose lengths are estimates too: time goes by the time that
// was seen. A wait that was seen more than once (First) counts as one; the others
// stand for all that nobody saw.
func (l *Ledger) estimate(charges *charges, sum event.Sum, waits []*event.Wait, carry carried) {
	var left event.Sum
	for _, w := range waits {
		left = plus(left, l.seen(w, carry))
	}
	counts := estimatedCounts(waits, sum.Count)
	for i, w := range waits {
		own := l.seen(w, carry)
		part := event.Sum{
			Count:    counts[i],
			Blocked:  share(sum.Blocked, own.Blocked, left.Blocked),
			RunQueue: share(sum.RunQueue, own.RunQueue, left.RunQueue),
		}
		sum, left = minus(sum, part), minus(left, own)
		l.charge(charges, w, part, 0, true)
	}
}

// seen is what was seen of a wait, within the interval and the watch.
func (l *Ledger) seen(w *event.Wait, carry carried) event.Sum {
	part := partOf(w, carry)
	if carry.start != w.Start {
		part.Blocked = since(part.Blocked, since(l.opened, w.Start))
	}
	return part
}

// estimatedCounts shares out a number of waits without a remainder.
func estimatedCounts(waits []*event.Wait, count uint64) []uint64 {
	counts := make([]uint64, len(waits))
	others := 0
	for i, w := range waits {
		if w.Flags&event.First == 0 {
			others++
		} else if count > 0 {
			counts[i] = 1
			count--
		}
	}
	left, all := len(waits), others == 0
	if !all {
		left = others
	}
	for i, w := range waits {
		if !all && w.Flags&event.First != 0 {
			continue
		}
		n := count / uint64(left)
		counts[i] += n
		count -= n
		left--
	}
	return counts
}

// takeOff leaves out of a stratum what earlier intervals have charged of a wait
// that has ended. Estimated waits tell only at their end which stratum that is,
// and their account does not hold what lies before the watch.
func (l *Ledger) takeOff(strata *[4]event.Sum, c carried, ended []*event.Wait) {
	flags, charged := c.flags, c.charged+c.before
	if l.Estimates {
		flags, charged = 0, 0
		for _, w := range ended {
			if w.Start == c.start {
				flags, charged = w.Flags, c.charged
			}
		}
	}
	i := (flags | event.Slow) & (event.Slow | event.Flagged)
	strata[i].Blocked -= min(strata[i].Blocked, charged)
}
