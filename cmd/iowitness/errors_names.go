// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/iowitness/iowitness/failure"
	"github.com/iowitness/iowitness/kernel"
	"github.com/iowitness/iowitness/probe"
)

// errorsNames resolve what the kernel side tells of failures by number.
type errorsNames struct {
	witness *probe.Calls
	symbols *kernel.Symbols // nil: not known
	stacks  map[uint64][]failure.Frame
}

// Function is a function's name by its number.
func (n *errorsNames) Function(number uint32) string {
	if targets := n.witness.Targets(); int(number) < len(targets) && targets[number] != nil {
		return targets[number].Name
	}
	return fmt.Sprintf("function %d", number)
}

// Syscall is a system call's name; those of 32-bit programs have other numbers, and no table here.
func (n *errorsNames) Syscall(number uint32, compat bool) string {
	if compat {
		return fmt.Sprintf("32-bit call %d", number)
	}
	if name := kernel.SyscallName(int32(number)); name != "" {
		return name
	}
	return fmt.Sprintf("system call %d", int32(number))
}

// Arguments are the names of a system call's, and which of them are paths.
func (n *errorsNames) Arguments(number uint32, compat bool) (names []string, paths [2]int) {
	if compat {
		return nil, paths
	}
	names, _ = kernel.SyscallArguments(int32(number))
	paths[0], paths[1] = kernel.PathArguments(int32(number))
	return names, paths
}

// mostStacks bounds the stacks that are remembered.
const mostStacks = 4096

// Frames are a stack's callers, without the frames of probes and of the entry to the kernel.
func (n *errorsNames) Frames(key uint64) []failure.Frame {
	if key == 0 || n.symbols == nil {
		return nil
	}
	if frames, known := n.stacks[key]; known {
		return frames
	}
	if len(n.stacks) >= mostStacks || n.stacks == nil {
		n.stacks = map[uint64][]failure.Frame{}
	}
	frames := n.frames(n.witness.Stack(key))
	n.stacks[key] = frames
	return frames
}

// Where a call may lead, by the function's begin: some kernels account for calls in the padding
// before it (CONFIG_CALL_THUNKS), and a direct call may leave out the mark of indirect ones (ENDBR64).
const (
	paddingBytes = 16
	markBytes    = 4
)

// Begins is the function that a call of an address calls.
func (n *errorsNames) Begins(address uint64) string {
	if n.symbols == nil {
		return ""
	}
	if name, offset, ok := n.symbols.Lookup(address); ok && offset <= markBytes {
		return kernel.BaseName(name)
	}
	if name, offset, ok := n.symbols.Lookup(address + paddingBytes); ok && offset < paddingBytes {
		return kernel.BaseName(name)
	}
	return ""
}

// OfProbe says whether at an address there is a probe's own code.
func (n *errorsNames) OfProbe(address uint64) bool {
	if n.symbols == nil || address == 0 {
		return false
	}
	name, _, ok := n.symbols.Lookup(address)
	return ok && probe.IsProbesOwn(name)
}

func (n *errorsNames) frames(stack []uint64) (frames []failure.Frame) {
	own := false
	for _, address := range stack {
		// To which is returned: the byte before it belongs to the caller even where the call was its last.
		name, _, ok := n.symbols.Lookup(address - 1)
		if !ok || probe.IsProbesOwn(name) {
			own = true
			continue
		}
		// A trampoline is called at a function's begin, and calls the function: it is there twice.
		if own && len(frames) > 0 && frames[len(frames)-1].Function == kernel.BaseName(name) {
			own = false
			continue
		}
		own = false
		if isEntry(name) {
			break
		}
		frames = append(frames, failure.Frame{Address: address, Function: kernel.BaseName(name)})
	}
	return frames
}

// entries are where a system call comes into the kernel, of which nobody needs to be told.
var entries = []string{"do_syscall_64", "x64_sys_call", "do_int80", "__do_fast_syscall_32", "do_fast_syscall_32", "entry_", "ret_from_fork"}

func isEntry(name string) bool {
	return slices.ContainsFunc(entries, func(e string) bool { return strings.HasPrefix(name, e) })
}
