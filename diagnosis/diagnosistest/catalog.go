// SPDX-License-Identifier: Apache-2.0

package diagnosistest

import "github.com/iowitness/iowitness/diagnosis"

// Catalog is a host on which some functions can be probed by some means, and others not.
func Catalog() *diagnosis.Catalog {
	by := func(fexit, kretprobe string) []diagnosis.FunctionMeans {
		all := []diagnosis.FunctionMeans{{ID: "fexit", Reason: fexit}, {ID: "kprobe_multi", Reason: "kprobe_multi is not usable here"}, {ID: "kretprobe", Reason: kretprobe}}
		for i := range all {
			all[i].Verdict = diagnosis.Unusable
			if all[i].Reason == "" {
				all[i].Verdict = diagnosis.Usable
			}
		}
		return all
	}
	const denied = "never probed: it is a spin lock"
	return &diagnosis.Catalog{
		Version: "1.0", Kernel: "6.1.0", Patterns: []string{"x_*"}, Matched: 4, Refused: 1,
		Means: []diagnosis.CatalogMeans{
			{ID: "fexit", Verdict: diagnosis.Usable, Functions: 1},
			{ID: "kprobe_multi", Verdict: diagnosis.Unusable, Reason: "the kernel is built without CONFIG_FPROBE"},
			{ID: "kretprobe", Verdict: diagnosis.Usable, Functions: 3},
		},
		Functions: []diagnosis.Probeable{
			{
				Name: "x_open", Module: "x", Signature: "int x_open(struct file *file)", Arguments: []diagnosis.Typed{{Name: "file", Type: "struct file *"}}, Returns: "int",
				Symbols: []string{"x_open"}, NotSeen: []string{"x_open.part.0"}, Copies: 1, Blacklisted: "off", Traceable: "on", Means: by("", ""),
			},
			{Name: "x_part", Symbols: []string{"x_part.isra.0"}, Changed: true, Copies: 1, Blacklisted: "unknown", Traceable: "on", Means: by("the compiler has changed this one", "")},
			{Name: "x_quiet", Symbols: []string{"x_quiet"}, Copies: 1, Blacklisted: "off", Traceable: "off", Means: by("ftrace cannot witness its entry", "")},
			{Name: "x_lock", Symbols: []string{"x_lock"}, Copies: 1, Denied: "it is a spin lock", Blacklisted: "off", Traceable: "on", Means: []diagnosis.FunctionMeans{
				{ID: "fexit", Verdict: diagnosis.Unusable, Reason: denied}, {ID: "kprobe_multi", Verdict: diagnosis.Unusable, Reason: denied}, {ID: "kretprobe", Verdict: diagnosis.Unusable, Reason: denied},
			}},
		},
		Tracepoints: []diagnosis.Tracepoint{
			{Group: "block", Name: "block_rq_issue", Fields: []diagnosis.RecordField{{Name: "dev", Type: "dev_t", Offset: 8, Size: 4}}, Arguments: []diagnosis.Typed{{Name: "rq", Type: "struct request *"}, {Type: "int"}}},
			{Name: "block_plug"},
		},
		Structs: []diagnosis.Struct{{Function: "x_open", Value: "file", Type: "struct file *", Members: []diagnosis.StructMember{
			{Path: "file->f_pos", Type: "loff_t", Offset: 8}, {Path: "file->f_bit", Type: "unsigned int", Offset: 16, Bits: 3},
		}}},
		Notes: []string{"which functions ftrace knows is not known"},
	}
}

// LockedCatalog is a host on which nothing can be probed.
func LockedCatalog() *diagnosis.Catalog {
	c := Catalog()
	for i := range c.Means {
		c.Means[i] = diagnosis.CatalogMeans{ID: c.Means[i].ID, Verdict: diagnosis.Untried, Reason: "this process lacks CAP_BPF: run it with sudo"}
	}
	for i := range c.Functions {
		for j := range c.Functions[i].Means {
			if m := &c.Functions[i].Means[j]; m.Verdict == diagnosis.Usable {
				m.Verdict, m.Reason = diagnosis.Untried, m.ID+" is not usable here"
			}
		}
	}
	return c
}

// HostileCatalog has names that try to break views.
func HostileCatalog() *diagnosis.Catalog {
	const evil = "\x1b[2J</script>\"\n\xff\u202e"
	return &diagnosis.Catalog{
		Version: evil, Kernel: evil, Patterns: []string{evil}, Matched: 1,
		Means: []diagnosis.CatalogMeans{{ID: "fexit", Verdict: diagnosis.Unusable, Reason: evil}},
		Functions: []diagnosis.Probeable{{
			Name: evil, Module: evil, Signature: evil, Arguments: []diagnosis.Typed{{Name: evil, Type: evil}}, Returns: evil, Symbols: []string{evil + "2"},
			NotSeen: []string{evil}, Changed: true, Blacklisted: "off", Traceable: "on", Denied: evil,
			Means: []diagnosis.FunctionMeans{{ID: "fexit", Verdict: diagnosis.Unusable, Reason: evil}},
		}},
		Tracepoints: []diagnosis.Tracepoint{{Group: evil, Name: evil, Fields: []diagnosis.RecordField{{Name: evil, Type: evil}}, Arguments: []diagnosis.Typed{{Name: evil, Type: evil}}}},
		Structs:     []diagnosis.Struct{{Function: evil, Value: evil, Type: evil, Members: []diagnosis.StructMember{{Path: evil, Type: evil}}}},
		Notes:       []string{evil},
	}
}
