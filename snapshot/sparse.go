// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"cmp"
	"math"
	"slices"

	"github.com/iowitness/iowitness/event"
)

// sparse is a histogram that takes memory only for the slots in use.
type sparse []slotCount

// slotCount stops at what an event.Hist can hold: after 4 billion waits alike,
// a quantile still is right.
type slotCount struct {
	slot uint8
	n    uint32
}

func (s *sparse) add(slot uint8, n uint32) {
	i, found := slices.BinarySearchFunc(*s, slot, func(c slotCount, want uint8) int { return cmp.Compare(c.slot, want) })
	if !found {
		*s = slices.Insert(*s, i, slotCount{slot: slot})
	}
	c := &(*s)[i]
	c.n += min(n, math.MaxUint32-c.n)
}

func (s *sparse) addHist(h *event.Hist) {
	for i, n := range h {
		if n > 0 {
			s.add(uint8(i), n)
		}
	}
}

func (s *sparse) merge(o sparse) {
	for _, c := range o {
		s.add(c.slot, c.n)
	}
}

func (s sparse) hist() (h event.Hist) {
	for _, c := range s {
		h[c.slot] = c.n
	}
	return h
}
