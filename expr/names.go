// SPDX-License-Identifier: Apache-2.0

package expr

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cilium/ebpf/btf"

	"github.com/iowitness/iowitness/spelling"
)

// builtins are names that mean the same in every function; they hide
// arguments of that name, which arg.NAME still reaches.
var builtins = []string{"ret", "latency", "pid", "tid", "cpu", "comm", "NULL", "true", "false"}

// literals are those of them that are values.
var literals = []string{"NULL", "true", "false"}

// registers is how many arguments come in registers.
const registers = 6

// name finds what a word means.
func (c *checker) name(s *syntax) (operand, *Error) {
	if register := registerNumber(s.text); register >= 0 {
		return c.register(s, register)
	}
	switch s.text {
	case "ret":
		return c.result(s)
	case "latency":
		return valued(s, input(inputLatency, 8, unsigned)), nil
	case "pid":
		return valued(s, input(inputTgid, 4, scalar{integer: integer{4, true}, kind: Signed})), nil
	case "tid":
		return valued(s, input(inputTid, 4, scalar{integer: integer{4, true}, kind: Signed})), nil
	case "cpu":
		return valued(s, input(inputCPU, 4, scalar{integer: integer{4, false}, kind: Unsigned})), nil
	case "comm":
		return operand{at: s.at, sort: sortComm}, nil
	case "NULL", "false":
		return valued(s, number(0)), nil
	case "true":
		return valued(s, number(1)), nil
	}
	if index := slices.Index(c.argumentNames(), s.text); index >= 0 {
		return c.argument(s, index)
	}
	if value, ok := errnoNumber(s.text); ok {
		return valued(s, number(value)), nil
	}
	return c.enumerated(s)
}

// register is an argument as it lies in its register: without BTF all there is.
func (c *checker) register(s *syntax, index int) (operand, *Error) {
	kind := unsigned
	kind.untyped = true
	return valued(s, input(inputArgs+8*int64(index), 8, kind)), nil
}

// result is what the function returns.
func (c *checker) result(s *syntax) (operand, *Error) {
	proto := c.proto()
	if proto == nil {
		kind := unsigned
		kind.untyped = true
		return valued(s, input(inputRet, 8, kind)), nil
	}
	if _, void := btf.UnderlyingType(proto.Return).(*btf.Void); void {
		return operand{}, c.wrong(s.at, "%s returns nothing", c.scope.Function.Name)
	}
	out, ok := c.held(s, proto.Return, inputRet)
	if !ok {
		return operand{}, c.wrong(s.at, "%s returns %s, which no single register holds", c.scope.Function.Name, TypeName(proto.Return))
	}
	if out.sort == sortValue && out.node.kind.wide() {
		out.node.kind.errors = true
	}
	return out, nil
}

// argument is one that has a name and a type.
func (c *checker) argument(s *syntax, index int) (operand, *Error) {
	params := c.proto().Params
	for i, param := range params[:index+1] {
		size, err := btf.Sizeof(param.Type)
		if err != nil || size <= 8 {
			continue
		}
		if i == index {
			return operand{}, c.wrong(s.at, "%s is %s of %d bytes, passed by value: no single register holds it", s.text, TypeName(param.Type), size)
		}
		return operand{}, c.wrong(s.at, "%s comes after %s, a value of %d bytes, so that its register is not certain", s.text, param.Name, size)
	}
	if index >= registers {
		return operand{}, c.wrong(s.at, "%s is argument %d of %s; only the first %d come in registers", s.text, index+1, c.scope.Function.Name, registers)
	}
	out, ok := c.held(s, params[index].Type, inputArgs+8*int64(index))
	if !ok {
		return operand{}, c.wrong(s.at, "%s is %s, which cannot be read from a register", s.text, TypeName(params[index].Type))
	}
	return out, nil
}

