// SPDX-License-Identifier: Apache-2.0

package diagnosis

// FactTable are all facts, in the order in which views show them.
var FactTable = []Field{
	{ID: "arch", Title: "architecture", Kind: Text, Nullable: true, Help: "Architecture, as uname -m prints it."},
	{ID: "clock_source", Title: "clock source", Kind: Text, Nullable: true, Help: "Clock source of the kernel. Instants come from the scheduler's own clock where all CPUs share one, else from CLOCK_MONOTONIC."},
	{ID: "config", Title: "kernel configuration", Kind: Text, Nullable: true, Help: "File from which the kernel's configuration was read; null: there is none, and options are unknown."},
	{ID: "config_missing", Title: "options not built in", Kind: List, Nullable: true, Help: "Options that some means needs and this kernel lacks; null: no configuration is there."},
	{ID: "btf", Title: "type information (BTF)", Kind: Text, Nullable: true, Help: "kernel: it offers its own; file: given by --btf; none."},
	{ID: "btf_bytes", Title: "size of the BTF", Kind: Integer, Nullable: true, Help: "Size of it, in bytes."},
	{ID: "ring_buffer", Title: "BPF ring buffer", Kind: Boolean, Nullable: true, Help: "The kernel has BPF ring buffers (5.8), which every means by BPF needs. Tried."},
	{ID: "task_storage", Title: "BPF task storage", Kind: Boolean, Nullable: true, Help: "The kernel has BPF storage local to a thread (5.11); else state is in a hash by thread id. Tried."},
	{ID: "read_kernel", Title: "BPF reads kernel memory", Kind: Boolean, Nullable: true, Help: "BPF programs may read kernel memory by address, which lockdown in confidentiality mode refuses. Tried."},
	{ID: "kprobe_multi", Title: "kprobe.multi", Kind: Boolean, Nullable: true, Help: "Many functions can be probed by one link (5.18). Tried."},
	{ID: "kprobe_session", Title: "kprobe session", Kind: Boolean, Nullable: true, Help: "Entry and return share a program and a cookie (6.10). Tried."},
	{ID: "memlock_counts", Title: "RLIMIT_MEMLOCK counts", Kind: Boolean, Nullable: true, Help: "The kernel counts BPF memory against RLIMIT_MEMLOCK (before 5.11). Tried."},
	{ID: "memlock_bytes", Title: "RLIMIT_MEMLOCK", Kind: Integer, Nullable: true, Help: "The limit of this process, in bytes; -1: none. It matters only where it counts."},
	{ID: "capabilities_missing", Title: "capabilities missing", Kind: List, Nullable: true, Help: "Of the capabilities that some means needs, those that this process lacks; null: unknown."},
	{ID: "seccomp", Title: "seccomp filter", Kind: Boolean, Nullable: true, Help: "A seccomp filter is active, which may refuse system calls."},
	{ID: "user_namespace", Title: "user namespace", Kind: Text, Nullable: true, Help: "initial, or other: there capabilities do not count for BPF."},
	{ID: "lockdown", Title: "lockdown", Kind: Text, Nullable: true, Help: "none, integrity (no unsigned modules, no debugfs) or confidentiality (also no kprobes, no tracefs, no BPF reads of kernel memory)."},
	{ID: "security_modules", Title: "security modules", Kind: List, Nullable: true, Help: "Active Linux security modules, in their order."},
	{ID: "unprivileged_bpf_disabled", Title: "unprivileged_bpf_disabled", Kind: Integer, Nullable: true, Help: "kernel.unprivileged_bpf_disabled."},
	{ID: "perf_event_paranoid", Title: "perf_event_paranoid", Kind: Integer, Nullable: true, Help: "kernel.perf_event_paranoid; with CAP_PERFMON it does not matter."},
	{ID: "kptr_restrict", Title: "kptr_restrict", Kind: Integer, Nullable: true, Help: "kernel.kptr_restrict; with 2 no symbol has an address, and causes are unknown."},
	{ID: "tracefs", Title: "tracefs", Kind: Text, Nullable: true, Help: "Where the tracing file system is mounted; private: nowhere, but iowitness can mount it for itself; null: it cannot be had."},
	{ID: "ftrace_enabled", Title: "ftrace_enabled", Kind: Text, Help: "kernel.ftrace_enabled: on, off, absent or unknown. Off stops fexit and kprobe.multi for everybody."},
	{ID: "kprobes_enabled", Title: "kprobes enabled", Kind: Text, Help: "The switch for all kprobes in debugfs: on, off or unknown."},
	{ID: "kprobes_optimised", Title: "kprobes optimised", Kind: Text, Help: "debug.kprobes-optimization: on, off, absent or unknown. Off makes each kprobe a trap."},
	{ID: "kprobe_blacklist", Title: "kprobe blacklist", Kind: Text, Help: "read, or why it could not be."},
	{ID: "traceable_functions", Title: "traceable functions", Kind: Text, Help: "read, or why available_filter_functions could not be."},
	{ID: "modules", Title: "kernel modules", Kind: Text, Help: "Whether modules can be loaded: on, off (kernel.modules_disabled), absent or unknown."},
	{ID: "module_signatures", Title: "module signatures", Kind: Text, Help: "required, not_required or unknown."},
	{ID: "kernel_headers", Title: "kernel headers", Kind: Text, Nullable: true, Help: "Directory of this kernel's headers, with which a module can be built; null: not installed."},
	{ID: "cgroups", Title: "cgroups", Kind: List, Nullable: true, Help: "Mounted cgroup versions: v1, v2 or both."},
	{ID: "task_delayacct", Title: "delay accounting", Kind: Text, Help: "kernel.task_delayacct: on, off, absent or unknown. While it is off delays are not known, which is not 0; only the means taskstats needs it."},
	{ID: "sched_schedstats", Title: "scheduler statistics", Kind: Text, Help: "kernel.sched_schedstats: on, off, absent or unknown. iowitness does not need it: tools on sched_stat_* do."},
	{ID: "kallsyms", Title: "kernel symbols", Kind: Text, Help: "shown, hidden (without CAP_SYSLOG causes are unknown), absent or unknown."},
}

// FactByID is the description of a fact; nil: there is none of that id.
func FactByID(id string) *Field {
	for i := range FactTable {
		if FactTable[i].ID == id {
			return &FactTable[i]
		}
	}
	return nil
}
