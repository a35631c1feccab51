// SPDX-License-Identifier: Apache-2.0

package expr

import (
	"slices"
	"strings"

	"github.com/cilium/ebpf/btf"
)

// cast gives a number another type; an array stands for its address.
func (c *checker) cast(s *syntax) (operand, *Error) {
	t, err := c.typeOf(s.cast)
	if err != nil {
		return operand{}, err
	}
	number, ok := integerOf(t)
	if !ok {
		return operand{}, c.wrong(s.cast.at, "a value is cast to a number or a pointer, not to %s", TypeName(t))
	}
	x, err := c.operand(s.x)
	if err != nil {
		return operand{}, err
	}
	value, err := c.castable(x, number.size)
	if err != nil {
		return operand{}, err
	}
	kind := scalarOf(t, number)
	if number.size == 8 {
		value = retyped(value, kind)
	} else {
		value = fold(bitsOf(value, 0, uint(8*number.size), kind))
	}
	return operand{at: s.at, sort: sortValue, typ: t, node: value}, nil
}

func (c *checker) castable(x operand, size int) (*node, *Error) {
	if _, ok := btf.UnderlyingType(x.typ).(*btf.Array); ok && size == 8 && x.sort == sortPlace && !x.inRegister {
		return &node{op: opAdd, x: x.node, y: number(uint64(x.offset)), kind: unsigned}, nil
	}
	return c.read(x)
}

// typeOf finds a type that was written.
func (c *checker) typeOf(name *typeName) (btf.Type, *Error) {
	base, err := c.baseType(name)
	if err != nil {
		return nil, err
	}
	for range min(name.stars, maxNested) {
		base = &btf.Pointer{Target: base}
	}
	return base, nil
}

func (c *checker) baseType(name *typeName) (btf.Type, *Error) {
	words := strings.Join(name.words, " ")
	if name.tag == "" {
		if words == "void" {
			return &btf.Void{}, nil
		}
		if number, ok := integerWords(name.words); ok {
			return number, nil
		}
	}
	if c.scope.Types == nil {
		return nil, c.wrong(name.at, "the types of this kernel are not known (it has no BTF); numbers can be cast to int, long, u32 and the like")
	}
	if len(name.words) == 1 {
		found := c.scope.named(words)
		is := func(t btf.Type) bool { return hasTag(t, name.tag) }
		if index := slices.IndexFunc(found, is); index >= 0 {
			return found[index], nil
		}
	}
	return nil, c.wrong(name.at, "this kernel has no type %s", strings.TrimSpace(name.tag+" "+words))
}

func hasTag(t btf.Type, tag string) bool {
	switch t.(type) {
	case *btf.Struct:
		return tag == "struct"
	case *btf.Union:
		return tag == "union"
	case *btf.Enum:
		return tag == "enum"
	case *btf.Typedef, *btf.Int:
		return tag == ""
	}
	return false
}

// isType tells the parser of words that name a type, and no argument.
func (c *checker) isType(word string) bool {
	if slices.Contains(builtins, word) || slices.Contains(c.argumentNames(), word) {
		return false
	}
	if plainIntegers[word] != nil {
		return true
	}
	if c.scope.Types == nil {
		return false
	}
	found := c.scope.named(word)
	return slices.ContainsFunc(found, func(t btf.Type) bool { return hasTag(t, "") })
}
