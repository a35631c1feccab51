// SPDX-License-Identifier: Apache-2.0

package expr

import (
	"slices"
	"strings"

	"github.com/cilium/ebpf/btf"
)

// Signature writes a function as its source declares it; parameters that have no
// name stand by their type alone.
func Signature(f *btf.Func) string {
	proto, ok := f.Type.(*btf.FuncProto)
	if !ok {
		return f.Name + "()"
	}
	return Declaration(proto.Return, f.Name) + "(" + Parameters(proto) + ")"
}

// Parameters writes what a function takes, without the brackets around.
func Parameters(proto *btf.FuncProto) string {
	parts := make([]string, len(proto.Params))
	for i, p := range proto.Params {
		parts[i] = Declaration(p.Type, p.Name)
		if _, void := p.Type.(*btf.Void); void && p.Name == "" {
			parts[i] = "..."
		}
	}
	if len(parts) == 0 {
		return "void"
	}
	return strings.Join(parts, ", ")
}

// Declaration writes a type with a name as C does: "char comm[16]".
func Declaration(t btf.Type, name string) string {
	kind := TypeName(t)
	element, size, array := strings.Cut(kind, "[")
	switch {
	case name == "":
		return kind
	case array:
		return strings.TrimRight(element, " ") + " " + name + "[" + size
	case strings.HasSuffix(kind, "*"):
		return kind + name
	}
	return kind + " " + name
}

// Member is a field of a struct or union, as an expression names it.
type Member struct {
	Name   string
	Type   btf.Type
	Offset uint32 // bytes from the struct's begin
	Bit    uint32 // of a bit field: where it begins within the byte at Offset
	Bits   uint32 // of a bit field: its width; else 0
}

// Members are the fields of a struct or union, or of that to which a pointer
// leads, those of anonymous ones within it too; none for other types.
func Members(t btf.Type) []Member {
	if pointer, ok := btf.UnderlyingType(t).(*btf.Pointer); ok {
		t = pointer.Target
	}
	return listMembers(t, 0, 0)
}

func listMembers(t btf.Type, from uint32, depth int) (out []Member) {
	if depth > maxNested {
		return nil
	}
	for _, m := range members(t) {
		at := from + uint32(m.Offset)
		if m.Name == "" {
			out = append(out, listMembers(m.Type, at, depth+1)...)
			continue
		}
		field := Member{Name: m.Name, Type: m.Type, Offset: at / 8, Bits: uint32(m.BitfieldSize)}
		if field.Bits > 0 {
			field.Bit = at % 8
		}
		out = append(out, field)
	}
	return out
}

// Joint is what stands between a value of a type and the name of its member.
func Joint(t btf.Type) string {
	if _, pointer := btf.UnderlyingType(t).(*btf.Pointer); pointer {
		return "->"
	}
	return "."
}

// ArgumentPath is how an expression names an argument: built-in names hide it.
func ArgumentPath(name string) string {
	if slices.Contains(builtins, name) || registerNumber(name) >= 0 {
		return "arg." + name
	}
	return name
}
