// SPDX-License-Identifier: Apache-2.0

package expr

import (
	"fmt"
	"math"
	"strings"

	"github.com/cilium/ebpf/btf"
)

// flipped is the comparison with its sides exchanged.
var flipped = map[op]op{
	opEqual: opEqual, opUnequal: opUnequal,
	opLess: opGreater, opLessEqual: opGreaterEqual,
	opGreater: opLess, opGreaterEqual: opLessEqual,
}

// compare is of numbers. By size they compare as numbers do, whatever their
// signs and widths; errors in pointers are negative.
func (c *checker) compare(s *syntax, x, y *node) (operand, *Error) {
	out := &node{op: comparisons[s.text], x: x, y: y, kind: truth}
	if x.op == opConst && y.op != opConst {
		out.op, out.x, out.y = flipped[out.op], y, x
	}
	var err *Error
	if out.op == opEqual || out.op == opUnequal {
		err = c.fit(s, out)
	} else {
		err = c.arrange(s, out)
	}
	return valued(s, fold(out)), err
}

// fit makes a constant one that the other side can hold: 0xffffffff and -1 are
// the same to 32 bits.
func (c *checker) fit(s *syntax, n *node) *Error {
	if n.y.op != opConst || n.x.op == opConst || n.x.isTruth() {
		return nil
	}
	if n.x.kind.untyped && n.y.isNegative() {
		return c.untyped(s)
	}
	width := uint(8 * n.x.kind.size)
	if n.x.op == opBits {
		width = n.x.bits
	}
	if width >= 63 {
		return nil
	}
	value, wide := int64(n.y.value), n.y.kind.wide()
	if wide || value >= 1<<width || value < -(1<<(width-1)) {
		return c.wrong(s.at, "one side has %d bits, so that it never is %s", width, shownConstant(n.y))
	}
	held := bitsOf(n.y, 0, width, n.x.kind)
	n.y = fold(held)
	return nil
}

// arrange chooses how two numbers compare by size.
func (c *checker) arrange(s *syntax, n *node) *Error {
	if n.x.isCondition() || n.y.isCondition() {
		return c.wrong(s.at, "what is true or false has no size: write a < b && b < c")
	}
	if n.y.kind.wide() && !n.x.kind.wide() {
		n.op, n.x, n.y = flipped[n.op], n.y, n.x
	}
	switch x, y := n.x, n.y; {
	case !x.kind.wide():
		n.order = orderSigned
	case y.kind.wide():
		n.order = orderUnsigned
		if x.kind.errors && y.op == opConst || y.kind.errors && x.op == opConst {
			n.order = orderErrors
		}
	case x.kind.errors:
		n.order = orderErrors
	case y.op == opConst:
		n.order = orderUnsigned
		return c.reachable(s, n)
	case !y.kind.signed:
		n.order = orderUnsigned
	default:
		n.order = orderMixed
	}
	return nil
}

// reachable refuses a comparison of which the outcome is certain, for it is a mistake.
func (c *checker) reachable(s *syntax, n *node) *Error {
	never := n.y.value == 0 && (n.op == opLess || n.op == opGreaterEqual)
	if !n.y.isNegative() && !never {
		return nil
	}
	if n.x.kind.untyped {
		return c.untyped(s)
	}
	return c.wrong(s.at, "one side is unsigned and never below 0; if it is meant to be signed, cast it, as in (long)x")
}

func (c *checker) untyped(s *syntax) *Error {
	return c.wrong(s.at, "a register has no sign: cast it, as in (int)ret or (long)ret")
}

func shownConstant(n *node) string {
	if n.kind.signed {
		return fmt.Sprint(int64(n.value))
	}
	return fmt.Sprintf("%#x", n.value)
}

// maxString is the longest string that is compared, in bytes.
const maxString = 63

func isText(o operand) bool { return o.sort == sortString || o.sort == sortComm }

// compareText is of a string of the kernel with one that is written out.
func (c *checker) compareText(s *syntax, x, y operand) (operand, *Error) {
	if x.sort == sortString && s.text != "~" {
		x, y = y, x
	}
	if y.sort != sortString || x.sort == sortString {
		return operand{}, c.wrong(s.at, `a string is compared with one that is written out, as in comm == "dd"`)
	}
	want := &text{want: y.string, negated: s.text == "!="}
	switch s.text {
	case "==", "!=":
	case "~":
		want.want, want.prefix = strings.CutSuffix(y.string, "*")
		if strings.Contains(want.want, "*") || want.want == "" && want.prefix {
			return operand{}, c.wrong(y.at, `a * stands at the end of a pattern, after other letters: "ext4*"`)
		}
	default:
		return operand{}, c.wrong(s.at, "strings are compared by ==, != and ~ only")
	}
	n, err := c.textPlace(s, x, want)
	if err != nil {
		return operand{}, err
	}
	room := maxString
	if want.limit > 0 {
		room = min(room, want.limit)
	}
	if len(want.want) > room {
		return operand{}, c.wrong(y.at, "the string has %d bytes; %d can be compared here", len(want.want), room)
	}
	return valued(s, n), nil
}

// textPlace finds where a string lies.
func (c *checker) textPlace(s *syntax, x operand, want *text) (*node, *Error) {
	out := &node{op: opText, text: want, kind: truth}
	if x.sort == sortComm {
		want.comm, want.limit = true, commSize-1
		return out, nil
	}
	array, isArray := btf.UnderlyingType(x.typ).(*btf.Array)
	pointer, isPointer := btf.UnderlyingType(x.typ).(*btf.Pointer)
	switch {
	case x.typ == nil && x.node.kind.untyped:
		return nil, c.wrong(s.at, "a register has no type: cast it, as in (char *)arg1")
	case isArray && x.sort == sortPlace && !x.inRegister && isBytes(array.Type):
		out.x, out.offset = x.node, x.offset
		want.limit = int(min(array.Nelems, math.MaxInt16))
		return out, nil
	case isPointer && isBytes(pointer.Target):
		address, err := c.read(x)
		out.x = address
		return out, err
	case x.typ == nil:
		return nil, c.wrong(x.at, "this is no string")
	}
	return nil, c.wrong(x.at, "this is %s, no string", TypeName(x.typ))
}
