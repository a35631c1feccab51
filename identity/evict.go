// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"cmp"
	"slices"
)

// evict makes room for a tenth of the limit at once, so that its sorting is
// rare: the ended and the unknown first, then those not mentioned for longest.
func (p *Processes) evict() {
	victims := make([]*entry, 0, len(p.entries))
	for _, e := range p.entries {
		victims = append(victims, e)
	}
	slices.SortFunc(victims, func(a, b *entry) int {
		if a.worthless() != b.worthless() {
			if a.worthless() {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.turn, b.turn)
	})
	for _, e := range victims[:max(1, p.limit/10)] {
		delete(p.entries, e.who.PID)
		p.evicted++
	}
}

func (e *entry) worthless() bool { return e.ended || e.known == FromNowhere }
