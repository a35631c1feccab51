// SPDX-License-Identifier: Apache-2.0

// Package symbol names addresses in processes: by ELF symbols, the tables of Go programs, the
// maps that compilers at run time leave, and the vdso. What is learned of a process serves after
// its end. Where no symbol covers an address none is told: then module, address in the module's
// file and build id say what another tool needs to name it.
package symbol

import (
	"strconv"
	"strings"
)

// Kind says what sort of code a frame is in.
type Kind uint8

// The kinds of code.
const (
	Unknown Kind = iota // in no mapping that is known
	Kernel
	User // in a mapped file, the vdso, or memory of no file
	JIT  // made at run time and named by a perf map
)

func (k Kind) String() string {
	return [...]string{"unknown", "kernel", "user", "jit"}[k&3]
}

// Frame is one call of a stack. Strings are as found, in any bytes: views quote them.
type Frame struct {
	Name    string // demangled; empty: no symbol covers the address
	Module  string // base name of the mapped file, [kernel], [vdso], [anon], [jit]; empty: not known
	Path    string // of the mapped file as the process sees it; empty if there is none
	Offset  uint64 // into the symbol, in bytes
	Address uint64 // in the process
	Virtual uint64 // in the module as its file numbers addresses, which is what addr2line takes; 0: not known
	BuildID string // of the module, in hexadecimal: GNU's, or else a hash of Go's; empty: it has none
	Kind    Kind
}

// Label is the frame in one word: the symbol, or the module and the address in it, or the bare
// address. It never takes a symbol nearby.
func (f *Frame) Label() string {
	switch {
	case f.Name != "":
		return f.Name
	case f.Module != "" && f.Virtual != 0:
		return f.Module + "+0x" + strconv.FormatUint(f.Virtual, 16)
	case f.Module != "":
		return f.Module
	}
	return "0x" + strconv.FormatUint(f.Address, 16)
}

// KernelFrame is a frame of the kernel. A symbol as /proc/kallsyms has it may end in its module:
// "ext4_sync_file\t[ext4]". An empty name is an address without a symbol.
func KernelFrame(name string, offset, address uint64) Frame {
	name, module, found := strings.Cut(name, "\t")
	if !found {
		module = "[kernel]"
	}
	return Frame{Name: name, Module: module, Offset: offset, Address: address, Kind: Kernel}
}
