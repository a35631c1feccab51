// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"path"
	"strings"

	"github.com/iowitness/iowitness/kernel"
)

// Denial is a group of kernel functions that are never probed, and why.
type Denial struct {
	Reason   string
	Patterns []string // names, * for any characters
}

// Denials are the paths on which a probe may hang or crash the machine, even
// where the kernel itself would allow it.
var Denials = []Denial{
	{"it is where threads are switched, and all of them sleep in it at once: use iowitness offcpu or runq, which witness the tracepoint sched:sched_switch", []string{
		"schedule", "__schedule*", "schedule_idle", "schedule_preempt_disabled", "schedule_user", "schedule_rtlock",
		"schedule_timeout*", "schedule_hrtimeout*", "preempt_schedule*", "dynamic_preempt_schedule*", "__cond_resched*",
		"context_switch", "finish_task_switch", "prepare_task_switch", "__switch_to*", "ret_from_fork*",
		"pick_next_task*", "put_prev_task*", "__pick_next*", "try_to_wake_up", "ttwu_*", "scheduler_tick", "sched_tick",
		"update_curr*", "update_rq_clock*", "raw_spin_rq_*", "__task_rq_lock", "task_rq_lock",
	}},
	{"it is a spin lock or its slow path: a probe there spins on itself", []string{
		"_raw_spin_*", "_raw_read_*", "_raw_write_*", "__raw_spin_*", "__raw_callee_save_*", "do_raw_spin_*", "spin_lock*", "spin_unlock*",
		"native_queued_spin_*", "queued_spin_*", "queued_read_lock_slowpath", "queued_write_lock_slowpath", "__pv_queued_spin_*",
		"pv_kick*", "pv_wait*", "kvm_kick_cpu", "kvm_wait", "osq_lock", "osq_unlock", "mcs_spin_*", "resilient_*", "rqspin_*",
		"rt_spin_*", "__rt_mutex_*", "rt_mutex_slow*", "lockdep_*", "lock_acquire", "lock_release", "__lock_acquire",
	}},
	{"it is part of RCU, on which probes rest", []string{
		"rcu_*", "__rcu_*", "srcu_*", "__srcu_*", "call_rcu*", "call_srcu*", "synchronize_rcu*", "synchronize_srcu*",
		"kvfree_call_rcu", "ct_idle_*", "ct_kernel_*", "ct_user_*", "ct_nmi_*", "ct_irq_*", "ct_cpuidle_*", "__ct_user_*", "context_tracking_*", "note_gp_changes", "force_qs_rnp", "invoke_rcu_core",
	}},
	{"it is the tracer's own path: a probe there calls itself", []string{
		"bpf_*", "__bpf_*", "bpf_prog_*", "___bpf_prog_run", "htab_*", "__htab_*", "alloc_htab_elem", "free_htab_elem", "lookup_nulls_elem_raw", "lookup_elem_raw", "*_map_lookup_elem", "*_map_update_elem", "*_map_delete_elem",
		"array_map_*", "percpu_array_map_*", "*_stack_map_*", "stack_map_*", "trie_*", "*pcpu_freelist_*", "*ringbuf_*", "*task_storage_*", "*cgrp_storage_*", "*local_storage_*", "copy_map_value*", "check_and_free_fields", "check_and_init_map_value",
		"pcpu_copy_value", "pcpu_init_value", "is_map_full", "inc_elem_count", "dec_elem_count", "prealloc_lru_pop", "unit_alloc", "unit_free", "alloc_bulk", "free_bulk", "migrate_disable", "migrate_enable", "*callchain*", "trace_*", "__trace_*", "ftrace_*", "__ftrace_*", "function_trace*", "function_graph_*",
		"fgraph_*", "ring_buffer_*", "rb_*", "__rb_*", "tracing_*", "tracepoint_*", "tracer_*", "trampoline_*", "event_trigger*",
		"arch_ftrace_*", "prepare_ftrace_return", "return_to_handler", "ftrace", "static_call_*", "__static_call_*", "jump_label_*", "text_poke*", "smp_text_poke*",
	}},
	{"it handles probes themselves", []string{
		"*kprobe*", "*kretprobe*", "rethook_*", "arch_rethook_*", "fprobe_*", "__fprobe_*", "*uprobe*", "optimized_callback", "opt_pre_handler",
		"poke_int3_handler", "smp_text_poke_int3_handler",
	}},
	{"it is inside perf events, by which probes are delivered", []string{
		"perf_*", "__perf_*", "x86_pmu_*", "intel_pmu_*", "amd_pmu_*", "x86_perf_*", "ctx_sched_*", "event_sched_*", "group_sched_*",
		"irq_work_*", "__irq_work_*",
	}},
	{"it runs in a non-maskable interrupt or is entry code, where no probe may run", []string{
		"nmi_*", "*_nmi", "*_nmi_*", "do_nmi", "default_do_nmi", "io_check_error", "entry_*", "asm_*", "syscall_enter_*", "syscall_exit_*", "syscall_trace_*",
		"irqentry_*", "exit_to_user_mode*", "enter_from_user_mode*", "do_syscall_64", "do_int80_*", "__do_fast_syscall_32", "do_fast_syscall_32",
		"x64_sys_call", "common_interrupt*", "sysvec_*", "__sysvec_*", "spurious_interrupt*", "error_entry", "paranoid_*", "sync_regs", "el0*", "el1*", "*irq_enter*", "*irq_exit*",
		"do_softirq*", "__do_softirq", "handle_softirqs", "native_*", "paravirt_*", "xen_hypercall*", "xen_irq_*", "xen_entry_*", "xen_iret", "xen_safe_halt",
	}},
	{"it handles exceptions, which a probe itself may raise", []string{
		"exc_*", "do_error_trap", "do_trap*", "do_int3*", "do_debug*", "handle_debug", "notify_die", "die", "__die*", "fixup_exception", "ex_handler_*", "search_exception_tables", "search_extable",
		"do_user_addr_fault", "do_kern_addr_fault", "bad_area*", "__bad_area*", "spurious_kernel_fault*", "handle_page_fault", "kernelmode_fixup_*", "vmalloc_fault",
		"mce_*", "do_machine_check", "machine_check_*", "panic*", "oops_*", "__stack_chk_fail", "report_bug", "__warn*", "warn_slowpath_*", "watchdog_timer_fn", "watchdog_overflow_callback", "watchdog_hardlockup*",
	}},
	{"it is in the idle path, where RCU does not watch", []string{
		"do_idle", "cpu_idle*", "default_idle*", "arch_cpu_idle*", "cpuidle_*", "acpi_idle_*", "intel_idle*", "mwait_idle*", "cpu_startup_entry", "tick_nohz_*", "poll_idle",
		"idle_inject*", "play_idle*", "haltpoll_*", "acpi_processor_ffh_cstate_enter",
	}},
	{"it prints, and a probe that goes wrong would have to", []string{
		"printk*", "_printk*", "vprintk*", "__printk*", "console_*", "con_*", "serial8250_*", "uart_*", "vt_console_*", "*_console_*", "log_store", "prb_*", "_prb_*", "early_console*", "early_printk*", "dump_stack*", "show_regs*", "show_stack*", "show_trace*", "show_state*", "bust_spinlocks", "devkmsg_*", "wake_up_klogd*", "defer_console_output",
	}},
	{"it tells the time, which each probe reads", []string{
		"ktime_get*", "__ktime_get*", "getboottime*", "timekeeping_*", "sched_clock*", "__sched_clock*", "local_clock*", "cpu_clock*", "read_tsc*", "rdtsc*",
		"tsc_*", "kvm_clock_*", "pvclock_*", "kvm_sched_clock_*", "hv_*clock*", "read_hv_*", "xen_clocksource_*", "xen_sched_clock*", "clocksource_*", "jiffies_read", "update_wall_time", "tick_*",
	}},
	{"it allocates or frees memory, which recurses and is far too frequent", []string{
		"kmalloc*", "__kmalloc*", "__do_kmalloc*", "kfree*", "__kfree*", "kmem_cache_alloc*", "kmem_cache_free*", "__slab_*", "___slab_*", "slab_*", "__slub_*", "new_slab*", "allocate_slab",
		"get_page_from_freelist*", "__alloc_pages*", "alloc_pages*", "__free_*", "free_unref_*", "free_pages*", "free_pcppages_*", "rmqueue*", "__rmqueue*", "vmalloc*", "__vmalloc*", "vfree*",
		"mod_memcg_*", "__mod_*", "mod_node_*", "mod_zone_*", "memcg_slab_*", "memcg_account_*", "obj_cgroup_*", "refill_*stock*", "consume_*stock*",
	}},
	{"it unwinds stacks, which probes do", []string{
		"unwind_*", "__unwind_*", "arch_stack_walk*", "stack_trace_*", "stack_access_ok", "get_stack_info*", "in_task_stack", "in_irq_stack", "in_entry_stack", "get_perf_callchain", "orc_*", "__orc_*",
		"kallsyms_*", "__kernel_text_address", "kernel_text_address", "is_module_text_address", "module_address_lookup", "__module_address", "__module_text_address", "is_bpf_text_address",
	}},
	{"it counts per CPU, on paths that probes take", []string{
		"percpu_counter_*", "__percpu_counter_*", "this_cpu_*", "__this_cpu_*", "pcpu_*", "cgroup_rstat_*", "__cgroup_rstat_*", "css_rstat_*",
	}},
	{"it copies to or from user memory, and probes do that", []string{
		"copy_from_kernel_nofault*", "copy_from_user_nofault*", "copy_to_kernel_nofault*", "strncpy_from_kernel_nofault*", "strncpy_from_user_nofault*", "__copy_user_*", "rep_movs_alternative", "rep_stos_alternative",
		"copy_user_*", "memcpy*", "__memcpy*", "memset*", "__memset*", "memmove*", "__memmove*", "strlen", "strcmp", "strncmp", "strnlen",
	}},
	{"it is part of stopping CPUs and changing code, which attaching a probe does", []string{
		"stop_machine*", "__stop_*", "stop_one_cpu*", "stop_two_cpus", "multi_cpu_stop", "cpu_stop*", "smp_call_function*", "__smp_call_*", "flush_smp_call_*", "generic_smp_call_*", "on_each_cpu*", "csd_*", "module_alloc", "set_memory_*",
	}},
}

