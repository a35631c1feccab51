// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/cilium/ebpf/btf"

	"github.com/iowitness/iowitness/kernel"
	"github.com/iowitness/iowitness/spelling"
	"github.com/iowitness/iowitness/tracefs"
)

// noFunction is ErrNoFunction in words of its own.
type noFunction struct{ error }

// Unwrap implements errors.Unwrap.
func (n noFunction) Unwrap() []error { return []error{n.error, ErrNoFunction} }

func noneIs(format string, args ...any) error { return noFunction{fmt.Errorf(format, args...)} }

// mostNear is how many names are offered in place of one that does not exist.
const mostNear = 6

// near offers names in brackets; "" where there are none.
func near(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return " (near: " + strings.Join(names[:min(mostNear, len(names))], ", ") + ")"
}

// missing says that there is no function that a pattern means, and what may have been meant.
func (c *CallTargets) missing(p kernel.FunctionPattern) error {
	modules, own := c.modules(p)
	switch {
	case p.Module != "" && p.Module != "vmlinux" && !slices.Contains(modules, p.Module):
		return c.noModule(p, modules, own)
	case p.Module != "" && !p.Exact():
		return noneIs("%s has no function that is called %s", p.Module, p.Glob)
	case !p.Exact():
		return noneIs("no function here is called %s", p.Glob)
	}
	why := "this kernel has no such function, or the compiler has inlined it"
	if c.types != nil {
		var f *btf.Func
		if c.types.TypeByName(p.Glob, &f) == nil {
			why = "its source has it, but the compiler has inlined it everywhere, or it is freed after boot"
		}
	}
	return fmt.Errorf("%s %w: %s%s", p.Text, ErrNoFunction, why, near(kernel.NearFunctions(c.root, p.Glob, mostNear)))
}

// modules are those that have functions here. own are the kernel's own functions that a pattern of a
// module may mean where that is built in, as a pattern; "": there are none.
func (c *CallTargets) modules(p kernel.FunctionPattern) (names []string, own string) {
	seen := map[string]bool{}
	same := kernel.FunctionPattern{Text: p.Glob, Glob: p.Glob}
	prefix := p.Module + "_"
	_, _ = kernel.ListFunctions(c.root, func(f kernel.FunctionSymbol) bool {
		switch {
		case f.Module != "":
			seen[f.Module] = true
		case tooWide(same) == "" && same.Match(f):
			own = p.Glob
		case own == "" && strings.HasPrefix(f.Name, prefix):
			own = prefix + "*"
		}
		return false
	})
	return slices.Sorted(maps.Keys(seen)), own
}

// noModule says that a pattern is of a module that is not there.
func (c *CallTargets) noModule(p kernel.FunctionPattern, modules []string, own string) error {
	var instead []string
	if own != "" {
		instead = append(instead, byName(own))
	}
	if isGroup(c.root, p.Module) {
		instead = append(instead, fmt.Sprintf("iowitness list '%s:*' shows tracepoints of that group", p.Module))
	}
	if len(instead) > 0 {
		return noneIs("no module that is called %s is loaded: %s", p.Module, strings.Join(instead, "; "))
	}
	return noneIs("no module that is called %s is loaded%s", p.Module, near(spelling.Near(p.Module, modules)))
}

// byName says how functions are asked for that are no module's.
func byName(own string) string {
	return fmt.Sprintf("functions of the kernel itself go by their names, such as '%s'", own)
}

// noteBuiltIn says why only tracepoints are listed of what may be taken for a module.
func (c *catalog) noteBuiltIn(functions []*listed) {
	for _, p := range c.patterns {
		isOf := func(f *listed) bool { return f.Module == p.Module }
		if p.Module == "" || slices.ContainsFunc(functions, isOf) {
			continue
		}
		if _, own := c.modules(p); own != "" {
			c.noteOnce(fmt.Sprintf("no module that is called %s is loaded: %s", p.Module, byName(own)))
		}
	}
}

// isGroup says whether there are tracepoints of a group.
func isGroup(root, name string) bool {
	t, err := tracefs.Open(root)
	if err != nil {
		return false
	}
	defer t.Close()
	info, err := fs.Stat(t.Files(), "events/"+name)
	return err == nil && info.IsDir()
}

// missing says of what is listed that there is no such thing: tracepoints too may have been meant.
func (c *catalog) missing(p kernel.FunctionPattern) error {
	modules, own := c.modules(p)
	points := c.points[p.Module]
	switch {
	case c.options.Tracepoints && p.Module == "":
		return noneIs("no tracepoint is called %s%s", p.Glob, near(spelling.Near(p.Glob, slices.Concat(slices.Collect(maps.Values(c.points))...))))
	case len(points) > 0 && !c.options.Tracepoints && own == p.Glob:
		return noneIs("no tracepoint of the group %s is called %s, and no module of that name is loaded: %s", p.Module, p.Glob, byName(own))
	case len(points) > 0:
		return noneIs("no tracepoint of the group %s is called %s%s", p.Module, p.Glob, near(spelling.Near(p.Glob, points)))
	case c.options.Tracepoints:
		return noneIs("there is no group of tracepoints that is called %s%s", p.Module, near(spelling.Near(p.Module, slices.Collect(maps.Keys(c.points)))))
	case p.Module == "" || p.Module == "vmlinux" || own != "" || slices.Contains(modules, p.Module):
		return c.CallTargets.missing(p)
	}
	known := slices.Concat(modules, slices.Collect(maps.Keys(c.points)))
	return noneIs("there is no module and no group of tracepoints that is called %s%s", p.Module, near(spelling.Near(p.Module, known)))
}
