/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The wait witness: sched_switch and sched_waking see both ends of each wait,
 * block_rq_complete the request that ended it, the walk those still in progress.
 * Where these cannot be had, functions that sleep are seen at entry and return.
 */
#include "tracepoint.h"
#include "wait.h"
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* BTF tracepoints: typed tasks, read directly. */

SEC("tp_btf/sched_switch")
int switch_tp_btf(__u64 *ctx)
{
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];
	struct thread_wait *wait;
	__u32 state;

	if (!epoch)
		return 0;
	state = tells_prev_state ? (__u32)ctx[3] : direct_state(prev);
	if (state && !(__u8)ctx[0]) {
		bool in_iowait = BPF_CORE_READ_BITFIELD(prev, in_iowait);

		if (is_wait(state, in_iowait, prev->flags))
			begin_wait(ctx, prev, prev->pid, prev->tgid, state, in_iowait);
		else if (state & TASK_DEAD)
			leave(prev, prev->pid);
	}
	if (BPF_CORE_READ_BITFIELD(next, in_iowait) || hints[next->pid & (HINTS - 1)]) {
		wait = find_wait(next, next->pid);
		if (wait && in_wait(wait))
			end_wait(wait, next);
	}
	return 0;
}

SEC("tp_btf/sched_waking")
int waking_tp_btf(__u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	bool in_iowait = BPF_CORE_READ_BITFIELD(task, in_iowait);

	if (!epoch || !is_wait(direct_state(task), in_iowait, task->flags))
		return 0;
	if (scheduler_clock)
		join(task->pid, bpf_ktime_get_ns());
	else
		wake(find_wait(task, task->pid));
	return 0;
}

INLINE void completed(struct cpu_state *cpu)
{
	cpu->completed = bpf_jiffies64();
	cpu->completer = bpf_get_current_task();
}

INLINE __u64 address_of(struct request *rq, struct cpu_state *cpu)
{
	cpu->request = (__u64)rq;
	return cpu->request;
}

INLINE struct issue *issue_of(__u64 request)
{
	return &issues[(request * 0x9e3779b97f4a7c15ULL >> 52) & (ISSUES - 1)];
}

INLINE void issued(struct request *rq)
{
	struct cpu_state *cpu = this_cpu();
	struct issue *issue;
	__u64 request;

	if (!epoch || !cpu)
		return;
	request = address_of(rq, cpu);
	issue = issue_of(request);
	if (issue->request == request)
		return; /* given back, and issued again */
	issue->at = bpf_ktime_get_ns();
	issue->request = request;
}

/*
 * A request for a flush is never issued: it ends in the handler of a flush of the kernel's
 * own making, which is what the device had.
 */
INLINE bool ends_with_flush(struct cpu_state *cpu, __u32 bytes)
{
	return !bytes && (cpu->last.op & REQ_OP_MASK) == REQ_OP_FLUSH && cpu->completer == bpf_get_current_task() &&
	       bpf_jiffies64() - cpu->completed <= JOIN_JIFFIES;
}

/* The kernel notes when a request was made only where it accounts for I/O. */
INLINE void divide(struct cpu_state *cpu, struct request *rq, __u64 made, __u32 bytes)
{
	struct request_ref *last = &cpu->last;
	__u64 request = address_of(rq, cpu), now;
	struct issue *issue = issue_of(request);

	if (issue->request != request) {
		if (!ends_with_flush(cpu, bytes))
			last->queue_ns = last->device_ns = 0;
		return;
	}
	last->queue_ns = last->device_ns = 0;
	issue->request = 0;
	now = bpf_ktime_get_ns();
	if (now > issue->at)
		last->device_ns = now - issue->at;
	if (made && made < issue->at)
		last->queue_ns = issue->at - made;
}

SEC("tp_btf/block_rq_issue")
int issue_tp_btf(__u64 *ctx)
{
	issued(first_or_second(ctx, rq_comes_second));
	return 0;
}

SEC("raw_tp/block_rq_issue")
int issue_raw_tp(struct bpf_raw_tracepoint_args *ctx)
{
	issued(first_or_second(ctx, rq_comes_second));
	return 0;
}

INLINE void remember(struct cpu_state *cpu, struct request *rq, __u32 bytes)
{
	struct block_device *part = rq->part;
	struct request_ref *last = &cpu->last;

	divide(cpu, rq, rq->start_time_ns, bytes);
	last->sector = rq->__sector;
	last->op = rq->cmd_flags;
	last->bytes = bytes;
	last->dev = part && !bpf_core_type_exists(struct hd_struct) ? part->bd_dev : request_dev(rq);
}

SEC("tp_btf/sched_process_fork")
int fork_tp_btf(__u64 *ctx)
{
	struct task_struct *parent = (void *)ctx[0], *child = (void *)ctx[1];

	follow_child(parent->pid, child->pid);
	return 0;
}

