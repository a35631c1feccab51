// SPDX-License-Identifier: Apache-2.0

package expr

import (
	"slices"

	"github.com/cilium/ebpf/asm"
)

// Program is a filter and fields, compiled.
type Program struct {
	// Filter decides what the entry can tell, before a call has an output buffer.
	// Entry captures fields of what it wanted.
	Filter, Entry, Return asm.Instructions

	Size    int    // bytes used of the output buffer
	Slots   []Slot // one for each field, in their order
	AtEntry bool   // Filter does not want every call
	// NeedsReturn tells that the return decides or captures something; if it
	// does not, Return wants every call.
	NeedsReturn bool

	filter *Filter // nil: none
}

// Arguments are the numbers, from 0, of the arguments that a call is asked for at its entry.
func (p *Program) Arguments() (numbers []int) {
	for _, ins := range slices.Concat(p.Filter, p.Entry) {
		if ins.OpCode.Class() == asm.LdXClass && ins.Src == regInput && ins.Offset < inputRet {
			numbers = append(numbers, int(ins.Offset)/8)
		}
	}
	slices.Sort(numbers)
	return slices.Compact(numbers)
}

// Compile makes the three bodies. filter may be nil. The return must be given the
// output buffer as the entry of the same call has left it.
func Compile(filter *Filter, fields []*Field) (*Program, error) {
	p, err := makePlan(filter, fields)
	if err != nil {
		return nil, err
	}
	out := &Program{Size: p.size, Slots: p.slots, filter: filter, AtEntry: len(p.entry) > 0, NeedsReturn: len(p.exit) > 0}
	for _, field := range fields {
		out.NeedsReturn = out.NeedsReturn || field.AtReturn
	}
	if out.Filter, err = p.filterBody(); err != nil {
		return nil, err
	}
	if out.Entry, err = p.entryBody(); err != nil {
		return nil, err
	}
	if out.Return, err = p.returnBody(); err != nil {
		return nil, err
	}
	return out, nil
}

func (p *plan) filterBody() (asm.Instructions, error) {
	g := &generator{}
	g.begin()
	g.zero(maskAt, 8)
	unwanted := g.label()
	g.test(p.entry, unwanted)
	return g.end(unwanted)
}

func (p *plan) entryBody() (asm.Instructions, error) {
	g := &generator{}
	g.begin()
	g.zero(maskAt, 8)
	for _, each := range p.hidden {
		g.keep(each)
	}
	for i, slot := range p.slots {
		if !slot.Field.AtReturn {
			g.capture(slot, p.late[i])
		}
	}
	return g.end(g.label())
}

func (p *plan) returnBody() (asm.Instructions, error) {
	g := &generator{}
	g.begin()
	unwanted := g.label()
	g.test(p.exit, unwanted)
	for i, slot := range p.slots {
		if slot.Field.AtReturn {
			g.capture(slot, p.late[i])
		}
	}
	return g.end(unwanted)
}

func (g *generator) begin() {
	g.emit(asm.Mov.Reg(regInput, asm.R1), asm.Mov.Reg(regOutput, asm.R2))
}

func (g *generator) test(all []conjunct, unwanted label) {
	for _, each := range all {
		g.unless(each.node, each.positive, unwanted)
	}
}

// end returns what became of the call.
func (g *generator) end(unwanted label) (asm.Instructions, error) {
	g.emit(
		asm.Mov.Imm(asm.R0, Wanted),
		asm.Return(),
	)
	g.place(unwanted)
	exit := g.label()
	g.emit(asm.LoadMem(asm.R1, regOutput, maskAt, asm.DWord), asm.Mov.Imm(asm.R0, Unwanted))
	g.jump(asm.JSGE.Imm(asm.R1, 0, ""), exit)
	g.emit(asm.Mov.Imm(asm.R0, Unreadable))
	g.place(exit)
	g.emit(asm.Return())
	if g.err != nil {
		return nil, g.err
	}
	return g.finish()
}

// keep leaves a value for the return.
func (g *generator) keep(h hidden) {
	if h.truth {
		no, store := g.label(), g.label()
		g.unless(h.node, true, no)
		g.emit(asm.Mov.Imm(asm.R0, 1))
		g.always(store)
		g.place(no)
		g.emit(asm.Mov.Imm(asm.R0, 0))
		g.place(store)
		g.emit(asm.StoreMem(regOutput, int16(h.offset), asm.R0, asm.DWord))
		return
	}
	g.orElse(int(h.bit), int(h.offset), 8, func() {
		g.value(h.node)
		g.emit(asm.StoreMem(regOutput, int16(h.offset), asm.R0, asm.DWord))
	})
}

// orElse leaves zeros and marks a bit where a read fails.
func (g *generator) orElse(bit, offset, size int, emit func()) {
	g.fail, g.inValue = g.label(), true
	done := g.label()
	emit()
	g.always(done)
	g.place(g.fail)
	g.zero(offset, size)
	g.mark(bit)
	g.place(done)
	g.inValue = false
}

func (g *generator) zero(offset, size int) {
	g.emit(asm.Mov.Imm(asm.R1, 0))
	for at := offset; at < offset+size; at += 8 {
		g.emit(asm.StoreMem(regOutput, int16(at), asm.R1, asm.DWord))
	}
}

// capture leaves a field in its slot.
func (g *generator) capture(slot Slot, from *node) {
	field := slot.Field
	if field.how == copyComm {
		for at := 0; at < commSize; at += 8 {
			g.emit(
				asm.LoadMem(asm.R0, regInput, int16(inputComm+at), asm.DWord),
				asm.StoreMem(regOutput, int16(slot.Offset+at), asm.R0, asm.DWord),
			)
		}
		return
	}
	if field.how == copyString {
		g.zero(slot.Offset, field.Size) // what comes after the NUL is no part of a key
	}
	g.orElse(slot.Bit, slot.Offset, field.Size, func() { g.copyOut(slot, from) })
}

func (g *generator) copyOut(slot Slot, from *node) {
	field := slot.Field
	g.value(from)
	if field.how == copyNumber {
		g.emit(asm.StoreMem(regOutput, int16(slot.Offset), asm.R0, asm.DWord))
		return
	}
	g.address(asm.R0, field.offset)
	g.emit(asm.Mov.Reg(asm.R1, regOutput), asm.Add.Imm(asm.R1, int32(slot.Offset)))
	if field.how == copyMemory {
		g.read(field.Size, asm.FnProbeReadKernel, asm.FnProbeReadUser)
		g.jump(asm.JNE.Imm(asm.R0, 0, ""), g.fail)
		return
	}
	g.read(field.Size, asm.FnProbeReadKernelStr, asm.FnProbeReadUserStr)
	g.jump(asm.JSLT.Imm(asm.R0, 0, ""), g.fail)
}
