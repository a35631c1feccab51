// SPDX-License-Identifier: Apache-2.0

package probe

import "github.com/iowitness/iowitness/kernel"

// Description is what there is to know of a means before it is tried.
type Description struct {
	Means Means
	Title string
	Needs []string // in words
	Loses []string // against the first of them, in words

	options      []string            // of the kernel's configuration, without which it cannot work
	capabilities []kernel.Capability // each is needed, or CAP_SYS_ADMIN where bpf says so
	bpf          bool                // by BPF: CAP_BPF and CAP_PERFMON, before 5.8 CAP_SYS_ADMIN
	functions    bool                // witnesses functions, not tracepoints
}

// Losses that several means share.
const (
	losesMapped    = "files of mapped memory are not named"
	losesLazy      = "stacks are taken when a thread falls asleep, only of threads that are sampled or have waited long of late"
	losesRunQueue  = "the delay until a woken thread runs is part of the waiting time, not apart"
	losesRequests  = "waits are not joined to block requests"
	losesUnflagged = "waits that the kernel does not flag as iowait are seen only in the functions listed"
	losesReturns   = "returns are missed when all instances of a return probe are in use; they are counted"
	losesSkipped   = "switches are skipped while a BPF map is read on the same CPU; they are counted"
	losesCauses    = "no stacks, so no causes and no files"
)

var bpfOptions = []string{"CONFIG_BPF_SYSCALL", "CONFIG_BPF_EVENTS", "CONFIG_PERF_EVENTS"}

var kprobeOptions = []string{"CONFIG_KPROBES", "CONFIG_KRETPROBES"}

const (
	needsBPF   = "BPF ring buffers (5.8)"
	needsRight = "CAP_BPF and CAP_PERFMON, or CAP_SYS_ADMIN"
)

// Descriptions are all means in order of preference, the best first.
var Descriptions = []Description{
	{
		Means: TPBTF, Title: "BTF tracepoints of the scheduler", bpf: true,
		Needs:   []string{needsRight, needsBPF, "the kernel's own BTF (CONFIG_DEBUG_INFO_BTF)"},
		options: append([]string{"CONFIG_DEBUG_INFO_BTF", "CONFIG_TRACEPOINTS"}, bpfOptions...),
	},
	{
		Means: RawTP, Title: "raw tracepoints of the scheduler", bpf: true,
		Needs:   []string{needsRight, needsBPF, "BTF of the kernel, its own or by --btf"},
		Loses:   []string{losesMapped, losesLazy, "it costs about twice as much for each wait"},
		options: append([]string{"CONFIG_TRACEPOINTS"}, bpfOptions...),
	},
	{
		Means: TP, Title: "plain tracepoints of the scheduler", bpf: true,
		Needs:   []string{needsRight, needsBPF, "BTF of the kernel, its own or by --btf", "tracefs, or the right to mount it"},
		Loses:   []string{losesMapped, losesLazy, losesSkipped, "it costs about 1.6 times as much for each wait"},
		options: append([]string{"CONFIG_TRACEPOINTS", "CONFIG_EVENT_TRACING"}, bpfOptions...),
	},
	{
		Means: Fexit, Title: "entry and return of functions, by BPF trampolines", bpf: true, functions: true,
		Needs:   []string{needsRight, needsBPF, "the kernel's own BTF (CONFIG_DEBUG_INFO_BTF)", "ftrace with direct calls (CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS), and kernel.ftrace_enabled"},
		Loses:   []string{losesRunQueue, losesRequests, losesUnflagged},
		options: append([]string{"CONFIG_DEBUG_INFO_BTF", "CONFIG_FUNCTION_TRACER", "CONFIG_DYNAMIC_FTRACE", "CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS", "CONFIG_BPF_JIT"}, bpfOptions...),
	},
	{
		Means: Kretprobe, Title: "entry and return of functions, by kernel probes into BPF", bpf: true, functions: true,
		Needs:   []string{needsRight, needsBPF, "kernel probes (CONFIG_KPROBES, CONFIG_KPROBE_EVENTS)", "no lockdown in confidentiality mode"},
		Loses:   []string{losesRunQueue, losesRequests, losesUnflagged, losesReturns},
		options: append(append([]string{"CONFIG_KPROBE_EVENTS"}, kprobeOptions...), bpfOptions...),
	},
	{
		Means: Tracefs, Title: "entry and return of functions, by the tracing file system without BPF", functions: true,
		Needs:   []string{"root, for its files", "tracefs, or the right to mount it", "kernel probes (CONFIG_KPROBES, CONFIG_KPROBE_EVENTS)", "no lockdown in confidentiality mode"},
		Loses:   []string{losesRunQueue, losesRequests, losesUnflagged, losesReturns, "files and system calls are not named", "every wait is an event that is copied to the program: it costs the most"},
		options: append([]string{"CONFIG_FTRACE", "CONFIG_KPROBE_EVENTS"}, kprobeOptions...),
	},
	{
		Means: Kmod, Title: "entry and return of functions, by iowitness's kernel module", functions: true,
		Needs:        []string{"CAP_SYS_MODULE", "loadable modules without required signatures, no lockdown", "kernel probes (CONFIG_KPROBES)", "this kernel's headers, make and a C compiler, once"},
		Loses:        []string{losesRunQueue, losesRequests, losesUnflagged, losesReturns, losesCauses, "sums for each process only, no single waits"},
		options:      append([]string{"CONFIG_MODULES"}, kprobeOptions...),
		capabilities: []kernel.Capability{kernel.CapSysModule},
	},
	{
		Means: Taskstats, Title: "delay accounting and polling of /proc",
		Needs: []string{"/proc", "for delays: CAP_NET_ADMIN in the first namespaces, and kernel.task_delayacct"},
		Loses: []string{
			losesRequests, "coarse: waits are sighted by polling, short ones by chance only, and every figure is an estimate",
			"counts and exact times only of what the kernel flags as iowait, where it accounts for delays", "quantiles and run-queue delays are not told",
			"causes and files of others' processes only as root",
		},
	},
}

// multi is what one probe for many functions needs. It is a means of calls alone, not of waits.
var multi = &Description{
	Means: KprobeMulti, Title: "entry and return of many functions, by one probe into BPF", bpf: true, functions: true,
	options: append(append([]string{"CONFIG_FPROBE"}, kprobeOptions...), bpfOptions...),
}

// describe finds a means.
func describe(m Means) *Description {
	if m == KprobeMulti {
		return multi
	}
	for i := range Descriptions {
		if Descriptions[i].Means == m {
			return &Descriptions[i]
		}
	}
	return &Description{Means: m}
}

// configOptions are all that some means needs.
func configOptions() []string {
	seen := map[string]bool{}
	var all []string
	add := func(options []string) {
		for _, o := range options {
			if !seen[o] {
				seen[o] = true
				all = append(all, o)
			}
		}
	}
	for i := range Descriptions {
		add(Descriptions[i].options)
	}
	add(multi.options)
	add(taskstatsOptions)
	return all
}

var taskstatsOptions = []string{"CONFIG_TASKSTATS", "CONFIG_TASK_DELAY_ACCT"}