// allowed are the functions of the table, which were chosen with care.
var allowed = func() map[string]bool {
	names := map[string]bool{}
	for _, f := range Functions {
		names[f.Name] = true
	}
	return names
}()

// Denied says whether a kernel function must not be probed, by its own name or
// that which the compiler made of it, and why. What it does not deny, the
// kernel's blacklist may.
func Denied(name string) (reason string, denied bool) {
	base := kernel.BaseName(name)
	if allowed[base] {
		return "", false
	}
	if strings.HasPrefix(name, "__pfx_") || strings.HasPrefix(name, "__cfi_") {
		return "it is a mark before a function, no code", true
	}
	if strings.Contains(name, ".cold") {
		return "it is the cold part of a function, which no call enters", true
	}
	if base == "" {
		return "", false
	}
	for _, rule := range denialsBy[base[0]] {
		if match, _ := path.Match(rule.pattern, base); match {
			return rule.reason, true
		}
	}
	return "", false
}

type denial struct{ pattern, reason string }

// denialsBy are the patterns that a name may fit, by its first letter: a list asks of each
// function that the kernel has.
var denialsBy = func() (by [256][]denial) {
	for _, d := range Denials {
		for _, pattern := range d.Patterns {
			for first := range by {
				if pattern[0] == '*' || int(pattern[0]) == first {
					by[first] = append(by[first], denial{pattern, d.Reason})
				}
			}
		}
	}
	return by
}()
