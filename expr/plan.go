// SPDX-License-Identifier: Apache-2.0

package expr

import (
	"fmt"
	"slices"
)

// A filter is a list of conjuncts, all of which must be true. Those that know
// nothing of the result are tested at entry. Of the others, what the entry
// knows is put into hidden slots of the output buffer, for memory may have
// changed when the function returns.

// conjunct is a condition, or its negation.
type conjunct struct {
	node     *node
	positive bool
}

func conjuncts(n *node, positive bool) []conjunct {
	switch {
	case n.op == opNot:
		return conjuncts(n.x, !positive)
	case n.op == opBoth && positive, n.op == opEither && !positive:
		return append(conjuncts(n.x, positive), conjuncts(n.y, positive)...)
	}
	return []conjunct{{n, positive}}
}

// hidden is a slot for a value, or a condition, that the return asks of the entry.
type hidden struct {
	node   *node
	truth  bool // a condition that must be certain; else a value
	offset int64
	bit    uint // of the mask; filterBit: it cannot fail, or marks the filter's bit
}

// plan is what each body does.
type plan struct {
	entry, exit []conjunct
	hidden      []hidden
	slots       []Slot
	late        []*node // of slots that are captured at return: from, as the return knows it
	size        int
	bits        uint
}

// maxBits are fields and hidden values together: the mask's bits but the filter's.
const maxBits = filterBit

func makePlan(filter *Filter, fields []*Field) (*plan, error) {
	p := &plan{size: 8}
	for _, field := range fields {
		p.slots = append(p.slots, Slot{Field: field, Offset: p.take(field.Size), Bit: int(p.bits)})
		p.bits++
		late := field.from
		if field.AtReturn {
			late = p.leave(field.from)
		}
		p.late = append(p.late, late)
	}
	if filter != nil {
		p.split(filter.root)
	}
	if p.size > MaxOutput {
		return nil, fmt.Errorf("what is captured of a call takes %d bytes; %d are the most", p.size, MaxOutput)
	}
	if p.bits > maxBits {
		return nil, fmt.Errorf("a call has %d fields and values kept for its return; %d are the most", p.bits, maxBits)
	}
	return p, nil
}

func (p *plan) split(root *node) {
	for _, each := range conjuncts(root, true) {
		if each.node.atReturn() {
			p.exit = append(p.exit, conjunct{p.leaveCondition(each.node, each.positive), true})
			continue
		}
		p.entry = append(p.entry, each)
	}
	slices.SortStableFunc(p.entry, func(a, b conjunct) int {
		return int(truthValue(a.node.reads())) - int(truthValue(b.node.reads()))
	})
}

// take reserves bytes of the buffer, 8-aligned.
func (p *plan) take(size int) int {
	offset := p.size
	p.size += (size + 7) &^ 7
	return offset
}

// leaveCondition is a condition for the return, without negations but of comparisons.
func (p *plan) leaveCondition(n *node, positive bool) *node {
	switch {
	case n.op == opConst:
		return constant(truthValue((n.value != 0) == positive), truth)
	case !n.atReturn():
		if !positive {
			n = &node{op: opNot, x: n, kind: truth}
		}
		return isSet(p.keep(hidden{node: n, truth: true, bit: filterBit}))
	case n.op == opNot:
		return p.leaveCondition(n.x, !positive)
	case n.op == opBoth, n.op == opEither:
		out := *n
		out.x, out.y = p.leaveCondition(n.x, positive), p.leaveCondition(n.y, positive)
		if !positive {
			out.op = opBoth + opEither - n.op
		}
		return &out
	}
	out := p.leave(n)
	if !positive {
		out = &node{op: opNot, x: out, kind: truth}
	}
	return out
}

// leave is a value for the return, in which slots stand for what the entry knows.
func (p *plan) leave(n *node) *node {
	if n == nil || n.op == opConst {
		return n
	}
	if n.atReturn() {
		out := *n
		out.x, out.y = p.leave(n.x), p.leave(n.y)
		return &out
	}
	bit := uint(filterBit)
	if n.reads() {
		bit = p.bits
	}
	kept := p.keep(hidden{node: n, bit: bit})
	if n.isTruth() {
		return isSet(kept)
	}
	return kept
}

// isSet is the condition that a slot holds.
func isSet(slot *node) *node {
	return &node{op: opUnequal, x: slot, y: number(0), kind: truth}
}

// keep finds the slot of a value, or makes one.
func (p *plan) keep(h hidden) *node {
	same := func(other hidden) bool { return other.truth == h.truth && equal(other.node, h.node) }
	index := slices.IndexFunc(p.hidden, same)
	if index < 0 {
		h.offset = int64(p.take(8))
		if h.bit < filterBit {
			p.bits++
		}
		index = len(p.hidden)
		p.hidden = append(p.hidden, h)
	}
	kept := p.hidden[index]
	return &node{op: opSlot, offset: kept.offset, bit: kept.bit, kind: kept.node.kind}
}

// equal tells of nodes that compute the same.
func equal(a, b *node) bool {
	if a == nil || b == nil {
		return a == b
	}
	if a.text != nil && b.text != nil && *a.text != *b.text || (a.text == nil) != (b.text == nil) {
		return false
	}
	bare := func(n *node) node {
		out := *n
		out.x, out.y, out.text, out.kind = nil, nil, nil, scalar{}
		return out
	}
	return bare(a) == bare(b) && equal(a.x, b.x) && equal(a.y, b.y)
}
