/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where the CPU goes: what runs (cpu), what does not and why (offcpu), and what could
 * run but must wait (runq). Each verb loads the programs that it needs.
 */
#include "cpu.h"
#include "offcpu.h"
#include "runq.h"
#include "resolve.h"
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

SEC("perf_event")
int cpu_sample(struct sample_context *ctx)
{
	sample(ctx);
	return 0;
}

/* Processes, for their symbols. */

SEC("raw_tp/sched_process_fork")
int fork_raw_tp(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *child = (void *)ctx->args[1];
	__u32 tid = BPF_CORE_READ(child, pid), tgid = BPF_CORE_READ(child, tgid);
	__u64 id = bpf_get_current_pid_tgid();

	if (filter_follow)
		follow_child((__u32)id, tid);
	if (epoch && tgid != id >> 32 && is_wanted(child, tid, tgid))
		tell_process(child, tgid, PROCESS_FORKED, id >> 32, bpf_ktime_get_ns());
	return 0;
}

SEC("raw_tp/sched_process_exec")
int exec_raw_tp(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = this_task();
	__u64 id = bpf_get_current_pid_tgid();
	__u32 tgid = id >> 32;

	if (filter_follow)
		follow_renumbered(ctx->args[1], id);
	if (!epoch || !is_wanted(task, id, tgid))
		return 0;
	bpf_map_delete_elem(&told, &tgid);
	tell_process(task, tgid, PROCESS_EXECUTED, 0, bpf_ktime_get_ns());
	return 0;
}

SEC("raw_tp/sched_process_exit")
int exit_raw_tp(struct bpf_raw_tracepoint_args *ctx)
{
	if (filter_follow)
		end_followed(bpf_get_current_pid_tgid());
	return 0;
}

SEC("raw_tp/sched_process_free")
int free_raw_tp(struct bpf_raw_tracepoint_args *ctx)
{
	__u32 tid = BPF_CORE_READ((struct task_struct *)ctx->args[0], pid);

	bpf_map_delete_elem(&told, &tid); /* known again at once, if another one has its number */
	if (filter_follow)
		forget_ended(tid);
	return 0;
}

/* Off the CPU. */

SEC("tp_btf/sched_switch")
int off_switch_tp_btf(__u64 *ctx)
{
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];
	__u32 state;
	__u64 now;

	if (!epoch)
		return 0;
	now = bpf_ktime_get_ns();
	if (!is_heard(now))
		return 0;
	if (next->pid)
		end_off(find_thread(next, next->pid), next, now);
	state = tells_prev_state ? (__u32)ctx[3] : direct_state(prev);
	if (state & TASK_DEAD)
		forget_thread(prev->pid);
	else if (prev->pid)
		begin_off(ctx, prev, prev->pid, prev->tgid, state, !!(__u8)ctx[0], now);
	return 0;
}

SEC("raw_tp/sched_switch")
int off_switch_raw_tp(struct bpf_raw_tracepoint_args *ctx)
{
	__u32 state, in = BPF_CORE_READ((struct task_struct *)ctx->args[2], pid);
	struct task_struct *prev = this_task();
	__u64 now, id;

	if (!epoch)
		return 0;
	now = bpf_ktime_get_ns();
	if (!is_heard(now))
		return 0;
	if (in)
		end_off(find_thread(NULL, in), NULL, now);
	id = bpf_get_current_pid_tgid();
	state = tells_prev_state ? (__u32)ctx->args[3] : task_state((void *)ctx->args[1]);
	if (state & TASK_DEAD)
		forget_thread(id);
	else if ((__u32)id)
		begin_off(ctx, prev, (__u32)id, id >> 32, state, !!(__u8)ctx->args[0], now);
	return 0;
}

SEC("tp_btf/sched_waking")
int waking_tp_btf(__u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];

	if (epoch)
		wake_thread(find_thread(task, task->pid));
	return 0;
}

SEC("raw_tp/sched_waking")
int waking_raw_tp(struct bpf_raw_tracepoint_args *ctx)
{
	if (epoch)
		wake_thread(find_thread(NULL, BPF_CORE_READ((struct task_struct *)ctx->args[0], pid)));
	return 0;
}

/* Waiting for a CPU. */

SEC("tp_btf/sched_switch")
int runq_switch_tp_btf(__u64 *ctx)
{
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];
	struct runq_cpu *cpu = this_runq();
	__u32 state;
	__u64 now;

	if (!epoch || !cpu)
		return 0;
	now = bpf_ktime_get_ns();
	if (!is_heard(now))
		return 0;
	note_run(cpu, prev->pid, prev->tgid, now);
	if (next->pid)
		end_runq(ctx, find_thread(next, next->pid), cpu, now);
	state = tells_prev_state ? (__u32)ctx[3] : direct_state(prev);
	if (state & TASK_DEAD)
		forget_thread(prev->pid);
	else
		leave_cpu(prev, prev->pid, prev->tgid, state, !!(__u8)ctx[0], now);
	return 0;
}

SEC("raw_tp/sched_switch")
int runq_switch_raw_tp(struct bpf_raw_tracepoint_args *ctx)
{
	__u32 state, in = BPF_CORE_READ((struct task_struct *)ctx->args[2], pid);
	struct task_struct *prev = this_task();
	struct runq_cpu *cpu = this_runq();
	__u64 now, id;

	if (!epoch || !cpu)
		return 0;
	now = bpf_ktime_get_ns();
	if (!is_heard(now))
		return 0;
	id = bpf_get_current_pid_tgid();
	note_run(cpu, id, id >> 32, now);
	if (in)
		end_runq(ctx, find_thread(NULL, in), cpu, now);
	state = tells_prev_state ? (__u32)ctx->args[3] : task_state((void *)ctx->args[1]);
	if (state & TASK_DEAD)
		forget_thread(id);
	else
		leave_cpu(prev, id, id >> 32, state, !!(__u8)ctx->args[0], now);
	return 0;
}

SEC("tp_btf/sched_wakeup_new")
int new_tp_btf(__u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];

	begin_new(task, task->pid, task->tgid);
	return 0;
}

SEC("raw_tp/sched_wakeup_new")
int new_raw_tp(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (void *)ctx->args[0];

	begin_new(task, BPF_CORE_READ(task, pid), BPF_CORE_READ(task, tgid));
	return 0;
}
