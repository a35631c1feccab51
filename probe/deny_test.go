// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"bufio"
	"os"
	"path"
	"strings"
	"testing"
)

// TestDenied (cases D4 and F8): what hangs machines is never probed, and the reason is said.
func TestDenied(t *testing.T) {
	for reason, names := range map[string]string{
		"sched:sched_switch":     "schedule __schedule schedule_timeout schedule_timeout_killable preempt_schedule_irq finish_task_switch.isra.0 __switch_to_asm try_to_wake_up",
		"spin lock":              "_raw_spin_lock _raw_spin_unlock_irqrestore native_queued_spin_lock_slowpath queued_read_lock_slowpath osq_lock __pv_queued_spin_lock_slowpath",
		"RCU":                    "rcu_read_lock rcu_core call_rcu __srcu_read_lock synchronize_rcu_expedited ct_idle_enter",
		"tracer's own":           "bpf_trampoline_enter bpf_get_current_pid_tgid __bpf_prog_enter_recur ring_buffer_lock_reserve trace_call_bpf ftrace_ops_list_func return_to_handler tracepoint_probe_register lookup_nulls_elem_raw htab_map_update_elem __htab_map_lookup_elem array_map_lookup_elem ___pcpu_freelist_pop __stack_map_get alloc_htab_elem get_callchain_entry migrate_disable",
		"probes themselves":      "kprobe_ftrace_handler pre_handler_kretprobe arch_rethook_trampoline_callback fprobe_handler __kretprobe_trampoline aggr_pre_handler_kprobe kretprobe_trampoline_handler",
		"perf events":            "perf_event_overflow perf_trace_buf_alloc __perf_event_task_sched_out x86_pmu_handle_irq irq_work_queue",
		"non-maskable":           "nmi_handle default_do_nmi asm_exc_page_fault entry_SYSCALL_64 do_syscall_64 sysvec_apic_timer_interrupt irqentry_enter native_sched_clock_from_tsc handle_softirqs perf_ibs_nmi_handler",
		"exceptions":             "exc_page_fault exc_int3 do_user_addr_fault fixup_exception search_extable __warn notify_die",
		"idle":                   "do_idle cpuidle_enter_state default_idle_call acpi_idle_enter tick_nohz_idle_enter",
		"prints":                 "_printk vprintk_emit console_unlock serial8250_console_write prb_reserve wake_up_klogd",
		"tells the time":         "ktime_get ktime_get_mono_fast_ns sched_clock sched_clock_cpu read_tsc timekeeping_advance pvclock_clocksource_read_nowd",
		"memory":                 "kmalloc_trace __kmalloc_noprof kmem_cache_alloc_node kfree get_page_from_freelist ___slab_alloc.isra.0",
		"unwinds":                "unwind_next_frame arch_stack_walk orc_find.part.0 kallsyms_lookup get_perf_callchain",
		"counts per CPU":         "percpu_counter_add_batch cgroup_rstat_updated",
		"user memory":            "copy_from_kernel_nofault strncpy_from_user_nofault memcpy",
		"stopping CPUs":          "stop_machine multi_cpu_stop smp_call_function_many_cond",
		"cold part":              "io_serial_in.cold blk_mq_get_tag.cold.3",
		"mark before a function": "__pfx_vfs_read __cfi_vfs_read",
	} {
		for name := range strings.FieldsSeq(names) {
			got, denied := Denied(name)
			// Some names fit two groups: the first tells the reason, and any will do.
			if !denied || got == "" {
				t.Errorf("%s is allowed, though %s", name, reason)
			} else if !strings.Contains(got, reason) && !alsoDenied(name, reason) {
				t.Errorf("%s: %q does not say %q", name, got, reason)
			}
		}
	}
}

func alsoDenied(name, reason string) bool {
	for _, d := range Denials {
		if strings.Contains(d.Reason, reason) {
			for _, p := range d.Patterns {
				if match, _ := path.Match(p, name); match {
					return true
				}
			}
		}
	}
	return false
}

func TestWhatThreadsSleepInIsAllowed(t *testing.T) {
	for name := range strings.FieldsSeq(`io_schedule io_schedule_timeout bit_wait_io folio_wait_bit_common wait_on_page_bit_common
		submit_bio_wait blk_mq_get_tag rq_qos_wait balance_dirty_pages jbd2_log_wait_commit xfs_buf_iowait do_get_write_access.part.0
		request_wait_answer rpc_wait_bit_killable vfs_read vfs_fsync_range ext4_sync_file filemap_fault do_swap_page
		rwsem_down_read_slowpath mutex_lock_io reclaim_throttle congestion_wait __lock_buffer io_cqring_wait wait_for_completion_io
		xen_blkif_queue_request show_stat nvme_queue_rq scsi_queue_rq`) {
		if reason, denied := Denied(name); denied {
			t.Errorf("%s is denied: %s", name, reason)
		}
	}
	for _, f := range Functions {
		if reason, denied := Denied(f.Name); denied {
			t.Errorf("%s of the table is denied: %s", f.Name, reason)
		}
		if matched := matchedBy(f.Name); matched != "" {
			t.Errorf("%s of the table is only allowed as an exception from %s", f.Name, matched)
		}
	}
}

func matchedBy(name string) string {
	for _, d := range Denials {
		for _, p := range d.Patterns {
			if match, _ := path.Match(p, name); match {
				return p
			}
		}
	}
	return ""
}

func TestDenialsAreWellFormed(t *testing.T) {
	seen := map[string]bool{}
	for _, d := range Denials {
		if d.Reason == "" || strings.HasSuffix(d.Reason, ".") || len(d.Patterns) == 0 {
			t.Errorf("%+v", d)
		}
		for _, p := range d.Patterns {
			if _, err := path.Match(p, ""); err != nil || p == "*" || seen[p] {
				t.Errorf("pattern %q: %v, twice: %v", p, err, seen[p])
			}
			seen[p] = true
		}
	}
}

// TestMostOfTheKernelMayBeProbed: the list is for what hangs machines, no fence around everything.
func TestMostOfTheKernelMayBeProbed(t *testing.T) {
	f, err := os.Open("/proc/kallsyms")
	if err != nil {
		t.Skip(err)
	}
	defer f.Close()
	functions, denied := 0, 0
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) != 3 || !strings.ContainsAny(fields[1], "tT") || strings.HasPrefix(fields[2], "__pfx_") {
			continue
		}
		functions++
		if _, no := Denied(fields[2]); no {
			denied++
		}
	}
	if functions == 0 || denied == 0 || denied*5 > functions {
		t.Errorf("%d of %d functions are denied", denied, functions)
	}
	t.Logf("%d of %d functions are denied", denied, functions)
}
