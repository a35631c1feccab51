// SPDX-License-Identifier: Apache-2.0

package expr

import (
	"github.com/cilium/ebpf/btf"

	"github.com/iowitness/iowitness/spelling"
)

// operand is what a part of a text stands for.
type operand struct {
	at   int
	sort sort
	typ  btf.Type // nil: a number of no type of the kernel

	node   *node // the value; of a place the address, or the register that holds it
	offset int64 // bytes from that address, or within the register
	// A place can be a field of bits, counted from offset.
	bit, bits  uint
	inRegister bool
	string     string // sortString
}

type sort uint8

const (
	sortValue  sort = iota
	sortPlace       // memory, not read yet, or a struct in a register
	sortString      // written out
	sortComm
)

// checker gives meaning to a text.
type checker struct {
	scope *Scope
	text  string
}

func (c *checker) wrong(at int, format string, a ...any) *Error {
	return problem(c.text, at, format, a...)
}

// operand checks a part of a text.
func (c *checker) operand(s *syntax) (operand, *Error) {
	switch s.kind {
	case syntaxNumber:
		return valued(s, number(s.value)), nil
	case syntaxString:
		return operand{at: s.at, sort: sortString, string: s.text}, nil
	case syntaxName:
		return c.name(s)
	case syntaxArrow, syntaxDot:
		return c.field(s)
	case syntaxIndex:
		return c.index(s)
	case syntaxCast:
		return c.cast(s)
	case syntaxUnary:
		return c.unary(s)
	}
	return c.binary(s)
}

// value checks a part that must be a number.
func (c *checker) value(s *syntax) (*node, *Error) {
	o, err := c.operand(s)
	if err != nil {
		return nil, err
	}
	return c.read(o)
}

// read makes a number of what an operand stands for.
func (c *checker) read(o operand) (*node, *Error) {
	switch o.sort {
	case sortValue:
		return o.node, nil
	case sortString:
		return nil, c.wrong(o.at, "a string can only be compared: by ==, != or ~")
	case sortComm:
		return nil, c.wrong(o.at, `comm is a string: compare it, as in comm == "dd"`)
	}
	if array, ok := btf.UnderlyingType(o.typ).(*btf.Array); ok && !o.inRegister {
		if isChars(array.Type) {
			return nil, c.wrong(o.at, "this is a string: compare it by ==, != or ~")
		}
		return nil, c.wrong(o.at, "this is an array, %s: name an element, as in [0]", TypeName(o.typ))
	}
	number, ok := integerOf(o.typ)
	if !ok && !isCompound(o.typ) {
		return nil, c.wrong(o.at, "%s is no number; cast the pointer first", TypeName(o.typ))
	}
	if !ok {
		out := c.wrong(o.at, "this is %s, no number; name one of its fields", TypeName(o.typ))
		out.Near = memberNames(o.typ, 0)
		return nil, out
	}
	return c.readNumber(o, number)
}

// readNumber reads a place of memory, or of a register.
func (c *checker) readNumber(o operand, number integer) (*node, *Error) {
	kind := scalarOf(o.typ, number)
	bit, bits := o.bit, o.bits
	if bits == 0 {
		bits = uint(8 * number.size)
	}
	if o.inRegister {
		return bitsOf(o.node, uint(8*o.offset)+bit, bits, kind), nil
	}
	// Bits lie within a number of their type, unless the struct is packed.
	start := int64(bit) / 8
	size := number.size
	if aligned := int64(bit) / int64(8*size) * int64(size); bit-uint(8*aligned)+bits <= uint(8*size) {
		start = aligned
	} else if size = 8; bit-uint(8*start)+bits > 64 {
		return nil, c.wrong(o.at, "these bits lie across more than 8 bytes")
	}
	load := &node{op: opLoad, x: o.node, offset: o.offset + start, size: size, kind: kind}
	if bits == uint(8*size) && !kind.signed {
		return load, nil
	}
	return bitsOf(load, bit-uint(8*start), bits, kind), nil
}

func scalarOf(t btf.Type, number integer) scalar {
	out := scalar{integer: number, kind: Unsigned}
	switch t := btf.UnderlyingType(t).(type) {
	case *btf.Pointer:
		out.kind, out.errors = Pointer, true
	case *btf.Enum:
		out.kind = Enum
	case *btf.Int:
		if t.Encoding&btf.Bool != 0 {
			out.kind = Bool
		} else if number.signed {
			out.kind = Signed
		}
	}
	return out
}

// field is x->name or x.name.
func (c *checker) field(s *syntax) (operand, *Error) {
	if s.kind == syntaxDot && s.x.kind == syntaxName && s.x.text == "arg" {
		if found, is, err := c.named(s); is {
			return found, err
		}
	}
	x, err := c.operand(s.x)
	if err != nil {
		return operand{}, err
	}
	if s.kind == syntaxArrow {
		x, err = c.pointed(x, s.at)
	}
	if err != nil {
		return operand{}, err
	}
	x.typ = c.complete(x.typ)
	switch {
	case x.sort == sortPlace && isCompound(x.typ):
		return c.member(s, x)
	case isPointer(x.typ):
		return operand{}, c.wrong(s.at, "%s is a pointer: write -> instead of .", TypeName(x.typ))
	case x.typ == nil:
		return operand{}, c.wrong(s.at, "what is before .%s is no struct", s.text)
	}
	return operand{}, c.wrong(s.at, "%s has no fields", TypeName(x.typ))
}

