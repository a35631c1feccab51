// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"slices"
	"unsafe"

	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
)

// Typed programs have a function's arguments, and then its result, in their context, 8 bytes each.
// Numbers are loaded from there. Pointers would stay pointers to the verifier, with which filters
// cannot reckon: they are copied, which takes a helper.

// loadArguments puts those that filter and fields ask for into a struct call_input; nil: they must be copied.
func (t *CallTarget) loadArguments() (body asm.Instructions) {
	params := t.proto().Params
	for _, i := range t.Program.Arguments() {
		if i >= len(params) || !havePlaceEach(params[:i]) || !isNumber(params[i].Type) {
			return nil
		}
		body = append(body, asm.LoadMem(asm.R0, asm.R1, int16(8*i), asm.DWord), asm.StoreMem(asm.R2, int16(8*i), asm.R0, asm.DWord))
	}
	return append(body, asm.Mov.Imm(asm.R0, 0), asm.Return())
}

// loadResult puts the function's result into a struct call_input.
func (t *CallTarget) loadResult() asm.Instructions {
	const to = unsafe.Offsetof(callCallInput{}.Ret)
	from := 8 * t.arguments()
	if proto := t.proto(); isNumber(proto.Return) && havePlaceEach(proto.Params) {
		return asm.Instructions{
			asm.LoadMem(asm.R0, asm.R1, int16(from), asm.DWord), asm.StoreMem(asm.R2, int16(to), asm.R0, asm.DWord),
			asm.Mov.Imm(asm.R0, 0), asm.Return(),
		}
	}
	return asm.Instructions{
		asm.Mov.Reg(asm.R3, asm.R1), asm.Add.Imm(asm.R3, int32(from)),
		asm.Mov.Reg(asm.R1, asm.R2), asm.Add.Imm(asm.R1, int32(to)),
		asm.Mov.Imm(asm.R2, 8), asm.FnProbeReadKernel.Call(), asm.Return(),
	}
}

// proto is the function's type; without parameters and result where that is not known.
func (t *CallTarget) proto() *btf.FuncProto {
	if t.Func == nil {
		return &btf.FuncProto{Return: &btf.Void{}}
	}
	return t.Func.Type.(*btf.FuncProto)
}

// havePlaceEach says whether arguments have one place in the context each, which structs have not.
func havePlaceEach(params []btf.FuncParam) bool {
	return !slices.ContainsFunc(params, func(p btf.FuncParam) bool {
		_, pointer := btf.UnderlyingType(p.Type).(*btf.Pointer)
		return !pointer && !isNumber(p.Type)
	})
}

func isNumber(t btf.Type) bool {
	switch t := btf.UnderlyingType(t).(type) {
	case *btf.Int:
		return t.Size <= 8
	case *btf.Enum:
		return t.Size <= 4
	}
	return false
}
