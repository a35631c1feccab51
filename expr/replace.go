// SPDX-License-Identifier: Apache-2.0

package expr

import (
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
)

// Replace exchanges the body of the subprogram that is named in a program's
// instructions, as they come from a C object: the subprograms follow the program.
// Calls of it, its symbol, type and first source line stay. Other programs of
// the same object are not touched.
func Replace(spec *ebpf.ProgramSpec, name string, body asm.Instructions) error {
	if len(body) == 0 {
		return fmt.Errorf("replace %s: the new body is empty", name)
	}
	all := spec.Instructions
	start := 0
	for start < len(all) && all[start].Symbol() != name {
		start++
	}
	if start == len(all) {
		return fmt.Errorf("replace %s: %s has no such subprogram", name, spec.Name)
	}
	if start == 0 {
		return fmt.Errorf("replace %s: it is the program itself, no subprogram", name)
	}
	function := btf.FuncMetadata(&all[start])
	end := start + 1
	for end < len(all) && !begins(&all[end], function != nil) {
		end++
	}
	first := body[0].WithSymbol(name)
	if function != nil {
		first = btf.WithFuncMetadata(first, function)
	}
	// Where one subprogram has source lines, kernels want one for the start of each.
	if line := all[start].Source(); line != nil {
		first = first.WithSource(line)
	}
	out := make(asm.Instructions, 0, start+len(body)+len(all)-end)
	out = append(out, all[:start]...)
	out = append(out, first)
	out = append(out, body[1:]...)
	spec.Instructions = append(out, all[end:]...)
	return nil
}

// begins tells whether an instruction is the first of a subprogram. Without
// types there is only its symbol.
func begins(ins *asm.Instruction, typed bool) bool {
	if typed {
		return btf.FuncMetadata(ins) != nil
	}
	return ins.Symbol() != ""
}
