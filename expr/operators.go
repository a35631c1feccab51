// SPDX-License-Identifier: Apache-2.0

package expr

import "slices"

// Operators are those of the language, in the order of how tightly they bind:
// operands' own first. The reference in docs/EXPRESSIONS.md is held to them.
var Operators = func() []string {
	out := append([]string{"->", ".", "[]", "()"}, unarySigns...)
	for _, level := range slices.Backward(levels) {
		out = append(out, level...)
	}
	return out
}()

var comparisons = map[string]op{
	"==": opEqual, "!=": opUnequal,
	"<": opLess, "<=": opLessEqual, ">": opGreater, ">=": opGreaterEqual,
}

var calculations = map[string]op{
	"+": opAdd, "-": opSubtract, "*": opMultiply,
	"&": opBitAnd, "|": opBitOr, "^": opBitXor, "<<": opLeft, ">>": opRight,
}

// condition checks a part that must be true or false.
func (c *checker) condition(s *syntax) (*node, *Error) {
	n, err := c.value(s)
	if err != nil || n.isTruth() {
		return n, err
	}
	return fold(&node{op: opUnequal, x: n, y: number(0), kind: truth}), nil
}

func (c *checker) unary(s *syntax) (operand, *Error) {
	switch s.text {
	case "*":
		x, err := c.operand(s.x)
		if err != nil {
			return operand{}, err
		}
		return c.pointed(x, s.at)
	case "!":
		x, err := c.condition(s.x)
		if err != nil {
			return operand{}, err
		}
		return valued(s, fold(&node{op: opNot, x: x, kind: truth})), nil
	}
	x, err := c.value(s.x)
	if err != nil {
		return operand{}, err
	}
	if x.kind.kind == Pointer {
		return operand{}, c.wrong(s.at, "a pointer is no number here; cast it, as in (u64)p")
	}
	if s.text == "~" {
		return c.invert(s, x)
	}
	kind := long
	if x.op != opConst && x.kind.wide() {
		kind = unsigned
	}
	if s.text == "+" {
		return valued(s, retyped(x, kind)), nil
	}
	return valued(s, fold(&node{op: opNegate, x: x, kind: kind})), nil
}

// invert keeps the width of an unsigned operand.
func (c *checker) invert(s *syntax, x *node) (operand, *Error) {
	if x.kind.kind == Bool {
		return operand{}, c.wrong(s.at, "~ is for bits; what is true or false is inverted by !")
	}
	out := fold(&node{op: opInvert, x: x, kind: long})
	switch {
	case x.kind.signed:
	case x.kind.wide():
		out = retyped(out, unsigned)
	default:
		out = bitsOf(out, 0, uint(8*x.kind.size), scalar{integer: x.kind.integer, kind: Unsigned})
	}
	return valued(s, out), nil
}

func (c *checker) binary(s *syntax) (operand, *Error) {
	if s.text == "&&" || s.text == "||" {
		return c.logic(s)
	}
	x, err := c.operand(s.x)
	if err != nil {
		return operand{}, err
	}
	y, err := c.operand(s.y)
	if err != nil {
		return operand{}, err
	}
	if s.text == "~" || isText(x) || isText(y) {
		return c.compareText(s, x, y)
	}
	left, err := c.read(x)
	if err != nil {
		return operand{}, err
	}
	right, err := c.read(y)
	if err != nil {
		return operand{}, err
	}
	if _, ok := calculations[s.text]; ok {
		return c.calculate(s, left, right)
	}
	return c.compare(s, left, right)
}

func (c *checker) logic(s *syntax) (operand, *Error) {
	x, err := c.condition(s.x)
	if err != nil {
		return operand{}, err
	}
	y, err := c.condition(s.y)
	if err != nil {
		return operand{}, err
	}
	op := opBoth
	if s.text == "||" {
		op = opEither
	}
	return valued(s, fold(&node{op: op, x: x, y: y, kind: truth})), nil
}

// calculate works on 64 bits. The result is signed, unless an operand needs
// the 64th bit for its size.
func (c *checker) calculate(s *syntax, x, y *node) (operand, *Error) {
	out := &node{op: calculations[s.text], x: x, y: y, kind: long}
	if x.kind.wide() || y.kind.wide() {
		out.kind = unsigned
	}
	switch s.text {
	case "&", "|", "^":
		if x.isCondition() || y.isCondition() {
			return operand{}, c.wrong(s.at, "%s joins bits, and binds less than a comparison: write (flags & 0x10) != 0, or && and || for conditions", s.text)
		}
	case "<<", ">>":
		if y.op == opConst && y.value > 63 {
			return operand{}, c.wrong(s.at, "numbers have 64 bits: they are shifted by 0 to 63")
		}
		out.kind = long
		if x.kind.wide() {
			out.kind = unsigned
		}
		if s.text == ">>" && x.kind.signed {
			out.op = opRightArith
		}
	default:
		if x.kind.kind == Pointer || y.kind.kind == Pointer {
			return operand{}, c.wrong(s.at, "a pointer is no number here; cast it, as in (u64)p")
		}
	}
	return valued(s, fold(out)), nil
}

// retyped is a value under another type of 64 bits.
func retyped(n *node, kind scalar) *node {
	if n.op == opBits && n.kind.size < 8 {
		return &node{op: opBits, x: n, bits: 64, kind: kind}
	}
	out := *n
	out.kind = kind
	return &out
}
