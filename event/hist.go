// SPDX-License-Identifier: Apache-2.0

package event

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

// The layout of bpf/hist.h.
const (
	HistSlots     = 128
	HistFirstLog2 = 10 // slot 0 holds all waits below 2^10 ns; then four slots an octave
	HistLastLog2  = 40 // the last slot holds all from 2^41 ns on
)

// HistSlot is the slot of a wait of ns nanoseconds.
func HistSlot(ns uint64) int {
	if ns < 1<<HistFirstLog2 {
		return 0
	}
	e := bits.Len64(ns) - 1
	if e > HistLastLog2 {
		return HistSlots - 1
	}
	return 1 + (e-HistFirstLog2)*4 + int(ns>>(e-2)&3)
}

// Hist counts waits by slot of their blocked time. It takes memory only for
// the slots in use, in ascending order: most threads use few.
type Hist []HistCount

// HistCount is a slot in use. It stops at what it can hold: after 4 billion
// waits alike, a quantile still is right.
type HistCount struct {
	Slot uint8
	N    uint32
}

// Add counts n waits in a slot.
func (h *Hist) Add(slot int, n uint32) {
	i, found := slices.BinarySearchFunc(*h, slot, func(c HistCount, want int) int { return cmp.Compare(int(c.Slot), want) })
	if !found {
		*h = slices.Insert(*h, i, HistCount{Slot: uint8(slot)})
	}
	c := &(*h)[i]
	c.N += min(n, math.MaxUint32-c.N)
}

// Merge counts the waits of another histogram too.
func (h *Hist) Merge(other Hist) {
	for _, c := range other {
		h.Add(int(c.Slot), c.N)
	}
}

// Since is what a histogram has grown by.
func (h Hist) Since(before Hist) Hist {
	var grown Hist
	for _, c := range h {
		for len(before) > 0 && before[0].Slot < c.Slot {
			before = before[1:]
		}
		if len(before) > 0 && before[0].Slot == c.Slot {
			c.N -= before[0].N
		}
		if c.N > 0 {
			grown = append(grown, c)
		}
	}
	return grown
}
