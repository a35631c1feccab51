// SPDX-License-Identifier: Apache-2.0

package expr

import (
	"bytes"
	"encoding/binary"

	"github.com/cilium/ebpf/btf"
)

// maxStruct is the largest value that is captured whole, and stringSize what is
// captured of a string behind a pointer; in bytes.
const (
	maxStruct  = 512
	stringSize = 64
)

// Field is a value that is captured of each call.
type Field struct {
	Text     string
	Kind     Kind
	Type     btf.Type // nil: a number of no type of the kernel
	TypeName string   // as C writes it: "struct sock *"
	Size     int      // bytes captured
	AtReturn bool     // depends on ret or latency: is there only after the return

	from   *node // the number; of a string or a struct, its address
	offset int64 // from that address
	how    capture
}

// capture is how a field is copied.
type capture uint8

const (
	copyNumber capture = iota
	copyMemory
	copyString // ends at its NUL
	copyComm
)

// captured checks that a value can be captured.
func (c *checker) captured(o operand) (*Field, *Error) {
	switch o.sort {
	case sortString:
		return nil, c.wrong(o.at, "a string that is written out is the same for every call")
	case sortComm:
		return &Field{Kind: String, TypeName: "char[16]", Size: commSize, how: copyComm}, nil
	case sortPlace:
		o.typ = c.complete(o.typ)
		if _, isNumber := integerOf(o.typ); !isNumber {
			return c.capturedWhole(o)
		}
	}
	if pointer, ok := btf.UnderlyingType(o.typ).(*btf.Pointer); ok && isChars(pointer.Target) {
		address, err := c.read(o)
		return &Field{Kind: String, Type: o.typ, TypeName: TypeName(o.typ), Size: stringSize, from: address, how: copyString}, err
	}
	value, err := c.read(o)
	if err != nil {
		return nil, err
	}
	return &Field{Kind: value.kind.kind, Type: o.typ, TypeName: c.nameOf(o, value), Size: 8, from: value}, nil
}

// nameOf is the type of a number.
func (c *checker) nameOf(o operand, value *node) string {
	switch {
	case o.typ != nil:
		return TypeName(o.typ)
	case value.kind.untyped:
		return "register"
	case value.kind.kind == Bool:
		return "bool"
	case value.kind.size == 4 && value.kind.signed:
		return "s32"
	case value.kind.size == 4:
		return "u32"
	case value.kind.signed:
		return "s64"
	}
	return "u64"
}

// capturedWhole is of structs, unions and arrays.
func (c *checker) capturedWhole(o operand) (*Field, *Error) {
	size, err := btf.Sizeof(o.typ)
	if err != nil || size == 0 {
		return nil, c.wrong(o.at, "the size of %s is not known", TypeName(o.typ))
	}
	out := &Field{Kind: Struct, Type: o.typ, TypeName: TypeName(o.typ), Size: size, from: o.node, offset: o.offset, how: copyMemory}
	if array, ok := btf.UnderlyingType(o.typ).(*btf.Array); ok && isChars(array.Type) {
		out.Kind = String
	}
	if size > maxStruct {
		problem := c.wrong(o.at, "%s has %d bytes; %d are captured at most: name a field", TypeName(o.typ), size, maxStruct)
		problem.Near = memberNames(o.typ, 0)
		return nil, problem
	}
	if o.inRegister {
		out.from = bitsOf(o.node, uint(8*o.offset), uint(8*size), unsigned)
		out.offset, out.how = 0, copyNumber
	}
	return out, nil
}

// Slot is a field's place in the output buffer.
type Slot struct {
	Field  *Field
	Offset int // bytes
	Bit    int // of the mask at offset 0, set where the field was unreadable
}

// Raw is the field's bytes in a call's output buffer; false if it was
// unreadable, or the buffer is too short.
func (s Slot) Raw(output []byte) ([]byte, bool) {
	if len(output) < s.Offset+s.Field.Size || binary.LittleEndian.Uint64(output)>>s.Bit&1 != 0 {
		return nil, false
	}
	return output[s.Offset : s.Offset+s.Field.Size], true
}

// cut is a string without its NUL and what comes after.
func cut(raw []byte) []byte {
	if end := bytes.IndexByte(raw, 0); end >= 0 {
		return raw[:end]
	}
	return raw
}
