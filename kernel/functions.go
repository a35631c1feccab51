// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/iowitness/iowitness/spelling"
)

// FunctionSymbol is a function of the kernel or of a module that is loaded.
type FunctionSymbol struct {
	Name   string
	Module string // "": the kernel itself
}

// FunctionPattern is what a person writes for functions: "tcp_sendmsg", "ext4_*",
// "ext4:*" for those of a module.
type FunctionPattern struct {
	Text   string
	Module string // "": the kernel's and all modules'
	Glob   string
}

// ParseFunctionPattern reads a pattern.
func ParseFunctionPattern(text string) (p FunctionPattern, err error) {
	p = FunctionPattern{Text: text, Glob: text}
	if module, glob, found := strings.Cut(text, ":"); found {
		p.Module, p.Glob = module, glob
	}
	if _, err := path.Match(p.Glob, ""); err != nil || p.Glob == "" || strings.Contains(p.Glob, "/") {
		return p, fmt.Errorf("%q is no name or pattern of functions: write tcp_sendmsg, 'ext4_*' or 'ext4:*'", text)
	}
	return p, nil
}

// Exact says that the pattern names one function.
func (p FunctionPattern) Exact() bool { return !strings.ContainsAny(p.Glob, "*?[\\") }

// Match says whether a function is meant: by its own name, or by what it was called
// before the compiler changed it.
func (p FunctionPattern) Match(f FunctionSymbol) bool {
	if p.Module != "" && p.Module != f.Module && (p.Module != "vmlinux" || f.Module != "") {
		return false
	}
	if p.Exact() {
		return f.Name == p.Glob || BaseName(f.Name) == p.Glob && !strings.Contains(f.Name, ".cold")
	}
	match, _ := path.Match(p.Glob, f.Name)
	return match
}

// ListFunctions gives all functions in proc/kallsyms below root for which keep is
// true, in the order of their addresses. Errors: ErrNoSymbols, or that of the file.
func ListFunctions(root string, keep func(FunctionSymbol) bool) ([]FunctionSymbol, error) {
	f, err := os.Open(filepath.Join(root, "proc/kallsyms"))
	if err != nil {
		return nil, fmt.Errorf("the kernel's functions cannot be looked up: %w", err)
	}
	defer f.Close()
	var found []FunctionSymbol
	any := false
	if err := eachLine(f, func(line []byte) {
		s, ok := cutSymbol(line)
		if !ok {
			return
		}
		any = true
		module := string(s.module)
		if module == "bpf" || strings.HasPrefix(module, "__builtin__") {
			return // made at run time: BPF programs and trampolines
		}
		if fn := (FunctionSymbol{string(s.name), module}); keep(fn) {
			found = append(found, fn)
		}
	}); err != nil {
		return nil, fmt.Errorf("the kernel's functions cannot be looked up: %w", err)
	}
	if !any {
		return nil, ErrNoSymbols
	}
	return found, nil
}

// NearFunctions are the functions whose names are most like one that does not exist.
func NearFunctions(root, name string, most int) []string {
	type near struct {
		name  string
		apart int
	}
	var best []near
	seen := map[string]bool{}
	_, _ = ListFunctions(root, func(f FunctionSymbol) bool {
		base := BaseName(f.Name)
		if seen[base] {
			return false
		}
		if d := apart(name, base, max(len(name)/3, 2)); d >= 0 {
			seen[base] = true
			best = append(best, near{base, d})
		}
		return false
	})
	slices.SortStableFunc(best, func(a, b near) int { return a.apart - b.apart })
	names := make([]string, 0, most)
	for _, n := range best[:min(most, len(best))] {
		names = append(names, n.name)
	}
	return names
}

// apart is the number of letters that differ between names, or -1 if it is more than
// most. A name that holds the other is near.
func apart(a, b string, most int) int {
	if len(a) > 3 && strings.Contains(b, a) {
		return 1
	}
	if d := len(a) - len(b); d > most || -d > most {
		return -1
	}
	if d := spelling.Apart(a, b); d <= most {
		return d
	}
	return -1
}
