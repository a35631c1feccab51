/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where the CPU goes: what runs (cpu), what does not and why (offcpu), and what could
 * run but must wait (runq). Each verb loads the programs that it needs.
 */
#include "cpu.h"
#include "offcpu.h"
#include "runq.h"
#include "resolve.h"
#include "tracepoint.h"
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

SEC("perf_event")
int cpu_sample(struct sample_context *ctx)
{
	sample(ctx);
	return 0;
}

/* Processes, for their symbols. */

/* task: the new thread's, or its parent's where that alone is known. */
INLINE void made(struct task_struct *task, __u32 tid, __u32 tgid)
{
	__u64 id = bpf_get_current_pid_tgid();

	if (filter_follow)
		follow_child((__u32)id, tid);
	if (epoch && tgid != id >> 32 && is_wanted(task, tid, tgid))
		tell_process(task, tgid, PROCESS_FORKED, id >> 32, bpf_ktime_get_ns());
}

INLINE void executed(__u32 old_tid)
{
	struct task_struct *task = this_task();
	__u64 id = bpf_get_current_pid_tgid();
	__u32 tgid = id >> 32;

	if (filter_follow)
		follow_renumbered(old_tid, id);
	if (!epoch || !is_wanted(task, id, tgid))
		return;
	bpf_map_delete_elem(&told, &tgid);
	tell_process(task, tgid, PROCESS_EXECUTED, 0, bpf_ktime_get_ns());
}

INLINE void exits(void)
{
	if (filter_follow)
		end_followed(bpf_get_current_pid_tgid());
}

INLINE void freed(__u32 tid)
{
	bpf_map_delete_elem(&told, &tid); /* known again at once, if another one has its number */
	if (filter_follow)
		forget_ended(tid);
}

SEC("raw_tp/sched_process_fork")
int fork_raw_tp(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *child = (void *)ctx->args[1];

	made(child, BPF_CORE_READ(child, pid), BPF_CORE_READ(child, tgid));
	return 0;
}

SEC("raw_tp/sched_process_exec")
int exec_raw_tp(struct bpf_raw_tracepoint_args *ctx)
{
	executed(ctx->args[1]);
	return 0;
}

SEC("raw_tp/sched_process_exit")
int exit_raw_tp(struct bpf_raw_tracepoint_args *ctx)
{
	exits();
	return 0;
}

SEC("raw_tp/sched_process_free")
int free_raw_tp(struct bpf_raw_tracepoint_args *ctx)
{
	freed(BPF_CORE_READ((struct task_struct *)ctx->args[0], pid));
	return 0;
}

/* The event of a thread's first wake-up does not tell its process: that is noted as it is made. */
SEC("tp/task/task_newtask")
int made_tp(void *ctx)
{
	__u32 tgid, tid = made_thread(ctx, &tgid);

	made(this_task(), tid, tgid);
	expect_new(this_task(), tid, tgid);
	return 0;
}

SEC("tp/sched/sched_process_exec")
int exec_tp(void *ctx)
{
	executed(EVENT_FIELD(__u32, ctx, exec_old_pid_at));
	return 0;
}

SEC("tp/sched/sched_process_exit")
int exit_tp(void *ctx)
{
	exits();
	return 0;
}

SEC("tp/sched/sched_process_free")
int free_tp(void *ctx)
{
	freed(EVENT_FIELD(__u32, ctx, free_pid_at));
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

/* By ids: only the current thread, which is switched out, has a type. */
INLINE void off_switched(void *ctx, __u32 in, __u32 state, bool preempted)
{
	__u64 now = bpf_ktime_get_ns(), id;

	if (!is_heard(now))
		return;
	if (in)
		end_off(find_thread(NULL, in), NULL, now);
	id = bpf_get_current_pid_tgid();
	if (state & TASK_DEAD)
		forget_thread(id);
	else if ((__u32)id)
		begin_off(ctx, this_task(), (__u32)id, id >> 32, state, preempted, now);
}

INLINE __u32 raw_state(struct bpf_raw_tracepoint_args *ctx)
{
	return tells_prev_state ? (__u32)ctx->args[3] : task_state((void *)ctx->args[1]);
}

SEC("raw_tp/sched_switch")
int off_switch_raw_tp(struct bpf_raw_tracepoint_args *ctx)
{
	if (epoch)
		off_switched(ctx, BPF_CORE_READ((struct task_struct *)ctx->args[2], pid), raw_state(ctx), !!(__u8)ctx->args[0]);
	return 0;
}

SEC("tp/sched/sched_switch")
int off_switch_tp(struct trace_sched_switch *ctx)
{
	if (epoch)
		off_switched(ctx, ctx->next_pid, state_of_event(ctx), !!(ctx->prev_state & TASK_REPORT_MAX));
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

SEC("tp/sched/sched_waking")
int waking_tp(struct trace_sched_wakeup *ctx)
{
	if (epoch)
		wake_thread(find_thread(NULL, ctx->pid));
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

INLINE void runq_switched(void *ctx, __u32 in, __u32 state, bool preempted)
{
	struct runq_cpu *cpu = this_runq();
	__u64 now = bpf_ktime_get_ns(), id;

	if (!cpu || !is_heard(now))
		return;
	id = bpf_get_current_pid_tgid();
	note_run(cpu, id, id >> 32, now);
	if (in)
		end_runq(ctx, find_thread(NULL, in), cpu, now);
	if (state & TASK_DEAD)
		forget_thread(id);
	else
		leave_cpu(this_task(), id, id >> 32, state, preempted, now);
}

SEC("raw_tp/sched_switch")
int runq_switch_raw_tp(struct bpf_raw_tracepoint_args *ctx)
{
	if (epoch)
		runq_switched(ctx, BPF_CORE_READ((struct task_struct *)ctx->args[2], pid), raw_state(ctx), !!(__u8)ctx->args[0]);
	return 0;
}

SEC("tp/sched/sched_switch")
int runq_switch_tp(struct trace_sched_switch *ctx)
{
	if (epoch)
		runq_switched(ctx, ctx->next_pid, state_of_event(ctx), !!(ctx->prev_state & TASK_REPORT_MAX));
	return 0;
}

SEC("tp_btf/sched_wakeup_new")
int new_tp_btf(__u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];

	wake_new(expect_new(task, task->pid, task->tgid), bpf_ktime_get_ns());
	return 0;
}

SEC("raw_tp/sched_wakeup_new")
int new_raw_tp(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (void *)ctx->args[0];

	wake_new(expect_new(task, BPF_CORE_READ(task, pid), BPF_CORE_READ(task, tgid)), bpf_ktime_get_ns());
	return 0;
}

SEC("tp/sched/sched_wakeup_new")
int new_tp(struct trace_sched_wakeup *ctx)
{
	if (epoch)
		wake_new(find_thread(NULL, ctx->pid), bpf_ktime_get_ns());
	return 0;
}
