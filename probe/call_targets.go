// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"

	"github.com/iowitness/iowitness/expr"
	"github.com/iowitness/iowitness/kernel"
)

// ErrNoFunction is wrapped by errors that say that a function does not exist, or must not be probed.
var ErrNoFunction = errors.New("cannot be witnessed")

// CallTarget is a function whose calls are witnessed.
type CallTarget struct {
	Name    string // as its source has it
	Module  string // "": the kernel itself
	Symbols []string
	Func    *btf.Func // nil: its types are not known
	Types   *btf.Spec // of the kernel or the module; nil: not known
	Base    *btf.Spec // of the kernel, where Types are a module's; else nil
	Root    bool      // with CallOptions.Inside: only calls within its own are witnessed
	Changed string    // how its arguments may differ from the source's; "": not

	Program *expr.Program // its filter and fields; nil: none
}

// Scope is what names mean in the function's filters and fields.
func (t *CallTarget) Scope() *expr.Scope {
	if t.Changed != "" {
		return &expr.Scope{Types: t.Types, Base: t.Base}
	}
	return &expr.Scope{Function: t.Func, Types: t.Types, Base: t.Base}
}

// arguments is how many the function has; 0 where that is not known.
func (t *CallTarget) arguments() int {
	if t.Func == nil {
		return 0
	}
	return len(t.Func.Type.(*btf.FuncProto).Params)
}

// Arguments are the names of the function's first six arguments; none where they are not known.
func (t *CallTarget) Arguments() (names []string) {
	if t.Func == nil || t.Changed != "" {
		return nil
	}
	for i, p := range t.Func.Type.(*btf.FuncProto).Params {
		if i < mostArguments && p.Name != "" {
			names = append(names, p.Name)
		}
	}
	return names
}

// mostArguments are those that come in registers: CALL_ARGS of bpf/abi.h.
const mostArguments = 6

// Returns says whether the function has a result.
func (t *CallTarget) Returns() bool {
	if t.Func == nil {
		return true
	}
	_, void := btf.UnderlyingType(t.Func.Type.(*btf.FuncProto).Return).(*btf.Void)
	return !void
}

// resultBytes is how much of the function's result may be an error: 8 or 4 bytes, or 0.
func (t *CallTarget) resultBytes() int {
	if t.Func == nil {
		return 8
	}
	switch r := btf.UnderlyingType(t.Func.Type.(*btf.FuncProto).Return).(type) {
	case *btf.Pointer:
		return 8
	case *btf.Int:
		if r.Encoding == btf.Signed && (r.Size == 4 || r.Size == 8) {
			return int(r.Size)
		}
	}
	return 0
}

// CallTargets finds functions by what a person writes for them.
type CallTargets struct {
	root  string
	cache *btf.Cache
	types *btf.Spec // nil: none
}

// MostFunctions bounds how many functions are witnessed at once.
const MostFunctions = 2000

// NewCallTargets reads the kernel's types, from a file if it does not offer its own.
func NewCallTargets(btfFile string) (*CallTargets, error) {
	c := &CallTargets{root: "/", cache: btf.NewCache()}
	if btfFile != "" {
		types, _, err := kernelBTF(btfFile)
		c.types = types
		return c, err
	}
	c.types, _ = c.cache.Kernel()
	return c, nil
}

