// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"maps"
	"slices"
	"strings"

	"github.com/iowitness/iowitness/diagnosis"
	"github.com/iowitness/iowitness/kernel"
)

// told is the value of a fact, and what it means here.
type told struct {
	value any
	note  string
}

// tellFacts fills diagnosis.FactTable.
func (e *evidence) tellFacts() []diagnosis.Fact {
	values := e.factValues()
	facts := make([]diagnosis.Fact, 0, len(diagnosis.FactTable))
	for i := range diagnosis.FactTable {
		id := diagnosis.FactTable[i].ID
		facts = append(facts, diagnosis.Fact{ID: id, Value: values[id].value, Note: values[id].note})
	}
	return facts
}

func (e *evidence) factValues() map[string]told {
	values := map[string]told{}
	for _, group := range []map[string]told{e.kernelFacts(), e.bpfFacts(), e.rightsFacts(), e.tracingFacts(), e.accountingFacts()} {
		maps.Copy(values, group)
	}
	return values
}

func (e *evidence) kernelFacts() map[string]told {
	clock := told{value: textOrNil(e.tracing.Clock)}
	if e.tracing.Clock != "" && !slices.Contains(stableClocks, e.tracing.Clock) {
		clock.note = "its CPUs may differ: instants are by CLOCK_MONOTONIC"
	}
	missing := told{}
	if e.config.Source != "" {
		missing.value = notNil(e.config.Without(configOptions()...))
	}
	return map[string]told{
		"arch":           {value: textOrNil(e.facts.Arch)},
		"clock_source":   clock,
		"config":         {value: textOrNil(e.config.Source)},
		"config_missing": missing,
		"kallsyms":       {e.symbols, symbolsNote(e.symbols)},
		"kptr_restrict":  numberOrNil(e.facts.KptrRestrict),
		"cgroups":        e.cgroupFact(),
	}
}

func symbolsNote(word string) string {
	if word == "hidden" {
		return "causes are unknown without CAP_SYSLOG and kernel.kptr_restrict at 0 or 1"
	}
	return ""
}

func (e *evidence) cgroupFact() told {
	if e.noCgroups != nil {
		return told{}
	}
	versions := []string{}
	for _, m := range e.cgroups {
		version := "v1"
		if m.V2 {
			version = "v2"
		}
		if !slices.Contains(versions, version) {
			versions = append(versions, version)
		}
	}
	slices.Sort(versions)
	t := told{value: versions}
	if slices.Contains(versions, "v1") {
		t.note = "writeback of buffered writes is not charged to v1 cgroups"
	}
	return t
}

func (e *evidence) bpfFacts() map[string]told {
	btf, bytes := told{value: "none", note: noBTF}, told{}
	switch {
	case e.btfFile != "":
		btf = told{value: "file", note: "BTF tracepoints and fexit need the kernel's own"}
	case e.ownBTF():
		btf = told{value: "kernel"}
	}
	if e.btfBytes > 0 {
		bytes.value = e.btfBytes
	}
	memlock := told{value: e.has.MemlockBytes}
	if e.has.MemlockCounts == kernel.Off {
		memlock.note = "it does not matter here: the kernel counts BPF memory with the cgroup's"
	}
	storage := told{value: flag(e.has.TaskStorage)}
	if e.has.TaskStorage == kernel.Absent {
		storage.note = "threads' state is in a hash of bounded size"
	}
	reads := told{value: flag(e.has.ReadKernel)}
	if e.has.ReadKernel == kernel.Absent {
		reads.note = noKernelReads
	}
	return map[string]told{
		"btf": btf, "btf_bytes": bytes, "ring_buffer": {value: flag(e.has.RingBuffer)},
		"task_storage": storage, "read_kernel": reads,
		"kprobe_multi": {value: flag(e.has.KprobeMulti)}, "kprobe_session": {value: flag(e.has.KprobeSession)},
		"memlock_counts": {value: flag(e.has.MemlockCounts)}, "memlock_bytes": memlock,
	}
}