// held is a typed value in a register: a number, or a struct of 8 bytes at most.
func (c *checker) held(s *syntax, t btf.Type, offset int64) (operand, bool) {
	register := input(offset, 8, unsigned)
	if number, ok := integerOf(t); ok {
		kind := scalarOf(t, number)
		value := bitsOf(register, 0, uint(8*number.size), kind)
		if value == register {
			value = &node{op: opInput, offset: offset, size: 8, kind: kind}
		}
		return operand{at: s.at, sort: sortValue, typ: t, node: value}, true
	}
	if size, err := btf.Sizeof(t); err != nil || size > 8 || !isCompound(t) {
		return operand{}, false
	}
	return operand{at: s.at, sort: sortPlace, typ: t, node: register, inRegister: true}, true
}

// enumerated finds a constant of any enum, if its name has one value only.
func (c *checker) enumerated(s *syntax) (operand, *Error) {
	found := c.scope.constants()[s.text]
	switch {
	case len(found) == 1:
		kind := long
		if value := found[0]; !value.signed && int64(value.value) < 0 {
			kind = unsigned
		}
		return valued(s, constant(found[0].value, kind)), nil
	case len(found) > 1:
		return operand{}, c.wrong(s.at, "%s has another value in another enum; write the number", s.text)
	}
	out := c.wrong(s.at, "%s is no argument%s, built-in name, errno or constant", s.text, c.ofFunction())
	out.Near = c.meant(s.text)
	return operand{}, out
}

// meant are the names that may stand for one that means nothing: those that are near, then the
// arguments as the function has them, then what means the same in every function.
func (c *checker) meant(name string) []string {
	known := append(c.arguments(), builtins...)
	near := append(spelling.Near(name, known), spelling.Sort(name, c.nearConstants(name))...)
	return followed(near, slices.DeleteFunc(known, func(each string) bool { return slices.Contains(literals, each) }))
}

// followed are names, and behind them those of others that are not among them.
func followed(names, others []string) []string {
	for _, each := range others {
		if !slices.Contains(names, each) {
			names = append(names, each)
		}
	}
	return names
}

// arguments are those that have a name, or else the registers in which they come.
func (c *checker) arguments() (out []string) {
	if c.proto() == nil {
		for i := range registers {
			out = append(out, fmt.Sprintf("arg%d", i+1))
		}
	}
	for _, name := range c.argumentNames() {
		if name != "" {
			out = append(out, name)
		}
	}
	return out
}

// longestName bounds the names for which near ones are looked for among thousands.
const longestName = 64

// nearConstants are the errnos and constants of which the name is all but right.
func (c *checker) nearConstants(name string) []string {
	var out []string
	if strings.ToUpper(name) != name || len(name) < 4 || len(name) > longestName {
		return nil
	}
	isNear := func(candidate string) bool {
		longer := len(candidate) - len(name)
		return longer >= -1 && longer <= 1 && spelling.Apart(name, candidate) <= 1
	}
	for candidate := range c.scope.constants() {
		if isNear(candidate) {
			out = append(out, candidate)
		}
	}
	for candidate := range errnos() {
		if isNear(candidate) {
			out = append(out, candidate)
		}
	}
	return out
}

func (c *checker) proto() *btf.FuncProto {
	if c.scope.Function == nil {
		return nil
	}
	proto, _ := c.scope.Function.Type.(*btf.FuncProto)
	return proto
}

func (c *checker) argumentNames() []string {
	var out []string
	if proto := c.proto(); proto != nil {
		for _, param := range proto.Params {
			out = append(out, param.Name)
		}
	}
	return out
}

func (c *checker) ofFunction() string {
	if c.scope.Function == nil {
		return ""
	}
	return " of " + c.scope.Function.Name
}

func input(offset int64, size int, kind scalar) *node {
	out := &node{op: opInput, offset: offset, size: size, kind: kind}
	if size < 8 && kind.signed {
		return bitsOf(out, 0, uint(8*size), kind)
	}
	return out
}

func valued(s *syntax, n *node) operand { return operand{at: s.at, sort: sortValue, node: n} }
