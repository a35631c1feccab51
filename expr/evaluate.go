// SPDX-License-Identifier: Apache-2.0

package expr

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// Input is what is known of a call where no program runs in the kernel: registers and
// the thread.
type Input struct {
	Args           [registers]uint64
	Ret, Latency   uint64 // Latency in ns
	TGID, TID, CPU uint32
	Comm           string
}

// Reads tells which of a program's expressions need memory of the kernel, so that they
// cannot be evaluated without a program in it; "": none does.
func (p *Program) Reads() string {
	if p.filter != nil && p.filter.root.reads() {
		return p.filter.Text
	}
	for _, slot := range p.Slots {
		if slot.Field.ReadsMemory() {
			return slot.Field.Text
		}
	}
	return ""
}

// ReadsMemory says whether a field is more than what registers hold.
func (f *Field) ReadsMemory() bool {
	return f.how == copyMemory || f.how == copyString || f.from.reads()
}

// Evaluate does what the two bodies do for a call that has returned: it fills the output
// buffer of Size bytes, and says whether the call is wanted. Reads must be "".
func (p *Program) Evaluate(in *Input, output []byte) (wanted bool) {
	if p.filter != nil && in.value(p.filter.root) == 0 {
		return false
	}
	clear(output)
	for _, slot := range p.Slots {
		to := output[slot.Offset:]
		if slot.Field.how == copyComm {
			copy(to[:commSize-1], in.Comm)
			continue
		}
		binary.LittleEndian.PutUint64(to, in.value(slot.Field.from))
	}
	return true
}

// value is what a node is; memory is none.
func (in *Input) value(n *node) uint64 {
	switch {
	case n == nil:
		return 0
	case n.op == opConst:
		return n.value
	case n.op == opInput:
		return in.word(n)
	case n.op == opText:
		same := in.Comm == n.text.want || n.text.prefix && strings.HasPrefix(in.Comm, n.text.want)
		return truthValue(same != n.text.negated)
	}
	return n.compute(in.value(n.x), in.value(n.y))
}

func (in *Input) word(n *node) uint64 {
	value := uint64(0)
	switch n.offset {
	case inputRet:
		value = in.Ret
	case inputLatency:
		value = in.Latency
	case inputTgid:
		value = uint64(in.TGID)
	case inputTid:
		value = uint64(in.TID)
	case inputCPU:
		value = uint64(in.CPU)
	default:
		value = in.Args[n.offset/8]
	}
	if n.size < 8 {
		value &= 1<<(8*n.size) - 1
	}
	return value
}

// Register is an argument's register, as the kernel's tracer fetches it.
type Register struct {
	Argument int // from 0
	Bits     int // 8, 16, 32 or 64
	Signed   bool
}

// Name is the field of an event that has it: arg1, or arg1_s32.
func (r Register) Name() string {
	if r == r.whole() {
		return fmt.Sprintf("arg%d", r.Argument+1)
	}
	return fmt.Sprintf("arg%d_%s", r.Argument+1, r.Type())
}

// Type is that of the tracer: u64, s32.
func (r Register) Type() string {
	if r.Signed {
		return fmt.Sprintf("s%d", r.Bits)
	}
	return fmt.Sprintf("u%d", r.Bits)
}

func (r Register) whole() Register { return Register{Argument: r.Argument, Bits: 64} }

// Registers are the arguments that a program needs, and those of TraceFilter.
func (p *Program) Registers() []Register {
	seen := map[Register]bool{}
	var all []Register
	add := func(r Register) {
		if !seen[r] {
			seen[r] = true
			all = append(all, r)
		}
	}
	note := func(n *node) bool {
		if n.op == opInput && n.offset < inputRet {
			add(Register{Argument: int(n.offset / 8), Bits: 64})
		}
		return false
	}
	if p.filter != nil {
		p.filter.root.uses(note)
	}
	for _, slot := range p.Slots {
		slot.Field.from.uses(note)
	}
	_, narrow := p.TraceFilter()
	for _, r := range narrow {
		add(r)
	}
	return all
}

// TraceFilter is that part of the filter which the kernel's tracer can test at a
// function's entry, in its own terms: comparisons of registers with numbers, joined by
// && and ||. "": there is none. The rest is left to Evaluate.
func (p *Program) TraceFilter() (text string, needs []Register) {
	if p.filter == nil {
		return "", nil
	}
	var parts []string
	for _, each := range conjuncts(p.filter.root, true) {
		t := tracer{}
		if part, ok := t.condition(each.node, each.positive); ok {
			parts, needs = append(parts, part), append(needs, t.needs...)
		}
	}
	return strings.Join(parts, " && "), needs
}

// tracer writes conditions for the kernel's tracer.
type tracer struct{ needs []Register }

func (t *tracer) condition(n *node, positive bool) (string, bool) {
	switch n.op {
	case opNot:
		return t.condition(n.x, !positive)
	case opBoth, opEither:
		x, ok1 := t.condition(n.x, positive)
		y, ok2 := t.condition(n.y, positive)
		sign := "&&"
		if (n.op == opEither) == positive {
			sign = "||"
		}
		return "(" + x + " " + sign + " " + y + ")", ok1 && ok2
	}
	return t.comparison(n, positive)
}

var traceSigns = map[op]string{
	opEqual: "==", opUnequal: "!=", opLess: "<", opLessEqual: "<=", opGreater: ">", opGreaterEqual: ">=",
}

func (t *tracer) comparison(n *node, positive bool) (string, bool) {
	how := n.op
	if !positive {
		how = inverted[how]
	}
	sign, comparable := traceSigns[how]
	if !comparable || n.y == nil || n.y.op != opConst {
		return "", false
	}
	r, ok := registerOf(n.x)
	bySize := how != opEqual && how != opUnequal
	if !ok || bySize && (n.order == orderErrors || n.order == orderMixed || (n.order == orderSigned) != (r.Signed || r.Bits < 64)) {
		return "", false
	}
	number := fmt.Sprint(n.y.value)
	if r.Signed {
		number = fmt.Sprint(int64(n.y.value))
	}
	if !r.holds(n.y.value) {
		return "", false
	}
	t.needs = append(t.needs, r)
	return r.Name() + " " + sign + " " + number, true
}

// holds says whether a number, as 64 bits, is one of the register's.
func (r Register) holds(value uint64) bool {
	if r.Bits == 64 {
		return true
	}
	if r.Signed {
		return int64(value) >= -1<<(r.Bits-1) && int64(value) < 1<<(r.Bits-1)
	}
	return value < 1<<r.Bits
}

// registerOf tells which register a node is, or its lower part.
func registerOf(n *node) (r Register, ok bool) {
	r.Bits, r.Signed = 64, n.kind.signed
	if n.op == opBits {
		r.Bits, r.Signed = int(n.bits), n.signed
		if n.bit != 0 || r.Bits != 8 && r.Bits != 16 && r.Bits != 32 && r.Bits != 64 {
			return r, false
		}
		n = n.x
	}
	if n.op != opInput || n.offset >= inputRet || n.size != 8 {
		return r, false
	}
	r.Argument = int(n.offset / 8)
	return r, true
}