// named is arg.NAME: an argument, even if a built-in name hides it. It is not
// meant where arg itself is a struct.
func (c *checker) named(s *syntax) (operand, bool, *Error) {
	names := c.argumentNames()
	for i, name := range names {
		if name == "arg" && isCompound(c.proto().Params[i].Type) {
			return operand{}, false, nil
		}
	}
	for i, name := range names {
		if name == s.text {
			out, err := c.argument(s, i)
			return out, true, err
		}
	}
	out := c.wrong(s.at, "%s is no argument%s", s.text, c.ofFunction())
	out.Near = followed(spelling.Near(s.text, names), c.arguments())
	return operand{}, true, out
}

func (c *checker) member(s *syntax, x operand) (operand, *Error) {
	found, ok := findMember(x.typ, s.text, 0)
	if !ok {
		out := c.wrong(s.at, "%s has no field %s", TypeName(x.typ), s.text)
		out.Near = spelling.Sort(s.text, memberNames(x.typ, 0))
		return operand{}, out
	}
	x.at, x.typ = s.at, found.Type
	x.bits = uint(found.BitfieldSize)
	x.bit += uint(found.offset)
	if x.bits == 0 {
		x.offset += int64(x.bit / 8)
		x.bit = 0
	}
	if x.inRegister && !isCompound(x.typ) {
		if _, isNumber := integerOf(x.typ); isNumber {
			value, err := c.read(x)
			return operand{at: s.at, sort: sortValue, typ: x.typ, node: value}, err
		}
	}
	return x, nil
}

// pointed is the place that a pointer points to.
func (c *checker) pointed(x operand, at int) (operand, *Error) {
	if x.sort == sortValue && x.typ == nil && x.node.kind.untyped {
		return operand{}, c.wrong(at, "a register has no type: cast it, as in ((struct inode *)arg1)->i_ino")
	}
	if x.typ == nil || x.sort != sortValue && x.sort != sortPlace {
		return operand{}, c.wrong(at, "this is no pointer")
	}
	pointer, ok := btf.UnderlyingType(x.typ).(*btf.Pointer)
	if !ok {
		if isCompound(x.typ) {
			return operand{}, c.wrong(at, "%s is no pointer: write . instead of ->", TypeName(x.typ))
		}
		return operand{}, c.wrong(at, "%s is no pointer", TypeName(x.typ))
	}
	if isPerCPU(x.typ) {
		return operand{}, c.wrong(at, "%s is an offset for each CPU, not an address that can be read", TypeName(x.typ))
	}
	address, err := c.read(x)
	if err != nil {
		return operand{}, err
	}
	return operand{at: at, sort: sortPlace, typ: pointer.Target, node: address}, nil
}

// index is x[n] of an array or a pointer.
func (c *checker) index(s *syntax) (operand, *Error) {
	index, err := c.value(s.y)
	if err != nil {
		return operand{}, err
	}
	if index.op != opConst || index.isNegative() {
		return operand{}, c.wrong(s.at, "an index is a constant, from 0 on")
	}
	x, err := c.operand(s.x)
	if err != nil {
		return operand{}, err
	}
	if array, ok := btf.UnderlyingType(x.typ).(*btf.Array); ok && x.typ != nil {
		if array.Nelems > 0 && index.value >= uint64(array.Nelems) {
			return operand{}, c.wrong(s.at, "%s has elements 0 to %d", TypeName(x.typ), array.Nelems-1)
		}
		x.typ = array.Type
	} else if x, err = c.pointed(x, s.at); err != nil {
		return operand{}, err
	}
	size, sizeErr := btf.Sizeof(c.complete(x.typ))
	if sizeErr != nil || size == 0 {
		return operand{}, c.wrong(s.at, "the size of %s is not known", TypeName(x.typ))
	}
	if index.value > 1<<31/uint64(size) {
		return operand{}, c.wrong(s.at, "an index reaches 2 GiB at most")
	}
	x.at, x.offset = s.at, x.offset+int64(index.value)*int64(size)
	if x.inRegister {
		return operand{}, c.wrong(s.at, "an array that a register holds cannot be indexed")
	}
	return x, nil
}

// complete finds the struct of which only the name was declared.
func (c *checker) complete(t btf.Type) btf.Type {
	forward, ok := btf.UnderlyingType(t).(*btf.Fwd)
	if t == nil || !ok || c.scope.Types == nil {
		return t
	}
	for _, each := range c.scope.named(forward.Name) {
		if isCompound(each) {
			return each
		}
	}
	return t
}

func isPointer(t btf.Type) bool {
	if t == nil {
		return false
	}
	_, ok := btf.UnderlyingType(t).(*btf.Pointer)
	return ok
}
