// SPDX-License-Identifier: Apache-2.0

package expr

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/cilium/ebpf/btf"
)

// What a rendered value is bounded to: levels of nesting, elements of an array, bytes.
const (
	renderDepth    = 8
	renderElements = 16
	renderLength   = 4096
)

// unknown is shown where bytes are missing, or mean nothing.
const unknown = "?"

// Render shows captured bytes: numbers in decimal, enums by name, pointers in
// hex or as the error that they hold, strings as they are (neither quoted nor
// made safe), structs as Render does.
func (f *Field) Render(raw []byte) string {
	switch f.Kind {
	case String:
		return string(cut(raw))
	case Struct:
		return Render(f.Type, raw)
	}
	if len(raw) < 8 {
		return unknown
	}
	value := binary.LittleEndian.Uint64(raw)
	switch f.Kind {
	case Bool:
		return strconv.FormatBool(value != 0)
	case Pointer:
		return renderPointer(value)
	case Enum:
		if enum, ok := btf.UnderlyingType(f.Type).(*btf.Enum); ok {
			return renderEnum(enum, value)
		}
	case Signed:
		return strconv.FormatInt(int64(value), 10)
	}
	return strconv.FormatUint(value, 10)
}

// Render shows a value of a type from its little-endian bytes: structs and
// unions as {name = value, …}, arrays as [a, b], char arrays as quoted strings.
// What exceeds its bounds ends in "…".
func Render(t btf.Type, raw []byte) string {
	r := &renderer{}
	r.value(t, raw, 0)
	if r.out.Len() <= renderLength {
		return r.out.String()
	}
	return strings.ToValidUTF8(r.out.String()[:renderLength], "") + "…"
}

type renderer struct {
	out strings.Builder
}

// full tells that more would not be shown.
func (r *renderer) full() bool { return r.out.Len() > renderLength }

func (r *renderer) value(t btf.Type, raw []byte, depth int) {
	if depth > renderDepth || r.full() {
		r.out.WriteString("…")
		return
	}
	switch under := btf.UnderlyingType(t).(type) {
	case *btf.Struct, *btf.Union:
		r.members(members(t), raw, depth)
		return
	case *btf.Array:
		r.array(under, raw, depth)
		return
	case *btf.Float:
		r.out.WriteString(renderFloat(raw, int(under.Size)))
		return
	}
	number, ok := integerOf(t)
	if !ok {
		r.wide(t, raw)
		return
	}
	if len(raw) < number.size {
		r.out.WriteString(unknown)
		return
	}
	r.number(t, extract(raw, 0, uint(8*number.size), number.signed))
}

func (r *renderer) number(t btf.Type, value uint64) {
	out := ""
	switch t := btf.UnderlyingType(t).(type) {
	case *btf.Enum:
		out = renderEnum(t, value)
	case *btf.Pointer:
		out = renderPointer(value)
	case *btf.Int:
		switch {
		case t.Encoding&btf.Bool != 0:
			out = strconv.FormatBool(value != 0)
		case t.Encoding&btf.Signed != 0:
			out = strconv.FormatInt(int64(value), 10)
		default:
			out = strconv.FormatUint(value, 10)
		}
	}
	r.out.WriteString(out)
}

func (r *renderer) members(all []btf.Member, raw []byte, depth int) {
	r.out.WriteByte('{')
	for i, m := range all {
		if i > 0 {
			r.out.WriteString(", ")
		}
		if r.full() {
			r.out.WriteString("…")
			break
		}
		if m.Name != "" {
			r.out.WriteString(m.Name + " = ")
		}
		if m.BitfieldSize > 0 {
			r.bitField(m, raw)
			continue
		}
		var part []byte
		if start := int64(m.Offset) / 8; start <= int64(len(raw)) {
			part = raw[start:]
		}
		if size, err := btf.Sizeof(m.Type); err == nil && size < len(part) {
			part = part[:size]
		}
		r.value(m.Type, part, depth+1)
	}
	r.out.WriteByte('}')
}

func (r *renderer) bitField(m btf.Member, raw []byte) {
	number, ok := integerOf(m.Type)
	if end := uint64(m.Offset) + uint64(m.BitfieldSize); !ok || m.BitfieldSize > 64 || end > 8*uint64(len(raw)) {
		r.out.WriteString(unknown)
		return
	}
	r.number(m.Type, extract(raw, uint(m.Offset), uint(m.BitfieldSize), number.signed))
}

func (r *renderer) array(array *btf.Array, raw []byte, depth int) {
	if isChars(array.Type) {
		r.out.WriteString(strconv.Quote(string(cut(raw[:min(len(raw), int(array.Nelems))]))))
		return
	}
	size, err := btf.Sizeof(array.Type)
	if err != nil {
		r.out.WriteString(unknown)
		return
	}
	r.out.WriteByte('[')
	for i := range int(array.Nelems) {
		if i > 0 {
			r.out.WriteString(", ")
		}
		if i == renderElements || r.full() {
			fmt.Fprintf(&r.out, "… %d more", int(array.Nelems)-i)
			break
		}
		start := min(i*size, len(raw))
		r.value(array.Type, raw[start:min(start+size, len(raw))], depth+1)
	}
	r.out.WriteByte(']')
}

// wide shows numbers of other sizes, in hex, and what is no value at all.
func (r *renderer) wide(t btf.Type, raw []byte) {
	size, err := btf.Sizeof(t)
	if err != nil || size == 0 || size > 32 || len(raw) < size {
		r.out.WriteString(unknown)
		return
	}
	r.out.WriteString("0x")
	for i := size - 1; i >= 0; i-- {
		fmt.Fprintf(&r.out, "%02x", raw[i])
	}
}

// extract takes bits from little-endian bytes that hold them.
func extract(raw []byte, bit, bits uint, signed bool) uint64 {
	value := uint64(0)
	for i := range bits {
		at := bit + i
		value |= uint64(raw[at/8]>>(at%8)&1) << i
	}
	if signed && bits > 0 && bits < 64 {
		return uint64(int64(value<<(64-bits)) >> (64 - bits))
	}
	return value
}

// renderEnum compares what the enum's own size holds.
func renderEnum(enum *btf.Enum, value uint64) string {
	mask := uint64(math.MaxUint64)
	if enum.Size < 8 {
		mask = 1<<(8*enum.Size) - 1
	}
	for _, each := range enum.Values {
		if each.Value&mask == value&mask {
			return each.Name
		}
	}
	if enum.Signed {
		return strconv.FormatInt(int64(value), 10)
	}
	return strconv.FormatUint(value&mask, 10)
}

func renderPointer(value uint64) string {
	if value == 0 {
		return "NULL"
	}
	if name := ErrnoName(int64(value)); name != "" {
		return name
	}
	return fmt.Sprintf("%#x", value)
}

func renderFloat(raw []byte, size int) string {
	switch {
	case size == 4 && len(raw) >= 4:
		return fmt.Sprint(math.Float32frombits(binary.LittleEndian.Uint32(raw)))
	case size == 8 && len(raw) >= 8:
		return fmt.Sprint(math.Float64frombits(binary.LittleEndian.Uint64(raw)))
	}
	return unknown
}
