// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"errors"
	"sort"
	"strings"
	"unsafe"
)

// ErrRestricted tells that the kernel shows symbols, but not their addresses.
var ErrRestricted = errors.New("the kernel hides the addresses of its symbols, so causes of waits cannot be told, only totals: " +
	"run iowitness as root (CAP_SYSLOG) with kernel.kptr_restrict at 0 or 1 (sysctl kernel.kptr_restrict=1)")

// ErrNoSymbols tells that the list of kernel symbols is empty.
var ErrNoSymbols = errors.New("the kernel lists no symbols of its functions (is it built without CONFIG_KALLSYMS?), " +
	"so causes of waits cannot be told, only totals")

// Symbols are the kernel's functions, those of modules and BPF programs
// included, as they were at loading. Once loaded it is only read: any number
// of goroutines may use it. Twelve bytes a symbol and its name, in three
// allocations without pointers, so the garbage collector never walks it.
type Symbols struct {
	addresses []uint64 // ascending; aliases follow each other in the kernel's order
	names     []uint32 // for each address, where its name begins in text
	text      []byte   // names, each ended by a zero byte
}

// Len is the number of symbols.
func (s *Symbols) Len() int { return len(s.addresses) }

// Lookup names the function that holds an address, and how far into it, in
// bytes. Of names for one address it gives the first, as the kernel does.
func (s *Symbols) Lookup(address uint64) (name string, offset uint64, ok bool) {
	after := sort.Search(len(s.addresses), func(i int) bool { return s.addresses[i] > address })
	if after == 0 {
		return "", 0, false
	}
	start := s.addresses[after-1]
	if address-start > maxFunctionBytes {
		return "", 0, false // beyond the last function of its region: a guess would be a lie
	}
	first := sort.Search(after, func(i int) bool { return s.addresses[i] >= start })
	return s.name(first), address - start, true
}

// maxFunctionBytes bounds how far an address may lie from the symbol before it.
const maxFunctionBytes = 1 << 18

// Address is where the function of that exact name begins. It scans all names
// (about a millisecond): meant for a few names at start.
func (s *Symbols) Address(name string) (uint64, bool) {
	for i := range s.names {
		if s.name(i) == name {
			return s.addresses[i], true
		}
	}
	return 0, false
}

// name shares the text's memory, which is never written after loading.
func (s *Symbols) name(i int) string {
	from := s.names[i]
	to := from
	for s.text[to] != 0 {
		to++
	}
	return unsafe.String(unsafe.SliceData(s.text[from:]), int(to-from))
}

// sort brings symbols in order; a vmlinux comes sorted, modules do not.
func (s *Symbols) sort() {
	if !sort.IsSorted(byAddress{s}) {
		sort.Sort(byAddress{s})
	}
}

type byAddress struct{ *Symbols }

func (b byAddress) Less(i, j int) bool {
	if b.addresses[i] != b.addresses[j] {
		return b.addresses[i] < b.addresses[j]
	}
	return b.names[i] < b.names[j] // the kernel's order
}

func (b byAddress) Swap(i, j int) {
	b.addresses[i], b.addresses[j] = b.addresses[j], b.addresses[i]
	b.names[i], b.names[j] = b.names[j], b.names[i]
}

// BaseName takes off what compilers append to the name of a function that
// they split or changed: .isra.N .constprop.N .part.N .cold .llvm.N, in any
// combination.
func BaseName(name string) string {
	for {
		shorter := strings.TrimSuffix(name, ".cold")
		if stem, number := cutLast(shorter); isDecimal(number) {
			for _, suffix := range [...]string{".isra", ".constprop", ".part", ".cold", ".llvm"} {
				if base, found := strings.CutSuffix(stem, suffix); found {
					shorter = base
					break
				}
			}
		}
		if shorter == name || shorter == "" {
			return name
		}
		name = shorter
	}
}

func cutLast(name string) (before, after string) {
	at := strings.LastIndexByte(name, '.')
	if at < 0 {
		return name, ""
	}
	return name[:at], name[at+1:]
}

func isDecimal(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}
