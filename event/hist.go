// SPDX-License-Identifier: Apache-2.0

package event

import "math/bits"

// The layout of bpf/hist.h.
const (
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
