// SPDX-License-Identifier: Apache-2.0

package expr

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cilium/ebpf/btf"
)

// maxNested bounds how deep anonymous structs, arrays and typedefs are followed.
const maxNested = 16

// integer is how a number lies in memory.
type integer struct {
	size   int // 1, 2, 4 or 8 bytes
	signed bool
}

// integerOf tells how a type's values are numbers; pointers are unsigned.
func integerOf(t btf.Type) (integer, bool) {
	out := integer{}
	switch t := btf.UnderlyingType(t).(type) {
	case *btf.Int:
		out = integer{int(t.Size), t.Encoding&btf.Signed != 0}
	case *btf.Enum:
		out = integer{int(t.Size), t.Signed}
	case *btf.Pointer:
		out = integer{8, false}
	}
	return out, out.size == 1 || out.size == 2 || out.size == 4 || out.size == 8
}

// isChars tells whether elements of a type are text: char in any sign, but not
// u8, which is a number by intent.
func isChars(t btf.Type) bool {
	for range maxNested {
		switch next := t.(type) {
		case *btf.Const:
			t = next.Type
		case *btf.Volatile:
			t = next.Type
		case *btf.TypeTag:
			t = next.Type
		case *btf.Int:
			return next.Size == 1 && next.Encoding&btf.Bool == 0 && strings.Contains(next.Name, "char")
		default:
			return false
		}
	}
	return false
}

// isBytes is isChars or u8 under any name.
func isBytes(t btf.Type) bool {
	number, ok := btf.UnderlyingType(t).(*btf.Int)
	return ok && number.Size == 1 && number.Encoding&btf.Bool == 0
}

// member is a field within a struct, found through anonymous ones.
type member struct {
	btf.Member
	offset uint32 // bits from the start of the struct that was asked
}

func members(t btf.Type) []btf.Member {
	switch t := btf.UnderlyingType(t).(type) {
	case *btf.Struct:
		return t.Members
	case *btf.Union:
		return t.Members
	}
	return nil
}

func isCompound(t btf.Type) bool {
	switch btf.UnderlyingType(t).(type) {
	case *btf.Struct, *btf.Union:
		return true
	}
	return false
}

func findMember(t btf.Type, name string, depth int) (member, bool) {
	if depth > maxNested {
		return member{}, false
	}
	for _, m := range members(t) {
		if m.Name == name && name != "" {
			return member{m, uint32(m.Offset)}, true
		}
		if m.Name != "" {
			continue
		}
		if inner, ok := findMember(m.Type, name, depth+1); ok {
			inner.offset += uint32(m.Offset)
			return inner, true
		}
	}
	return member{}, false
}

// memberNames lists the fields that findMember finds.
func memberNames(t btf.Type, depth int) []string {
	var out []string
	if depth > maxNested {
		return nil
	}
	for _, m := range members(t) {
		if m.Name != "" {
			out = append(out, m.Name)
			continue
		}
		out = append(out, memberNames(m.Type, depth+1)...)
	}
	return out
}

// isPerCPU tells of a pointer that is an offset for each CPU, and no address.
func isPerCPU(t btf.Type) bool {
	pointer, ok := btf.UnderlyingType(t).(*btf.Pointer)
	if !ok {
		return false
	}
	tag, ok := pointer.Target.(*btf.TypeTag)
	return ok && tag.Value == "percpu"
}

// TypeName writes a type as C does, in short: a function is "function".
func TypeName(t btf.Type) string { return nameType(t, 0) }

func nameType(t btf.Type, depth int) string {
	if depth > maxNested {
		return "…"
	}
	deeper := func(t btf.Type) string { return nameType(t, depth+1) }
	switch t := t.(type) {
	case *btf.Void:
		return "void"
	case *btf.Pointer:
		target := deeper(t.Target)
		if strings.HasSuffix(target, "*") {
			return target + "*"
		}
		return target + " *"
	case *btf.Array:
		return fmt.Sprintf("%s[%d]", deeper(t.Type), t.Nelems)
	case *btf.Const:
		return "const " + deeper(t.Type)
	case *btf.Volatile:
		return "volatile " + deeper(t.Type)
	case *btf.Restrict:
		return deeper(t.Type)
	case *btf.TypeTag:
		return deeper(t.Type) + " __" + t.Value
	case *btf.Struct:
		return named("struct", t.Name)
	case *btf.Union:
		return named("union", t.Name)
	case *btf.Enum:
		return named("enum", t.Name)
	case *btf.Fwd:
		return named(t.Kind.String(), t.Name)
	case *btf.FuncProto:
		return "function"
	case nil:
		return "register"
	default:
		return t.TypeName()
	}
}

func named(tag, name string) string {
	if name == "" {
		return tag
	}
	return tag + " " + name
}

// plainIntegers are the number types that need no types of a kernel.
var plainIntegers = func() map[string]*btf.Int {
	out := map[string]*btf.Int{
		"bool":  {Name: "bool", Size: 1, Encoding: btf.Bool},
		"_Bool": {Name: "_Bool", Size: 1, Encoding: btf.Bool},
		"char":  {Name: "char", Size: 1, Encoding: btf.Signed},
	}
	for size, bits := range map[uint32]string{1: "8", 2: "16", 4: "32", 8: "64"} {
		for _, prefix := range []string{"", "__"} {
			out[prefix+"u"+bits] = &btf.Int{Name: "u" + bits, Size: size}
			out[prefix+"s"+bits] = &btf.Int{Name: "s" + bits, Size: size, Encoding: btf.Signed}
		}
	}
	for name, alias := range map[string]string{
		"size_t": "u64", "ssize_t": "s64", "loff_t": "s64", "pid_t": "s32",
		"uint8_t": "u8", "uint16_t": "u16", "uint32_t": "u32", "uint64_t": "u64",
		"int8_t": "s8", "int16_t": "s16", "int32_t": "s32", "int64_t": "s64",
	} {
		out[name] = out[alias]
	}
	return out
}()

// integerWords reads C's own words for a number: "unsigned long int".
func integerWords(words []string) (*btf.Int, bool) {
	if len(words) == 1 && plainIntegers[words[0]] != nil {
		return plainIntegers[words[0]], true
	}
	count := map[string]int{}
	for _, word := range words {
		if !slices.Contains([]string{"unsigned", "signed", "char", "short", "int", "long"}, word) {
			return nil, false
		}
		count[word]++
	}
	size, kinds := uint32(4), 0
	for word, bytes := range map[string]uint32{"char": 1, "short": 2, "long": 8} {
		if count[word] > 0 {
			size = bytes
			kinds++
		}
	}
	twice := count["long"] > 2 || count["short"] > 1 || count["char"] > 1 || count["int"] > 1
	if kinds > 1 || twice || count["unsigned"]+count["signed"] > 1 || count["char"]+count["int"] > 1 {
		return nil, false
	}
	out := &btf.Int{Name: strings.Join(words, " "), Size: size, Encoding: btf.Signed}
	if count["unsigned"] > 0 {
		out.Encoding = btf.Unsigned
	}
	return out, true
}
