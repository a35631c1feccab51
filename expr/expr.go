// SPDX-License-Identifier: Apache-2.0

// Package expr is the language of filters and fields: what a person writes of a
// kernel function's arguments and result ("size > 4K && comm == \"dd\"") is
// parsed, checked against the kernel's types and compiled into the bodies of
// two BPF subprograms, one for the function's entry, one for its return. It
// loads nothing: types and text in, instructions out.
//
// A C object holds a stub for each body, which Replace exchanges:
//
//	R1  struct call_input *, readable
//	R2  the call's output buffer in map memory, Program.Size bytes (at most MaxOutput)
//	R0  Wanted, Unwanted, or Unreadable
package expr

import (
	"github.com/cilium/ebpf/asm"
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

	inputArgs    = 0  // u64 arg[6], the registers of the first six arguments
	inputRet     = 48 // u64 ret, 0 at entry
	inputLatency = 56 // u64 latency_ns, 0 at entry
	inputTgid    = 64 // u32
	inputTid     = 68 // u32
	inputCPU     = 72 // u32, then four bytes of padding
	inputComm    = 80 // char[16]
)

// Scope is what names mean: a function, and the types of its kernel.
type Scope struct {
	Function *btf.Func // nil: only registers are known
	Types    *btf.Spec // nil: no casts to structs, no constants of enums
}

// Filter is a condition on a call, checked. A nil Filter wants every call.
type Filter struct {
	Text string
}

// Kind is how a field's bytes are to be read.
type Kind uint8

const (
	Unsigned Kind = iota
	Signed
	Bool
	Enum
	Pointer
	String // up to the first NUL, or to the end
	Struct // struct, union or array, raw
)

// Field is a value that is captured of each call.
type Field struct {
	Text     string
	Kind     Kind
	Type     btf.Type // nil where the kernel has no types
	TypeName string   // as C writes it: "struct sock *"
	Size     int      // bytes captured
	AtReturn bool     // depends on ret or latency: is there only after the return
}

// Slot is a field's place in the output buffer.
type Slot struct {
	Field  *Field
	Offset int // bytes
	Bit    int // of the mask at offset 0, set where the field was unreadable
}

// Program is a filter and fields, compiled.
type Program struct {
	Entry, Return asm.Instructions
	Size          int    // bytes used of the output buffer
	Slots         []Slot // one for each field, in their order
	// NeedsReturn tells that the return decides or captures something; if it
	// does not, Return wants every call.
	NeedsReturn bool
}