SEC("tp_btf/block_rq_complete")
int complete_tp_btf(__u64 *ctx)
{
	struct cpu_state *cpu = this_cpu();

	if (!cpu)
		return 0;
	remember(cpu, (void *)ctx[0], ctx[2]);
	completed(cpu);
	return 0;
}

/*
 * Raw tracepoints: the same arguments, untyped. The current task is typed, so a
 * thread is looked at when it goes to sleep.
 */

INLINE bool reads_in_iowait(struct task_struct *task)
{
	return BPF_CORE_READ_BITFIELD_PROBED(task, in_iowait);
}

INLINE void switched_out(void *ctx, __u32 state)
{
	struct task_struct *prev = this_task();
	bool in_iowait = reads_in_iowait(prev);
	__u64 id = bpf_get_current_pid_tgid();
	__u32 pid = id;

	if (is_wait(state, in_iowait, BPF_CORE_READ(prev, flags)))
		begin_wait(ctx, prev, pid, id >> 32, state, in_iowait);
	else if (state & TASK_DEAD)
		leave(prev, pid);
}

INLINE void switched_in(__u32 tid)
{
	struct thread_wait *wait;

	if (!hints[tid & (HINTS - 1)])
		return;
	wait = find_wait(NULL, tid);
	if (wait && in_wait(wait))
		end_wait(wait, NULL);
}

SEC("raw_tp/sched_switch")
int switch_raw_tp(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *next = (void *)ctx->args[2];
	__u32 state;

	if (!epoch)
		return 0;
	state = tells_prev_state ? (__u32)ctx->args[3] : task_state((void *)ctx->args[1]);
	if (state && !(__u8)ctx->args[0])
		switched_out(ctx, state);
	switched_in(BPF_CORE_READ(next, pid));
	return 0;
}

SEC("raw_tp/sched_waking")
int waking_raw_tp(struct bpf_raw_tracepoint_args *ctx)
{
	__u32 tid = BPF_CORE_READ((struct task_struct *)ctx->args[0], pid);

	if (epoch && hints[tid & (HINTS - 1)])
		wake(find_wait(NULL, tid));
	return 0;
}

SEC("raw_tp/block_rq_complete")
int complete_raw_tp(struct bpf_raw_tracepoint_args *ctx)
{
	struct cpu_state *cpu = this_cpu();
	struct request *rq = (void *)ctx->args[0];

	if (!cpu)
		return 0;
	divide(cpu, rq, BPF_CORE_READ(rq, start_time_ns), ctx->args[2]);
	cpu->last.sector = BPF_CORE_READ(rq, __sector);
	cpu->last.op = BPF_CORE_READ(rq, cmd_flags);
	cpu->last.bytes = ctx->args[2];
	cpu->last.dev = request_dev(rq);
	completed(cpu);
	return 0;
}

SEC("raw_tp/sched_process_fork")
int fork_raw_tp(struct bpf_raw_tracepoint_args *ctx)
{
	__u32 parent = BPF_CORE_READ((struct task_struct *)ctx->args[0], pid);
	__u32 child = BPF_CORE_READ((struct task_struct *)ctx->args[1], pid);

	follow_child(parent, child);
	return 0;
}

/* Plain tracepoints: thread ids only. */

SEC("tp/sched/sched_switch")
int switch_tp(struct trace_sched_switch *ctx)
{
	__u32 state;

	if (!epoch)
		return 0;
	/* The event tells less of the state, but what it was. */
	state = task_state(this_task()) | (ctx->prev_state & TASK_UNINTERRUPTIBLE);
	if (state && !(ctx->prev_state & TASK_REPORT_MAX))
		switched_out(ctx, state);
	switched_in(ctx->next_pid);
	return 0;
}

SEC("tp/sched/sched_waking")
int waking_tp(struct trace_sched_wakeup *ctx)
{
	__u32 tid = ctx->pid;

	if (epoch && hints[tid & (HINTS - 1)])
		wake(find_wait(NULL, tid));
	return 0;
}

struct trace_block_rq_complete {
	struct trace_entry entry;
	__u32 dev;
	__u64 sector;
	__u32 nr_sector;
};

SEC("tp/block/block_rq_complete")
int complete_tp(struct trace_block_rq_complete *ctx)
{
	struct cpu_state *cpu = this_cpu();

	if (!cpu)
		return 0;
	cpu->last.dev = ctx->dev;
	cpu->last.sector = ctx->sector;
	cpu->last.bytes = ctx->nr_sector << 9;
	completed(cpu);
	return 0;
}

SEC("tp/task/task_newtask")
int made_tp(void *ctx)
{
	__u32 tgid, tid = made_thread(ctx, &tgid);

	follow_child((__u32)bpf_get_current_pid_tgid(), tid);
	return 0;
}

#include "sleep.h"
#include "walk.h"
