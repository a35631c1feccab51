// SPDX-License-Identifier: Apache-2.0

package request

// TimeCells is how many cells of time are kept: at most, and at least half as many once they were reached.
const TimeCells = 240

// firstStep is the width of a cell to begin with, in ns, where none is given.
const firstStep = 1_000_000

// timeline is a row of cells, each as wide in time as the others. When they become too many
// each two are merged, so that memory is bounded however long it goes on.
type timeline[T any] struct {
	origin, step uint64
	cells        []T
	merge        func(into, other *T)
}

func newTimeline[T any](step uint64, merge func(into, other *T)) timeline[T] {
	if step == 0 {
		step = firstStep
	}
	return timeline[T]{step: step, merge: merge}
}

// at is the cell of an instant, in ns. What lies before the first one goes to its cell.
func (t *timeline[T]) at(ns uint64) *T {
	if len(t.cells) == 0 {
		t.origin = ns
	}
	offset := ns - min(ns, t.origin)
	for offset/t.step >= TimeCells {
		t.halve()
	}
	i := int(offset / t.step)
	for len(t.cells) <= i {
		var empty T
		t.cells = append(t.cells, empty)
	}
	return &t.cells[i]
}

func (t *timeline[T]) halve() {
	t.cells = t.by(2)
	t.step *= 2
}

// by are the cells with each so many merged into one.
func (t *timeline[T]) by(n int) []T {
	merged := make([]T, (len(t.cells)+n-1)/n)
	for i := range t.cells {
		t.merge(&merged[i/n], &t.cells[i])
	}
	return merged
}
