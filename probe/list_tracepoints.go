// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/cilium/ebpf/btf"

	"github.com/iowitness/iowitness/diagnosis"
	"github.com/iowitness/iowitness/kernel"
)

// tracepointPrefix is before the names of the types that tell a tracepoint's arguments.
const tracepointPrefix = "btf_trace_"

// listTracepoints tells those that patterns mean, by tracefs and by type information:
// the former knows groups and records, the latter needs no privileges.
func (c *catalog) listTracepoints() error {
	modules := c.typedTracepoints()
	found, known := c.tracefsEvents()
	if !known {
		for name := range modules {
			found = append(found, diagnosis.Tracepoint{Name: name})
		}
		why := "tracefs cannot be read"
		if c.noTracefs != nil {
			why = c.noTracefs.Error()
		}
		c.out.Notes = append(c.out.Notes, "groups and records of tracepoints are not known ("+why+"): a group is taken for what the name begins with, as block_ is of block")
	}
	c.points = map[string][]string{}
	for _, t := range found {
		c.points[t.Group] = append(c.points[t.Group], t.Name)
		if !c.wantsTracepoint(t, known) {
			continue
		}
		if len(c.patterns) > 0 || c.options.Fields {
			c.describeTracepoint(&t, modules)
		}
		c.out.Tracepoints = append(c.out.Tracepoints, t)
	}
	slices.SortFunc(c.out.Tracepoints, func(a, b diagnosis.Tracepoint) int {
		return cmp.Or(strings.Compare(a.Group, b.Group), strings.Compare(a.Name, b.Name))
	})
	if len(found) == 0 {
		c.out.Notes = append(c.out.Notes, "there is no type information either, so tracepoints cannot be listed")
	}
	return nil
}

// typedTracepoints are those of which the arguments' types are known, with their modules.
func (c *catalog) typedTracepoints() map[string]string {
	all := map[string]string{}
	if !c.names.known {
		return all
	}
	for _, module := range c.names.modules() {
		b := c.names.module(module)
		if b == nil {
			continue
		}
		_ = b.Names(kernel.BTFTypedef, tracepointPrefix, func(name []byte) {
			if short := string(name[len(tracepointPrefix):]); all[short] == "" {
				all[short] = module
			}
		})
	}
	return all
}

// tracefsEvents are the tracepoints that the tracing file system shows, without those
// that users have made of probes.
func (c *catalog) tracefsEvents() (found []diagnosis.Tracepoint, known bool) {
	if c.tracefs == nil {
		return nil, false
	}
	files := c.tracefs.Files()
	groups, err := fs.ReadDir(files, "events")
	if err != nil {
		c.noTracefs = err
		return nil, false
	}
	for _, g := range groups {
		if !g.IsDir() || g.Name() == "ftrace" || strings.HasSuffix(g.Name(), "probes") || g.Name() == "synthetic" {
			continue
		}
		events, _ := fs.ReadDir(files, path.Join("events", g.Name()))
		for _, e := range events {
			if e.IsDir() {
				found = append(found, diagnosis.Tracepoint{Group: g.Name(), Name: e.Name()})
			}
		}
	}
	return found, len(found) > 0
}

func (c *catalog) wantsTracepoint(t diagnosis.Tracepoint, grouped bool) bool {
	if len(c.patterns) == 0 {
		return true
	}
	wanted := false
	for _, p := range c.patterns {
		inGroup := p.Module == "" || p.Module == t.Group || !grouped && strings.HasPrefix(t.Name, p.Module+"_")
		if match, _ := path.Match(p.Glob, t.Name); inGroup && match && (p.Module != "" || c.options.Tracepoints) {
			wanted, c.met[p.Text] = true, true
		}
	}
	return wanted
}

// describeTracepoint tells records' fields and arguments, as far as they can be known.
func (c *catalog) describeTracepoint(t *diagnosis.Tracepoint, modules map[string]string) {
	if t.Group != "" {
		if format, err := c.tracefs.Format(t.Group, t.Name); err == nil {
			for _, f := range format.Fields {
				if !strings.HasPrefix(f.Name, "common_") {
					t.Fields = append(t.Fields, diagnosis.RecordField{Name: f.Name, Type: recordType(f.Type, f.Array), Offset: f.Offset, Size: f.Size})
				}
			}
		} else {
			c.noteOnce(fmt.Sprintf("records of tracepoints cannot be read (%s)", reason(err)))
		}
	}
	module, typed := modules[t.Name]
	if !typed || c.types == nil {
		return
	}
	types := c.types
	if module != "" {
		own, err := c.cache.Module(module)
		if err != nil {
			return
		}
		types = own
	}
	t.Arguments = tracepointArguments(types, t.Name)
}

func recordType(text string, array bool) string {
	if array && !strings.Contains(text, "[") {
		return text + "[]"
	}
	return text
}

func (c *catalog) noteOnce(note string) { c.out.Notes = addOnce(c.out.Notes, note) }

// tracepointArguments are those that the kernel hands to programs: the first
// is the tracer's own.
func tracepointArguments(types *btf.Spec, name string) []diagnosis.Typed {
	var def *btf.Typedef
	if types.TypeByName(tracepointPrefix+name, &def) != nil {
		return nil
	}
	pointer, ok := btf.UnderlyingType(def).(*btf.Pointer)
	if !ok {
		return nil
	}
	proto, ok := btf.UnderlyingType(pointer.Target).(*btf.FuncProto)
	if !ok || len(proto.Params) == 0 {
		return nil
	}
	return typed(proto.Params[1:])
}