// Find gives the functions that patterns mean, sorted by name. Errors that wrap
// ErrNoFunction say in a sentence which is not there, or must not be probed, and what is near.
// What a glob means but must not be probed is left out and counted.
func (c *CallTargets) Find(patterns []string) (targets []*CallTarget, denied int, err error) {
	parsed := make([]kernel.FunctionPattern, len(patterns))
	for i, text := range patterns {
		if parsed[i], err = kernel.ParseFunctionPattern(text); err != nil {
			return nil, 0, noFunction{err}
		}
		if why := tooWide(parsed[i]); why != "" {
			return nil, 0, fmt.Errorf("%q %w: %s", text, ErrNoFunction, why)
		}
	}
	met := make([]int, len(parsed))
	byName := map[string]*CallTarget{}
	seen := map[string]bool{}
	var refused error
	_, err = kernel.ListFunctions(c.root, func(f kernel.FunctionSymbol) bool {
		for i, p := range parsed {
			if !p.Match(f) {
				continue
			}
			met[i]++
			if reason, no := Denied(f.Name); no {
				if p.Exact() && refused == nil {
					refused = fmt.Errorf("%s %w: %s", p.Glob, ErrNoFunction, reason)
				}
				denied++
				continue
			}
			c.add(byName, seen, f, p.Exact())
		}
		return false
	})
	if err != nil {
		return nil, 0, err
	}
	for i, p := range parsed {
		if met[i] == 0 {
			return nil, 0, c.missing(p)
		}
	}
	if refused != nil {
		return nil, 0, refused
	}
	if len(byName) > MostFunctions {
		return nil, 0, fmt.Errorf("%d functions are more than the %d that are witnessed at once: %w; write a narrower pattern", len(byName), MostFunctions, ErrNoFunction)
	}
	for _, t := range byName {
		targets = append(targets, t)
	}
	if len(targets) == 0 {
		return nil, denied, fmt.Errorf("%s %w: all %d functions so named are on paths that are never probed (see: iowitness list)", strings.Join(patterns, ", "), ErrNoFunction, denied)
	}
	slices.SortFunc(targets, func(a, b *CallTarget) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Module, b.Module))
	})
	return targets, denied, nil
}

// tooWide refuses patterns that mean the kernel as a whole.
func tooWide(p kernel.FunctionPattern) string {
	if p.Module == "" && strings.Trim(p.Glob, "*?") == "" {
		return "all functions of the kernel would be probed, which stops the machine: name a module (ext4:*) or a prefix (tcp_*)"
	}
	return ""
}

// add takes a symbol in. Of a function with its own name, changed copies are left out.
func (c *CallTargets) add(targets map[string]*CallTarget, seen map[string]bool, f kernel.FunctionSymbol, exact bool) {
	base := kernel.BaseName(f.Name)
	key := f.Module + ":" + base
	if seen[f.Module+":"+f.Name] {
		return
	}
	seen[f.Module+":"+f.Name] = true
	t := targets[key]
	switch {
	case t == nil:
		t = &CallTarget{Name: base, Module: f.Module, Symbols: []string{f.Name}}
		targets[key] = t
		c.describe(t)
	case f.Name == base:
		t.Symbols, t.Changed = []string{f.Name}, ""
		return
	case slices.Contains(t.Symbols, base):
		return
	default:
		t.Symbols = append(t.Symbols, f.Name)
	}
	if f.Name != base {
		t.Changed = cmp.Or(changedBy(f.Name), t.Changed)
	}
}

// changedBy says what a symbol's suffix means for the function's arguments; "": nothing.
func changedBy(symbol string) string {
	for _, made := range []string{".isra.", ".constprop.", ".part."} {
		if strings.Contains(symbol, made) {
			return symbol + " is what the compiler made of it: its arguments may be changed"
		}
	}
	return ""
}

// describe finds a function's types.
func (c *CallTargets) describe(t *CallTarget) {
	t.Types = c.types
	if t.Module != "" && c.types != nil {
		if own, err := c.cache.Module(t.Module); err == nil {
			t.Types, t.Base = own, c.types
		}
	}
	if t.Types == nil {
		return
	}
	var f *btf.Func
	if t.Types.TypeByName(t.Name, &f) == nil {
		t.Func = f
	}
}

// collectionOptions share the kernel's types between loads.
func (c *CallTargets) collectionOptions(maps map[string]*ebpf.Map) ebpf.CollectionOptions {
	return ebpf.CollectionOptions{Cache: c.cache, MapReplacements: maps, Programs: ebpf.ProgramOptions{KernelTypes: c.types}}
}

// IsProbesOwn says whether a frame of a stack is one of the probe that took it.
func IsProbesOwn(frame string) bool {
	for _, prefix := range []string{"bpf_", "0x", "kretprobe_", "__kretprobe_", "arch_rethook_", "rethook_", "fprobe_", "return_to_handler", "ftrace_", "trampoline_", "kprobe_", "aggr_"} {
		if strings.HasPrefix(frame, prefix) {
			return true
		}
	}
	return false
}
