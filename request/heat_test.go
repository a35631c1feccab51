// SPDX-License-Identifier: Apache-2.0

package request

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/snapshot"
)

func (g *Grid) count() (n uint64) {
	for _, r := range g.Rows {
		for _, c := range r.Counts {
			n += c
		}
	}
	return n
}

// However long it goes on, memory is bounded and no request is lost.
func TestHeatIsBounded(t *testing.T) {
	h := NewHeat(0)
	r := rand.New(rand.NewPCG(1, 1))
	at := uint64(1 << 50)
	for i := range uint64(20_000) {
		at += r.Uint64N(1 << (i / 1000))
		h.Add(at, r.Uint64N(1<<(i/400)))
		if len(h.line.cells) > TimeCells {
			t.Fatalf("%d columns", len(h.line.cells))
		}
	}
	if len(h.line.cells) < TimeCells/2 {
		t.Errorf("%d columns", len(h.line.cells))
	}
	for _, columns := range []int{0, 1, 7, 80, 1000} {
		g := h.Grid(columns)
		if g.count() != 20_000 || len(g.Rows) > HeatRows || columns > 0 && len(g.Rows[0].Counts) > columns {
			t.Errorf("%d columns: %d requests, %d rows of %d", columns, g.count(), len(g.Rows), len(g.Rows[0].Counts))
		}
		for i := 1; i < len(g.Rows); i++ {
			if g.Rows[i].Lo != g.Rows[i-1].Hi {
				t.Errorf("a row ends at %d, the next begins at %d", g.Rows[i-1].Hi, g.Rows[i].Lo)
			}
		}
	}
}

func TestHeatPlacesTimes(t *testing.T) {
	h := NewHeat(1e9)
	h.Add(100e9, 80*us)
	h.Add(102.5e9, 80*us)
	h.Add(102.9e9, 5*ms)
	h.Add(99e9, 5*ms) // before the first
	g := h.Grid(0)
	if g.StepNS != 1e9 || g.Most != 1 || len(g.Rows) != 7 || len(g.Rows[0].Counts) != 3 {
		t.Fatalf("%+v", g)
	}
	first, last := g.Rows[0], g.Rows[6]
	if first.Lo > 80*us || first.Hi <= 80*us || first.Counts[0] != 1 || first.Counts[1] != 0 || first.Counts[2] != 1 {
		t.Errorf("%+v", first)
	}
	if last.Lo > 5*ms || last.Hi <= 5*ms || last.Counts[0] != 1 || last.Counts[2] != 1 {
		t.Errorf("%+v", last)
	}
}

func TestHeatOfExtremes(t *testing.T) {
	h := NewHeat(0)
	if g := h.Grid(10); g.Rows != nil {
		t.Errorf("%+v", g)
	}
	h.Add(1, 0)
	h.Add(math.MaxUint64, math.MaxUint64)
	g := h.Grid(0)
	if g.count() != 2 || g.Rows[0].Lo != 0 || g.Rows[len(g.Rows)-1].Hi != math.MaxUint64 || len(g.Rows) > HeatRows {
		t.Errorf("%+v", g)
	}
}

// The octaves of slots are those of times.
func TestOctaves(t *testing.T) {
	for slot := range event.HistSlots {
		if slot > snapshot.LastUsedSlot && slot < event.HistSlots-1 {
			continue
		}
		lo, hi := snapshot.Bounds(slot)
		from, to := octaveBounds(octaveOf(slot))
		if lo < from || hi > to {
			t.Errorf("slot %d, %d to %d ns, is not within %d to %d", slot, lo, hi, from, to)
		}
	}
	var h snapshot.Histogram
	h[event.HistSlot(1*ms)], h[event.HistSlot(3*ms)] = 4, 5
	bars := Octaves(&h)
	if len(bars) != 3 || bars[0].Count != 4 || bars[1].Count != 0 || bars[2].Count != 5 {
		t.Errorf("%+v", bars)
	}
	if bars := Octaves(&snapshot.Histogram{}); bars != nil {
		t.Errorf("%+v", bars)
	}
}
