// SPDX-License-Identifier: Apache-2.0

// Package expr is the language of filters and fields: what a person writes of a
// kernel function's arguments and result ("size > 4K && comm == \"dd\"") is
// parsed, checked against the kernel's types and compiled into the bodies of
// BPF subprograms: two for the function's entry, which filter and capture, and one
// for its return. It loads nothing: types and text in, instructions out.
//
// A C object holds a stub for each body, which Replace exchanges:
//
//	R1  struct call_input *, readable; to the verifier its arguments must be numbers
//	R2  the call's output buffer in map memory, Program.Size bytes (at most MaxOutput);
//	    of the filter at entry eight bytes anywhere, which it needs for itself
//	R0  Wanted, Unwanted, or Unreadable
//
// Arguments of typed programs are pointers to the verifier, and stay so on the
// stack: shifts and masks of them are refused. Copied into map memory, or by
// bpf_probe_read_kernel, they are numbers.
//
// docs/EXPRESSIONS.md tells the language.
package expr

import (
	"github.com/cilium/ebpf/btf"
)

// What a body returns in R0.
const (
	Unwanted   = 0 // the filter is not true
	Wanted     = 1
	Unreadable = 2 // not wanted, and a read of memory that the filter needed failed
)

// MaxOutput is the most that a call's output buffer takes, in bytes.
const MaxOutput = 1024

// InputSize and the offsets below are the layout of struct call_input.
const (
	InputSize = 96

	inputArgs     = 0  // u64 arg[6], the registers of the first six arguments
	inputRet      = 48 // u64 ret, 0 at entry
	inputLatency  = 56 // u64 latency_ns, 0 at entry
	inputTgid     = 64 // u32
	inputTid      = 68 // u32
	inputCPU      = 72 // u32, then two bytes that are no concern of bodies
	inputFunction = 78 // u16, its number, where one program serves several: see Switch
	inputComm     = 80 // char[commSize]
	commSize      = 16
)

// Scope is what names mean: a function, and the types of its kernel. It may be
// used by several goroutines.
type Scope struct {
	Function *btf.Func // nil: only registers are known
	Types    *btf.Spec // nil: no casts to structs, no constants of enums
	Base     *btf.Spec // of a module's types: the kernel's, on which they build; else nil
}

// named are the types of a name, the module's own before the kernel's.
func (s *Scope) named(name string) (found []btf.Type) {
	for _, types := range []*btf.Spec{s.Types, s.Base} {
		if types != nil {
			some, _ := types.AnyTypesByName(name)
			found = append(found, some...)
		}
	}
	return found
}

// Filter is a condition on a call, checked. A nil Filter wants every call.
type Filter struct {
	Text string
	root *node
}

// Kind is how a field's bytes are to be read.
type Kind uint8

const (
	Unsigned Kind = iota // numbers are 8 bytes, whatever their size in memory
	Signed
	Bool
	Enum
	Pointer
	String // up to the first NUL, or to the end
	Struct // struct, union or array, raw
)

// Filter parses and checks a condition. Its error is an *Error.
func (s *Scope) Filter(text string) (*Filter, error) {
	c := &checker{scope: s, text: text}
	written, err := parse(text, c.isType)
	if err != nil {
		return nil, err
	}
	root, err := c.condition(written)
	if err != nil {
		return nil, err
	}
	return &Filter{Text: text, root: root}, nil
}

// Field parses and checks a value that is to be captured. Its error is an *Error.
func (s *Scope) Field(text string) (*Field, error) {
	c := &checker{scope: s, text: text}
	written, err := parse(text, c.isType)
	if err != nil {
		return nil, err
	}
	o, err := c.operand(written)
	if err != nil {
		return nil, err
	}
	out, err := c.captured(o)
	if err != nil {
		return nil, err
	}
	out.Text, out.AtReturn = text, out.from.atReturn()
	return out, nil
}
