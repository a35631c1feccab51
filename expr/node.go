// SPDX-License-Identifier: Apache-2.0

package expr

// node is a checked value: 64 bits, extended by the sign of what it was read
// from. A condition is 0 or 1.
type node struct {
	op   op
	x, y *node

	value  uint64 // opConst
	offset int64  // opInput: of struct call_input; opLoad: from the address x; opSlot: of the output buffer
	size   int    // opInput, opLoad: bytes read
	bit    uint   // opBits: where the bits begin; opSlot: its bit of the mask
	bits   uint   // opBits: how many
	signed bool   // opBits: the uppermost one is the sign
	order  order  // comparisons
	text   *text  // opText
	kind   scalar
}

type op uint8

const (
	opConst op = iota
	opInput    // from struct call_input, zero-extended
	opLoad     // from memory at x, zero-extended
	opSlot     // what the entry left for the return
	opBits     // bits of x, extended

	opNegate
	opInvert
	opAdd
	opSubtract
	opMultiply
	opBitAnd
	opBitOr
	opBitXor
	opLeft
	opRight      // logical
	opRightArith // keeps the sign

	opEqual // comparisons and what else is true or false
	opUnequal
	opLess
	opLessEqual
	opGreater
	opGreaterEqual
	opText
	opNot
	opBoth
	opEither
)

// order is how two numbers are compared by size.
type order uint8

const (
	orderSigned   order = iota
	orderUnsigned       // 64 bits unsigned, both
	orderMixed          // x is unsigned, y signed: a negative y is below every x
	orderErrors         // the uppermost 4095 numbers are errors, below 0
)

// maxErrno is the kernel's MAX_ERRNO: a pointer within that of 0, from below, is an error.
const maxErrno = 4095

// text is a comparison of a string with one that is written out.
type text struct {
	want    string
	prefix  bool
	negated bool
	limit   int  // bytes of an array; 0: the string ends at its NUL
	comm    bool // of struct call_input; else at address x + offset
}

// scalar is what is known of a value's type.
type scalar struct {
	integer
	kind    Kind
	untyped bool // a register: its sign, and its upper half, mean nothing
	errors  bool // may hold an error number as ERR_PTR does
}

var (
	long     = scalar{integer: integer{8, true}, kind: Signed}
	unsigned = scalar{integer: integer{8, false}, kind: Unsigned}
	truth    = scalar{integer: integer{1, false}, kind: Bool}
)

// wide tells of values that a signed 64-bit number cannot hold.
func (s scalar) wide() bool { return s.size == 8 && !s.signed }

func constant(value uint64, kind scalar) *node {
	return &node{op: opConst, value: value, kind: kind}
}

// number is a constant as it is written: signed, if it fits.
func number(value uint64) *node {
	if int64(value) < 0 {
		return constant(value, unsigned)
	}
	return constant(value, long)
}

// isNegative tells of a constant below 0.
func (n *node) isNegative() bool { return n.op == opConst && n.kind.signed && int64(n.value) < 0 }

// bitsOf takes a field of bits out of a value.
func bitsOf(x *node, bit, bits uint, kind scalar) *node {
	if bit == 0 && bits == 64 {
		return x
	}
	return &node{op: opBits, x: x, bit: bit, bits: bits, signed: kind.signed, kind: kind}
}

// isTruth tells of nodes whose value is a condition's.
func (n *node) isTruth() bool { return n.op >= opEqual }

// isCondition tells of what was written as a condition, even if it is constant.
func (n *node) isCondition() bool { return n.isTruth() || n.op == opConst && n.kind == truth }

// uses tells whether a node, or one below it, is as asked.
func (n *node) uses(is func(*node) bool) bool {
	if n == nil {
		return false
	}
	return is(n) || n.x.uses(is) || n.y.uses(is)
}

// atReturn tells of values that are known only when the function has returned.
func (n *node) atReturn() bool {
	return n.uses(func(n *node) bool {
		return n.op == opInput && (n.offset == inputRet || n.offset == inputLatency)
	})
}

// reads tells of values for which memory is read.
func (n *node) reads() bool {
	return n.uses(func(n *node) bool { return n.op == opLoad || n.op == opText && !n.text.comm })
}

// fold computes what is constant; nodes are never changed in place.
func fold(n *node) *node {
	if n.x == nil || n.x.op != opConst || n.y != nil && n.y.op != opConst || n.op == opLoad || n.op == opText {
		return n
	}
	y := uint64(0)
	if n.y != nil {
		y = n.y.value
	}
	return constant(n.compute(n.x.value, y), n.kind)
}

// compute is what an operator makes of values, as the compiled code does.
func (n *node) compute(x, y uint64) uint64 {
	switch n.op {
	case opBits:
		x <<= 64 - n.bit - n.bits
		if n.signed {
			return uint64(int64(x) >> (64 - n.bits))
		}
		return x >> (64 - n.bits)
	case opNegate:
		return -x
	case opInvert:
		return ^x
	case opAdd:
		return x + y
	case opSubtract:
		return x - y
	case opMultiply:
		return x * y
	case opBitAnd:
		return x & y
	case opBitOr:
		return x | y
	case opBitXor:
		return x ^ y
	case opLeft:
		return x << (y & 63)
	case opRight:
		return x >> (y & 63)
	case opRightArith:
		return uint64(int64(x) >> (y & 63))
	case opNot:
		return truthValue(x == 0)
	case opBoth:
		return truthValue(x != 0 && y != 0)
	case opEither:
		return truthValue(x != 0 || y != 0)
	case opEqual:
		return truthValue(x == y)
	case opUnequal:
		return truthValue(x != y)
	}
	return truthValue(n.ordered(x, y))
}

func (n *node) ordered(x, y uint64) bool {
	below := x < y
	switch n.order {
	case orderSigned:
		below = int64(x) < int64(y)
	case orderMixed:
		below = int64(y) >= 0 && x < y
	case orderErrors:
		below = x+maxErrno < y+maxErrno
	}
	same := x == y && (n.order != orderMixed || int64(y) >= 0)
	switch n.op {
	case opLess:
		return below
	case opLessEqual:
		return below || same
	case opGreater:
		return !below && !same
	default:
		return !below
	}
}

func truthValue(is bool) uint64 {
	if is {
		return 1
	}
	return 0
}
