// SPDX-License-Identifier: Apache-2.0

// Package call turns counted and single calls of kernel functions into rows, lines
// and trees. Values in, values out.
package call

import (
	"encoding/binary"
	"fmt"

	"github.com/cilium/ebpf/btf"
	"golang.org/x/sys/unix"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/expr"
)

// Function is one whose calls are witnessed.
type Function struct {
	Name   string
	Module string        // "": the kernel itself
	Fields *expr.Program // what is captured of each call; nil: nothing
	Result *expr.Field   // how what it returns is read; nil: it returns nothing
}

// Value is a field of a call.
type Value struct {
	Name string
	Text string
	Read bool // else it could not be read
}

// Values are the fields of a call, in the order in which they were asked for.
func (f *Function) Values(out []byte) []Value {
	if f.Fields == nil {
		return nil
	}
	values := make([]Value, 0, len(f.Fields.Slots))
	for _, slot := range f.Fields.Slots {
		v := Value{Name: slot.Field.Text}
		var raw []byte
		if raw, v.Read = slot.Raw(out); v.Read {
			v.Text = f.text(slot.Field, raw)
		}
		values = append(values, v)
	}
	return values
}

// mostErrno is the largest number that the kernel returns as an error.
const mostErrno = 4095

// ErrorOf is the error that a function's result stands for; 0: none.
func ErrorOf(ret uint64) unix.Errno {
	if n := -int64(ret); n > 0 && n <= mostErrno {
		return unix.Errno(n)
	}
	return 0
}

// result is what a function returned, as 64 bits: of a narrower type, the upper part of
// the register may be anything.
func (f *Function) result(ret uint64) uint64 {
	size, err := btf.Sizeof(f.Result.Type)
	if f.Result.Type == nil || err != nil || size <= 0 || size >= 8 {
		return ret
	}
	shift := 64 - 8*size
	if f.Result.Kind == expr.Signed {
		return uint64(int64(ret<<shift) >> shift)
	}
	return ret << shift >> shift
}

// Error is the error that a call of the function returned; 0: none.
func (f *Function) Error(ret uint64) unix.Errno {
	if f.Result == nil || f.Result.Type != nil && f.Result.Kind != expr.Signed && f.Result.Kind != expr.Pointer {
		return 0
	}
	return ErrorOf(f.result(ret))
}

// ResultText is what a call returned: an error by its name.
func (f *Function) ResultText(ret uint64) string {
	if f.Result == nil {
		return ""
	}
	if name := unix.ErrnoName(f.Error(ret)); name != "" {
		return "-" + name
	}
	return f.Result.Render(binary.LittleEndian.AppendUint64(nil, f.result(ret)))
}

// text is a field as it was captured: the result as ResultText has it.
func (f *Function) text(field *expr.Field, raw []byte) string {
	if field.Text == "ret" && f.Result != nil && len(raw) >= 8 {
		return f.ResultText(binary.LittleEndian.Uint64(raw))
	}
	return field.Render(raw)
}

// Title is the function's name, with its module where it has one.
func (f *Function) Title() string {
	if f.Module == "" {
		return f.Name
	}
	return f.Name + " [" + f.Module + "]"
}

// Functions are all that are witnessed, by number.
type Functions []*Function

// Of is the function of a call; one that is not known has its number for a name.
func (fs Functions) Of(number uint32) *Function {
	if int(number) < len(fs) && fs[number] != nil {
		return fs[number]
	}
	return &Function{Name: fmt.Sprintf("function %d", number)}
}

// Line is a single call, ready to be shown.
type Line struct {
	Call     *event.Call
	Function *Function
	Values   []Value
	Result   string
	Stack    []string // innermost first; nil: none
}

// LineOf decodes a call.
func (fs Functions) LineOf(c *event.Call) Line {
	f := fs.Of(c.Function)
	return Line{Call: c, Function: f, Values: f.Values(c.Out), Result: f.ResultText(c.Ret)}
}
