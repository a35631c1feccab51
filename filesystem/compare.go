// SPDX-License-Identifier: Apache-2.0

package filesystem

import (
	"cmp"
	"slices"

	"github.com/iowitness/iowitness/blame"
	"github.com/iowitness/iowitness/event"
)

// Compared sets two file systems side by side.
type Compared struct {
	Operations []Pair     // those that both or one of them had, in the order of event.FSOp
	Parts      []PartPair // of the calls that synchronize, for each call, by falling difference
}

// Pair is calls of one kind on both.
type Pair struct {
	Op   event.FSOp
	A, B Row
}

// Ratio is B's mean latency by A's; ok is false where one of them has none.
func (p *Pair) Ratio() (ratio float64, ok bool) {
	a, b := p.A.Mean(), p.B.Mean()
	if a == 0 || b == 0 {
		return 0, false
	}
	return float64(b) / float64(a), true
}

// What a part of a synchronizing call is, beside causes.
const (
	Total        = "total"
	RunQueue     = "run_queue"
	OnCPU        = "on_cpu"
	Unattributed = "unattributed"
)

// PartPair is a part of the average call that synchronizes, in ns.
type PartPair struct {
	ID   string // of a cause, or one of the above; Total comes first
	A, B uint64
}

func compare(a, b *Mount) *Compared {
	c := &Compared{}
	for op := event.FSRead; op < event.FSOps; op++ {
		p := Pair{Op: op, A: a.operation(op), B: b.operation(op)}
		if p.A.Count+p.B.Count > 0 {
			c.Operations = append(c.Operations, p)
		}
	}
	c.Parts = compareParts(&a.Division, &b.Division)
	return c
}

func (m *Mount) operation(op event.FSOp) Row {
	for i := range m.Operations {
		if m.Operations[i].Op == op {
			return m.Operations[i]
		}
	}
	return Row{Op: op, Dev: m.Dev}
}

func compareParts(a, b *Division) []PartPair {
	pair := func(id string, nsA, nsB uint64) PartPair {
		return PartPair{id, mean(nsA, a.Calls), mean(nsB, b.Calls)}
	}
	parts := []PartPair{pair(RunQueue, a.RunQueue, b.RunQueue), pair(OnCPU, a.OnCPU, b.OnCPU), pair(Unattributed, a.Unattributed, b.Unattributed)}
	for _, cause := range blame.Causes() {
		if nsA, nsB := a.Of(cause), b.Of(cause); nsA+nsB > 0 {
			parts = append(parts, pair(cause.ID(), nsA, nsB))
		}
	}
	parts = slices.DeleteFunc(parts, func(p PartPair) bool { return p.A+p.B == 0 })
	slices.SortStableFunc(parts, func(x, y PartPair) int { return cmp.Compare(y.difference(), x.difference()) })
	if a.Calls+b.Calls == 0 {
		return nil
	}
	return append([]PartPair{pair(Total, a.Total, b.Total)}, parts...)
}

func (p PartPair) difference() uint64 { return max(p.A, p.B) - min(p.A, p.B) }
