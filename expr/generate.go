// SPDX-License-Identifier: Apache-2.0

package expr

import (
	"errors"

	"github.com/cilium/ebpf/asm"
)

// Registers that a body keeps; values are made in R0, beside R1 to R5.
const (
	regInput  = asm.R6
	regOutput = asm.R7
)

// The mask of what was unreadable lies at maskAt of the output buffer, and
// nowhere else: verifiers that knew its bits would go through all combinations.
const (
	maskAt    = 0
	filterBit = 63 // its sign: a read for the filter failed
)

// The body's stack, 192 bytes: what is read, a string, values that wait for others.
const (
	stackRead   = -8
	stackString = -80
	stackSpill  = -88
	maxSpills   = 14
)

var errTooDeep = errors.New("the expression nests too deeply for the kernel's stack")

// generator makes a body's instructions.
type generator struct {
	assembler
	fail    label // where failed reads go
	inValue bool  // fail is that of a value; conditions within have none of their own
	spills  int
	err     error
}

// value computes a node into R0.
func (g *generator) value(n *node) {
	switch {
	case isSimple(n):
		g.simple(n, asm.R0)
	case n.isTruth():
		g.truth(n)
	case n.op == opSlot:
		g.slot(n)
	case n.op == opLoad:
		g.value(n.x)
		g.address(asm.R0, n.offset)
		g.readStack(stackRead, n.size, asm.FnProbeReadKernel, asm.FnProbeReadUser)
		g.jump(asm.JNE.Imm(asm.R0, 0, ""), g.fail)
		g.emit(asm.LoadMem(asm.R0, asm.RFP, stackRead, sizes[n.size]))
	case n.op == opBits:
		g.value(n.x)
		g.bitField(n, asm.R0)
	case n.op == opNegate:
		g.value(n.x)
		g.emit(asm.Mov.Reg(asm.R1, asm.R0), asm.Mov.Imm(asm.R0, 0), asm.Sub.Reg(asm.R0, asm.R1))
	case n.op == opInvert:
		g.value(n.x)
		g.emit(asm.Xor.Imm(asm.R0, -1))
	default:
		g.calculate(n)
	}
}

var sizes = map[int]asm.Size{1: asm.Byte, 2: asm.Half, 4: asm.Word, 8: asm.DWord}

// isSimple tells of values that are made in one register without a call.
func isSimple(n *node) bool {
	return n.op == opConst || n.op == opInput || n.op == opBits && isSimple(n.x)
}

func (g *generator) simple(n *node, into asm.Register) {
	switch n.op {
	case opConst:
		g.load(into, n.value)
	case opInput:
		g.emit(asm.LoadMem(into, regInput, int16(n.offset), sizes[n.size]))
	default:
		g.simple(n.x, into)
		g.bitField(n, into)
	}
}

func (g *generator) bitField(n *node, of asm.Register) {
	if left := 64 - n.bit - n.bits; left > 0 {
		g.emit(asm.LSh.Imm(of, int32(left)))
	}
	if right := 64 - n.bits; right > 0 && n.signed {
		g.emit(asm.ArSh.Imm(of, int32(right)))
	} else if right > 0 {
		g.emit(asm.RSh.Imm(of, int32(right)))
	}
}

// slot takes what the entry left, if it could be read then.
func (g *generator) slot(n *node) {
	if n.bit < filterBit {
		g.emit(asm.LoadMem(asm.R1, regOutput, maskAt, asm.DWord), asm.RSh.Imm(asm.R1, int32(n.bit)), asm.And.Imm(asm.R1, 1))
		g.jump(asm.JNE.Imm(asm.R1, 0, ""), g.fail)
	}
	g.emit(asm.LoadMem(asm.R0, regOutput, int16(n.offset), asm.DWord))
}

// truth makes 0 or 1 of a condition within a value.
func (g *generator) truth(n *node) {
	outer := g.inValue
	g.inValue = true
	no, end := g.label(), g.label()
	g.unless(n, true, no)
	g.emit(asm.Mov.Imm(asm.R0, 1))
	g.always(end)
	g.place(no)
	g.emit(asm.Mov.Imm(asm.R0, 0))
	g.place(end)
	g.inValue = outer
}

var aluOps = map[op]asm.ALUOp{
	opAdd: asm.Add, opSubtract: asm.Sub, opMultiply: asm.Mul,
	opBitAnd: asm.And, opBitOr: asm.Or, opBitXor: asm.Xor,
	opLeft: asm.LSh, opRight: asm.RSh, opRightArith: asm.ArSh,
}

func (g *generator) calculate(n *node) {
	isShift := n.op == opLeft || n.op == opRight || n.op == opRightArith
	if n.y.op == opConst && fitsImmediate(n.y.value) {
		g.value(n.x)
		g.emit(aluOps[n.op].Imm(asm.R0, int32(n.y.value)))
		return
	}
	g.pair(n.x, n.y)
	if isShift {
		g.emit(asm.And.Imm(asm.R1, 63))
	}
	g.emit(aluOps[n.op].Reg(asm.R0, asm.R1))
}

// pair computes x into R0 and y into R1.
func (g *generator) pair(x, y *node) {
	switch {
	case isSimple(y):
		g.value(x)
		g.simple(y, asm.R1)
	case isSimple(x):
		g.value(y)
		g.emit(asm.Mov.Reg(asm.R1, asm.R0))
		g.simple(x, asm.R0)
	default:
		if g.spills == maxSpills {
			g.err = errTooDeep
			return
		}
		kept := int16(stackSpill - 8*g.spills)
		g.value(x)
		g.emit(asm.StoreMem(asm.RFP, kept, asm.R0, asm.DWord))
		g.spills++
		g.value(y)
		g.spills--
		g.emit(asm.Mov.Reg(asm.R1, asm.R0), asm.LoadMem(asm.R0, asm.RFP, kept, asm.DWord))
	}
}

// address puts where to read into R3.
func (g *generator) address(base asm.Register, offset int64) {
	g.emit(asm.Mov.Reg(asm.R3, base))
	if offset != 0 {
		g.emit(asm.Add.Imm(asm.R3, int32(offset)))
	}
}

func (g *generator) readStack(into int16, size int, kernel, user asm.BuiltinFunc) {
	g.emit(asm.Mov.Reg(asm.R1, asm.RFP), asm.Add.Imm(asm.R1, int32(into)))
	g.read(size, kernel, user)
}

// read copies from the address in R3 to that in R1. The halves of the address
// space are told by the sign; what is near 0 is left to the kernel's variant,
// which refuses it.
func (g *generator) read(size int, kernel, user asm.BuiltinFunc) {
	isUser, done := g.label(), g.label()
	g.emit(asm.Mov.Imm(asm.R2, int32(size)))
	g.jump(asm.JSGT.Imm(asm.R3, maxErrno, ""), isUser)
	g.emit(kernel.Call())
	g.always(done)
	g.place(isUser)
	g.emit(user.Call())
	g.place(done)
}

// mark sets a bit of the mask.
func (g *generator) mark(bit int) {
	g.load(asm.R1, 1<<bit)
	g.emit(
		asm.LoadMem(asm.R2, regOutput, maskAt, asm.DWord),
		asm.Or.Reg(asm.R2, asm.R1),
		asm.StoreMem(regOutput, maskAt, asm.R2, asm.DWord),
	)
}
