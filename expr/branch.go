// SPDX-License-Identifier: Apache-2.0

package expr

import (
	"encoding/binary"

	"github.com/cilium/ebpf/asm"
)

// A condition is compiled to jumps. Negations go down to the comparisons, so
// that one which could not be read is false under a ! as well: a call is
// wanted only if that is certain, whatever was unreadable.

// unless jumps if a condition, or its negation, is false; else it goes on.
func (g *generator) unless(n *node, positive bool, no label) {
	switch {
	case n.op == opNot:
		g.unless(n.x, !positive, no)
	case n.op == opBoth && positive, n.op == opEither && !positive:
		g.unless(n.x, positive, no)
		g.unless(n.y, positive, no)
	case n.op == opBoth, n.op == opEither:
		yes := g.label()
		g.when(n.x, positive, yes)
		g.unless(n.y, positive, no)
		g.place(yes)
	default:
		g.guarded(n, no, func() { g.compare(n, !positive, no) })
	}
}

// when jumps if a condition, or its negation, is true; else it goes on.
func (g *generator) when(n *node, positive bool, yes label) {
	switch {
	case n.op == opNot:
		g.when(n.x, !positive, yes)
	case n.op == opBoth && !positive, n.op == opEither && positive:
		g.when(n.x, positive, yes)
		g.when(n.y, positive, yes)
	case n.op == opBoth, n.op == opEither:
		no := g.label()
		g.unless(n.x, positive, no)
		g.when(n.y, positive, yes)
		g.place(no)
	default:
		no := g.label()
		g.guarded(n, no, func() { g.compare(n, positive, yes) })
		g.place(no)
	}
}

// guarded emits a comparison; a read that fails in it is noted, and leads to no.
func (g *generator) guarded(n *node, no label, emit func()) {
	if g.inValue || !canFail(n) {
		emit()
		return
	}
	outer, over := g.fail, g.label()
	g.fail = g.label()
	emit()
	g.always(over)
	g.place(g.fail)
	g.mark(filterBit)
	g.always(no)
	g.place(over)
	g.fail = outer
}

// canFail tells of nodes that read memory, or what the entry may have failed to read.
func canFail(n *node) bool {
	return n.reads() || n.uses(func(n *node) bool { return n.op == opSlot && n.bit < filterBit })
}

var inverted = map[op]op{
	opEqual: opUnequal, opUnequal: opEqual,
	opLess: opGreaterEqual, opGreaterEqual: opLess,
	opGreater: opLessEqual, opLessEqual: opGreater,
}

var (
	signedJumps = map[op]asm.JumpOp{
		opEqual: asm.JEq, opUnequal: asm.JNE,
		opLess: asm.JSLT, opLessEqual: asm.JSLE, opGreater: asm.JSGT, opGreaterEqual: asm.JSGE,
	}
	unsignedJumps = map[op]asm.JumpOp{
		opEqual: asm.JEq, opUnequal: asm.JNE,
		opLess: asm.JLT, opLessEqual: asm.JLE, opGreater: asm.JGT, opGreaterEqual: asm.JGE,
	}
)

// compare jumps to a label if a comparison comes out as is asked.
func (g *generator) compare(n *node, outcome bool, to label) {
	switch n.op {
	case opConst:
		if (n.value != 0) == outcome {
			g.always(to)
		}
		return
	case opText:
		g.compareText(n, outcome, to)
		return
	}
	how := n.op
	if !outcome {
		how = inverted[how]
	}
	jumps := unsignedJumps
	if n.order == orderSigned {
		jumps = signedJumps
	}
	bias := uint64(0)
	if n.order == orderErrors && how != opEqual && how != opUnequal {
		bias = maxErrno
	}
	if n.y.op == opConst && fitsImmediate(n.y.value+bias) {
		g.value(n.x)
		g.bias(asm.R0, bias)
		g.jump(jumps[how].Imm(asm.R0, int32(n.y.value+bias), ""), to)
		return
	}
	g.pair(n.x, n.y)
	g.bias(asm.R0, bias)
	g.bias(asm.R1, bias)
	if n.order != orderMixed {
		g.jump(jumps[how].Reg(asm.R0, asm.R1, ""), to)
		return
	}
	g.compareMixed(how, to)
}

func (g *generator) bias(register asm.Register, by uint64) {
	if by != 0 {
		g.emit(asm.Add.Imm(register, int32(by)))
	}
}

// compareMixed is of an unsigned number in R0 and a signed one in R1.
func (g *generator) compareMixed(how op, to label) {
	over := g.label()
	below := over
	if how == opGreater || how == opGreaterEqual {
		below = to
	}
	g.jump(asm.JSLT.Imm(asm.R1, 0, ""), below)
	g.jump(unsignedJumps[how].Reg(asm.R0, asm.R1, ""), to)
	g.place(over)
}

func (g *generator) compareText(n *node, outcome bool, to label) {
	if outcome == n.text.negated {
		g.matchText(n, to)
		return
	}
	miss := g.label()
	g.matchText(n, miss)
	g.always(to)
	g.place(miss)
}

// matchText jumps if a string differs from what is wanted.
func (g *generator) matchText(n *node, miss label) {
	want := []byte(n.text.want)
	terminated := want
	if !n.text.prefix {
		terminated = append(terminated, 0)
	}
	if n.text.comm {
		g.matchBytes(regInput, inputComm, terminated, miss)
		return
	}
	g.value(n.x)
	g.address(asm.R0, n.offset)
	if limit := n.text.limit; limit > 0 {
		terminated = terminated[:min(limit, len(terminated))]
		g.readStack(stackString, len(terminated), asm.FnProbeReadKernel, asm.FnProbeReadUser)
		g.jump(asm.JNE.Imm(asm.R0, 0, ""), g.fail)
		g.matchBytes(asm.RFP, stackString, terminated, miss)
		return
	}
	// One byte more than is wanted tells whether the string goes on.
	g.readStack(stackString, len(terminated)+1, asm.FnProbeReadKernelStr, asm.FnProbeReadUserStr)
	g.jump(asm.JSLT.Imm(asm.R0, 0, ""), g.fail)
	if len(want) == 0 { // kernels differ on whether an empty string has a length of 0 or 1
		g.jump(asm.JGT.Imm(asm.R0, 1, ""), miss)
		return
	}
	g.jump(asm.JNE.Imm(asm.R0, int32(len(want)+1), ""), miss)
	g.matchBytes(asm.RFP, stackString, want, miss)
}

// matchBytes compares memory, 8-aligned, with bytes; up to 8 at once.
func (g *generator) matchBytes(base asm.Register, offset int16, want []byte, miss label) {
	for len(want) > 0 {
		size := 8
		for size > len(want) {
			size /= 2
		}
		var word [8]byte
		copy(word[:], want[:size])
		value := binary.LittleEndian.Uint64(word[:])
		g.emit(asm.LoadMem(asm.R1, base, offset, sizes[size]))
		if fitsImmediate(value) {
			g.jump(asm.JNE.Imm(asm.R1, int32(value), ""), miss)
		} else {
			g.load(asm.R2, value)
			g.jump(asm.JNE.Reg(asm.R1, asm.R2, ""), miss)
		}
		want, offset = want[size:], offset+int16(size)
	}
}
