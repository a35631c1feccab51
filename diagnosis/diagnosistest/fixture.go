// SPDX-License-Identifier: Apache-2.0

// Package diagnosistest has diagnoses for the tests of views.
package diagnosistest

import "github.com/iowitness/iowitness/diagnosis"

// LockedDown is a host on which some means work, and functions are oddly there.
func LockedDown() *diagnosis.Report {
	return &diagnosis.Report{
		Version: "1.0", Kernel: "6.12.1",
		Means: []diagnosis.Means{
			{ID: "tp_btf", Title: "BTF tracepoints", Verdict: diagnosis.Usable, Used: true, Needs: []string{"CAP_BPF"}},
			{ID: "tp", Title: "plain tracepoints", Verdict: diagnosis.Usable, Loses: []string{"files are not named", "it costs more"}, Notes: []string{"block:block_rq_complete cannot be witnessed"}},
			{ID: "fexit", Title: "entry and return", Verdict: diagnosis.Unusable, Reason: "a security module refuses it (active: lockdown, bpf)", Loses: []string{"run queue"}},
			{ID: "kmod", Title: "module", Verdict: diagnosis.Untried, Reason: "this process lacks CAP_SYS_MODULE: run it with sudo"},
		},
		Verbs: []diagnosis.Verb{
			{ID: "block", Title: "block requests", Verdict: diagnosis.Usable, Means: "tp_btf", Notes: []string{"block:block_split is not there: parts of large bios have no owner"}},
			{ID: "fs", Title: "calls to file systems", Verdict: diagnosis.Unusable, Reason: "tp_btf: a security module refuses it; raw_tp: no"},
		},
		Functions: []diagnosis.Function{
			{
				Name: "io_schedule", Waits: "a page", Flagged: true, Symbols: []string{"io_schedule"}, Copies: 1, Blacklisted: "off", Traceable: "unknown",
				Means: []diagnosis.FunctionMeans{{ID: "fexit", Verdict: diagnosis.Unusable, Reason: "fexit is not usable here"}, {ID: "kmod", Verdict: diagnosis.Usable}},
			},
			{
				Name: "inode_dio_wait", Waits: "direct I/O", Symbols: []string{"inode_dio_wait.isra.0"}, NotSeen: []string{"x.part.1"}, ArgumentsChanged: true, Copies: 1, Blacklisted: "off", Traceable: "on",
				Note:  "taken as inode_dio_wait.isra.0, which the compiler made of it; its arguments may be changed",
				Means: []diagnosis.FunctionMeans{{ID: "fexit", Verdict: diagnosis.Unusable, Reason: "BPF trampolines need the function by its own name"}, {ID: "kmod", Verdict: diagnosis.Untried, Reason: "kmod is not usable here"}},
			},
		},
		Facts: []diagnosis.Fact{
			{ID: "lockdown", Value: "integrity", Note: "no unsigned modules"},
			{ID: "btf_bytes", Value: int64(5515236)},
			{ID: "ring_buffer", Value: true},
			{ID: "task_storage"},
			{ID: "capabilities_missing", Value: []string{}},
			{ID: "security_modules", Value: []string{"lockdown", "bpf"}},
		},
		Notes: []string{"the kernel's configuration is not there"},
	}
}

// Hostile is a host whose names try to break views.
func Hostile() *diagnosis.Report {
	const evil = "\x1b[2J</script>\"\n\xff\u202e"
	return &diagnosis.Report{
		Version: evil, Kernel: evil,
		Means: []diagnosis.Means{
			{ID: "tp", Title: evil, Verdict: diagnosis.Unusable, Reason: evil, Needs: []string{evil}, Loses: []string{evil}, Notes: []string{evil}},
		},
		Verbs: []diagnosis.Verb{{ID: "fs", Title: evil, Verdict: diagnosis.Unusable, Means: evil, Reason: evil, Notes: []string{evil}}},
		Functions: []diagnosis.Function{{
			Name: evil, Waits: evil, Module: evil, Symbols: []string{evil}, NotSeen: []string{evil}, Denied: evil, Note: evil, Blacklisted: "off", Traceable: "on",
			Means: []diagnosis.FunctionMeans{{ID: "fexit", Verdict: diagnosis.Unusable, Reason: evil + "2"}},
		}},
		Facts: []diagnosis.Fact{{ID: "tracefs", Value: evil, Note: evil}, {ID: "cgroups", Value: []string{evil}}},
		Notes: []string{evil},
	}
}

// Nothing is a host on which nothing works, and of which nothing is known.
func Nothing() *diagnosis.Report {
	return &diagnosis.Report{Means: []diagnosis.Means{{ID: "tp_btf", Title: "BTF tracepoints", Verdict: diagnosis.Unusable, Reason: "no"}}}
}
