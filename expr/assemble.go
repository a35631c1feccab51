// SPDX-License-Identifier: Apache-2.0

package expr

import (
	"errors"
	"math"

	"github.com/cilium/ebpf/asm"
)

// label is a place to jump to, always ahead: no verifier meets a loop.
type label int

// assembler collects instructions and resolves their jumps. Offsets are put in
// here, for symbols would be shared with the program that the body becomes part of.
type assembler struct {
	out    asm.Instructions
	jumps  map[int]label // by index of the instruction
	places []int         // of labels, as an index of an instruction; -1: not placed yet
}

func (a *assembler) emit(ins ...asm.Instruction) { a.out = append(a.out, ins...) }

func (a *assembler) label() label {
	a.places = append(a.places, -1)
	return label(len(a.places) - 1)
}

func (a *assembler) place(l label) { a.places[l] = len(a.out) }

// jump emits a jump, of which the offset is known later.
func (a *assembler) jump(ins asm.Instruction, to label) {
	if a.jumps == nil {
		a.jumps = map[int]label{}
	}
	a.jumps[len(a.out)] = to
	a.emit(ins)
}

func (a *assembler) always(to label) {
	a.jump(asm.Instruction{OpCode: asm.OpCode(asm.JumpClass).SetJumpOp(asm.Ja)}, to)
}

// load puts a constant into a register.
func (a *assembler) load(into asm.Register, value uint64) {
	if fitsImmediate(value) {
		a.emit(asm.Mov.Imm(into, int32(value)))
		return
	}
	a.emit(asm.LoadImm(into, int64(value), asm.DWord))
}

// fitsImmediate tells of constants that an instruction holds, sign-extended.
func fitsImmediate(value uint64) bool {
	return int64(value) >= math.MinInt32 && int64(value) <= math.MaxInt32
}

var errTooLong = errors.New("the expression is too long for one BPF program")

// finish leaves out what is never reached, which verifiers refuse, and resolves the jumps.
func (a *assembler) finish() (asm.Instructions, error) {
	reached := a.reached()
	raw := make([]int, len(a.out)+1) // where each instruction comes to lie
	var out asm.Instructions
	var kept []int
	for i, ins := range a.out {
		raw[i+1] = raw[i]
		if reached[i] {
			raw[i+1] += int(ins.Width())
			out, kept = append(out, ins), append(kept, i)
		}
	}
	for i, from := range kept {
		to, isJump := a.jumps[from]
		if !isJump {
			continue
		}
		offset := raw[a.places[to]] - raw[from] - 1
		if offset > math.MaxInt16 {
			return nil, errTooLong
		}
		out[i].Offset = int16(offset)
	}
	return out, nil
}

// reached tells which instructions some way leads to. All jumps go ahead, so
// that one look is enough.
func (a *assembler) reached() []bool {
	out := make([]bool, len(a.out)+1)
	out[0] = true
	for i, ins := range a.out {
		if !out[i] {
			continue
		}
		to, isJump := a.jumps[i]
		if isJump {
			out[a.places[to]] = true
		}
		if operation := ins.OpCode.JumpOp(); ins.OpCode.Class().IsJump() && (operation == asm.Exit || operation == asm.Ja) {
			continue
		}
		out[i+1] = true
	}
	return out
}
