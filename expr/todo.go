// SPDX-License-Identifier: Apache-2.0

package expr

import (
	"errors"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
)

var errNotYet = errors.New("expr: not written yet")

// Filter parses and checks a condition. Its error is an *Error.
func (s *Scope) Filter(text string) (*Filter, error) { return nil, errNotYet }

// Field parses and checks a value that is to be captured. Its error is an *Error.
func (s *Scope) Field(text string) (*Field, error) { return nil, errNotYet }

// Compile makes the two bodies. filter may be nil.
func Compile(filter *Filter, fields []*Field) (*Program, error) { return nil, errNotYet }

// Raw is the slot's bytes in a call's output buffer; false if the field was unreadable.
func (s Slot) Raw(output []byte) ([]byte, bool) { return nil, false }

// Render shows captured bytes: numbers in decimal, enums by name, pointers in
// hex, strings as they are (unquoted), structs as Render does.
func (f *Field) Render(raw []byte) string { return "" }

// Render shows a value of a type from its little-endian bytes, bounded in depth and length.
func Render(t btf.Type, raw []byte) string { return "" }

// Replace exchanges the body of the subprogram that is named in a program's instructions.
func Replace(spec *ebpf.ProgramSpec, name string, body asm.Instructions) error { return errNotYet }
