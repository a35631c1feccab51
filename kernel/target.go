// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Target is what the kernel's symbols say of one function that is to be probed.
type Target struct {
	Name  string         // as it was asked for
	Found []TargetSymbol // of that name, then what the compiler made of it; the kernel's before its modules'
}

// TargetSymbol is a symbol by which a function, or a changed copy of it, is known.
type TargetSymbol struct {
	Name   string
	Module string // "": the kernel itself
	Copies int    // functions of that name in the same place; a probe by name cannot tell them apart
}

// changed says that compilers may have changed the arguments on the way: LTO's
// .llvm.N only names a function anew.
func (s TargetSymbol) changed() bool {
	return strings.Contains(s.Name, ".isra.") || strings.Contains(s.Name, ".constprop.") || strings.Contains(s.Name, ".part.")
}

// Taken are the symbols to probe: that of the exact name if there is one, the
// kernel's before its modules'; else all that the compiler made of the function.
func (t Target) Taken() []TargetSymbol {
	exact := 0
	for exact < len(t.Found) && t.Found[exact].Name == t.Name {
		exact++
	}
	switch {
	case exact == 0:
		return t.Found
	case t.Found[0].Module == "":
		return t.Found[:1]
	}
	return t.Found[:exact]
}

// Left are the symbols found that Taken leaves out: what runs by them is not seen.
func (t Target) Left() []TargetSymbol { return t.Found[len(t.Taken()):] }

// ArgumentsChanged says that a symbol taken may get other arguments than the source says.
func (t Target) ArgumentsChanged() bool { return slices.ContainsFunc(t.Taken(), TargetSymbol.changed) }

// Ambiguous says that a symbol taken names more than one function.
func (t Target) Ambiguous() bool {
	return slices.ContainsFunc(t.Taken(), func(s TargetSymbol) bool { return s.Copies > 1 })
}

// Sentence tells what was found where that is more or less than the name itself; else "".
func (t Target) Sentence() string {
	taken := t.Taken()
	var parts []string
	switch {
	case len(taken) == 0:
		return "no such function in the symbols: this kernel does not have it, or the compiler has inlined it everywhere"
	case taken[0].Name != t.Name:
		parts = append(parts, fmt.Sprintf("taken as %s, which the compiler made of it", joinSymbols(taken)))
	case taken[0].Module != "":
		parts = append(parts, "in module "+taken[0].Module)
	}
	if t.ArgumentsChanged() {
		parts = append(parts, "its arguments may be changed")
	}
	for _, s := range taken {
		if s.Copies > 1 {
			parts = append(parts, fmt.Sprintf("%d functions are called %s", s.Copies, s.Name))
		}
	}
	if left := t.Left(); len(left) > 0 {
		parts = append(parts, "what runs by "+joinSymbols(left)+" is not seen")
	}
	return strings.Join(parts, "; ")
}

func joinSymbols(symbols []TargetSymbol) string {
	names := make([]string, len(symbols))
	for i, s := range symbols {
		names[i] = s.Name
		if s.Module != "" {
			names[i] += " [" + s.Module + "]"
		}
	}
	return strings.Join(names, ", ")
}

// FindTargets looks functions up in proc/kallsyms below root, in the order of
// names. It keeps nothing of the other symbols, and needs no addresses.
// Errors: ErrNoSymbols, or that of the file.
func FindTargets(root string, names []string) ([]Target, error) {
	f, err := os.Open(filepath.Join(root, "proc/kallsyms"))
	if err != nil {
		return nil, fmt.Errorf("the kernel's functions cannot be looked up: %w", err)
	}
	defer f.Close()
	return ParseTargets(f, names)
}

// ParseTargets looks functions up in lines as ParseSymbols takes them.
func ParseTargets(r io.Reader, names []string) ([]Target, error) {
	f := targetFinder{wanted: make(map[string][]TargetSymbol, len(names))}
	for _, name := range names {
		f.wanted[name] = nil
	}
	if err := eachLine(r, f.line); err != nil {
		return nil, fmt.Errorf("the kernel's functions cannot be looked up: %w", err)
	}
	if !f.any {
		return nil, ErrNoSymbols
	}
	targets := make([]Target, len(names))
	for i, name := range names {
		found := slices.Clone(f.wanted[name])
		slices.SortFunc(found, func(a, b TargetSymbol) int {
			return cmp.Or(rank(a, name)-rank(b, name), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Module, b.Module))
		})
		targets[i] = Target{Name: name, Found: found}
	}
	return targets, nil
}

func rank(s TargetSymbol, name string) int {
	n := 0
	if s.Name != name {
		n += 2
	}
	if s.Module != "" {
		n++
	}
	return n
}

type targetFinder struct {
	wanted map[string][]TargetSymbol // by the name asked for
	any    bool
}

func (f *targetFinder) line(line []byte) {
	s, ok := cutSymbol(line)
	if !ok {
		return
	}
	f.any = true
	stem, suffix, varied := bytes.Cut(s.name, []byte{'.'})
	if _, wanted := f.wanted[string(s.name)]; wanted {
		f.add(string(s.name), s)
	}
	if _, wanted := f.wanted[string(stem)]; wanted && varied && isWholeVariant(string(stem), string(suffix)) {
		f.add(string(stem), s)
	}
}

// isWholeVariant leaves out the cold part of a function, which no call enters.
func isWholeVariant(stem, suffix string) bool {
	return BaseName(stem+"."+suffix) == stem && !slices.Contains(strings.Split(suffix, "."), "cold")
}

func (f *targetFinder) add(wanted string, s symbolLine) {
	module := string(s.module)
	if module == "bpf" || strings.HasPrefix(module, "__builtin__") {
		return // made at run time: BPF programs and trampolines
	}
	for i := range f.wanted[wanted] {
		if have := &f.wanted[wanted][i]; have.Name == string(s.name) && have.Module == module {
			have.Copies++
			return
		}
	}
	f.wanted[wanted] = append(f.wanted[wanted], TargetSymbol{Name: string(s.name), Module: module, Copies: 1})
}

// SymbolsShown says whether proc/kallsyms below root shows the addresses of
// functions to this process. Data may come first, whose addresses look hidden.
func SymbolsShown(root string) bool {
	f, err := os.Open(filepath.Join(root, "proc/kallsyms"))
	if err != nil {
		return false
	}
	defer f.Close()
	shown := false
	_ = eachLine(io.LimitReader(f, 1<<20), func(line []byte) {
		s, ok := cutSymbol(line)
		shown = shown || ok && s.address != 0
	})
	return shown
}