func (e *evidence) rightsFacts() map[string]told {
	missing := told{}
	if e.rights.Known {
		missing.value = notNil(e.missingCapabilities())
	}
	seccomp := told{}
	if e.rights.Seccomp >= 0 {
		seccomp.value = e.rights.Seccomp == 2
	}
	namespace := told{value: "initial"}
	switch e.rights.InitialUserNamespace {
	case kernel.Off:
		namespace = told{"other", "capabilities do not count for BPF here"}
	case kernel.Unknown:
		namespace.value = nil
	}
	lockdown := told{value: e.facts.Lockdown}
	switch e.facts.Lockdown {
	case "unknown":
		lockdown = told{nil, "securityfs is not mounted, or the kernel has no lockdown"}
	case "integrity":
		lockdown.note = "no unsigned modules; debugfs is left alone"
	case confidential:
		lockdown.note = "no unsigned modules, no kernel probes, no tracefs, no BPF reads of kernel memory"
	}
	modules := told{}
	if e.facts.LSMs != nil {
		modules.value = e.facts.LSMs
	}
	return map[string]told{
		"capabilities_missing": missing, "seccomp": seccomp, "user_namespace": namespace, "lockdown": lockdown, "security_modules": modules,
		"unprivileged_bpf_disabled": numberOrNil(e.facts.UnprivilegedBPFDisabled),
		"perf_event_paranoid":       numberOrNil(e.tracing.PerfEventParanoid),
	}
}

func (e *evidence) missingCapabilities() []string {
	missing := e.rights.Missing()
	for _, c := range []kernel.Capability{kernel.CapSyslog, kernel.CapSysModule, kernel.CapNetAdmin, kernel.CapSysResource, kernel.CapSysPtrace, kernel.CapDACOverride} {
		if e.rights.Lacks(c) {
			missing = append(missing, c.String())
		}
	}
	return missing
}

func (e *evidence) tracingFacts() map[string]told {
	tracefs := told{value: textOrNil(e.tracefs)}
	if e.tracefs == "" {
		tracefs.note = e.traceable.Why
	}
	ftrace := told{value: string(e.tracing.Ftrace)}
	if e.tracing.Ftrace == kernel.Off {
		ftrace.note = ftraceOff
	}
	kprobes := told{value: string(e.tracing.Kprobes)}
	if e.tracing.Kprobes == kernel.Off {
		kprobes.note = kprobesOff
	}
	optimised := told{value: string(e.tracing.KprobesOptimised)}
	if e.tracing.KprobesOptimised == kernel.Off {
		optimised.note = "each kprobe is a trap, which costs several times as much: sysctl debug.kprobes-optimization=1"
	}
	return map[string]told{
		"tracefs": tracefs, "ftrace_enabled": ftrace, "kprobes_enabled": kprobes, "kprobes_optimised": optimised,
		"kprobe_blacklist": {value: listingWord(e.blacklist)}, "traceable_functions": {value: listingWord(e.traceable)},
		"modules": {value: e.modulesWord()}, "module_signatures": {value: e.signatureWord()}, "kernel_headers": {value: textOrNil(e.modules.Headers)},
	}
}

func (e *evidence) modulesWord() string {
	switch {
	case e.modules.Supported != kernel.On:
		return string(e.modules.Supported)
	case e.modules.Disabled == kernel.On:
		return string(kernel.Off)
	}
	return string(kernel.On)
}

func (e *evidence) signatureWord() string {
	switch {
	case e.modules.Signed == kernel.On || strings.Contains("integrity confidentiality", e.facts.Lockdown):
		return "required"
	case e.modules.Signed == kernel.Off:
		return "not_required"
	}
	return "unknown"
}

func (e *evidence) accountingFacts() map[string]told {
	delays := told{string(e.facts.TaskDelayacct), delayacctNote(e.facts.TaskDelayacct)}
	switch {
	case e.facts.TaskDelayacct == kernel.Unknown && e.config.Option("CONFIG_TASK_DELAY_ACCT") == kernel.Absent:
		delays = told{"absent", "the kernel is built without CONFIG_TASK_DELAY_ACCT: delays are not known, which is not 0"}
	case e.facts.TaskDelayacct == kernel.Unknown:
		delays.note = "before 5.14 it is decided at boot: on, unless the kernel's command line says nodelayacct"
	}
	stats := told{value: string(e.facts.Schedstats)}
	if e.facts.Schedstats != kernel.On {
		stats.note = "tools on sched_stat_* see nothing here; iowitness does not need them"
	}
	return map[string]told{"task_delayacct": delays, "sched_schedstats": stats}
}

func listingWord(l kernel.Listing) string {
	if l.Known {
		return "read"
	}
	return l.Why
}

func textOrNil(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func numberOrNil(n int) told {
	if n == kernel.UnknownNumber {
		return told{}
	}
	return told{value: int64(n)}
}

func flag(s kernel.Setting) any {
	switch s {
	case kernel.On:
		return true
	case kernel.Off, kernel.Absent:
		return false
	}
	return nil
}

// notNil is for lists that are known to be empty.
func notNil(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
