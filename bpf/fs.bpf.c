/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The witness of file systems: sys_enter and sys_exit see both ends of each call on
 * a file, sched_switch and sched_waking what a call that synchronizes sleeps for,
 * and jbd2's and the block layer's tracepoints what goes on beneath.
 */
#include "sync.h"
#include "journal.h"
#include "resolve.h"
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

SEC("tp_btf/sys_enter")
int enter_tp_btf(__u64 *ctx)
{
	struct pt_regs *regs = (void *)ctx[0];

	begin_call(op_of(ctx[1]), regs->di, NULL);
	return 0;
}

struct mapped {
	struct file *file;
};

static long note_mapped(struct task_struct *task, struct vm_area_struct *vma, struct mapped *mapped)
{
	mapped->file = vma->vm_file;
	return 0;
}

/* 7c7e3d31e785 ("bpf: Introduce helper bpf_find_vma", 5.17): with it, msync's file is known too. */
SEC("tp_btf/sys_enter")
int enter_vma_tp_btf(__u64 *ctx)
{
	struct pt_regs *regs = (void *)ctx[0];
	__u32 op = op_of(ctx[1]);
	struct mapped mapped = {};

	if (op == FS_MSYNC && epoch)
		bpf_find_vma(bpf_get_current_task_btf(), regs->di, note_mapped, &mapped, 0);
	begin_call(op, regs->di, mapped.file);
	return 0;
}

SEC("tp_btf/sys_exit")
int exit_tp_btf(__u64 *ctx)
{
	struct pt_regs *regs = (void *)ctx[0];

	end_call(regs->orig_ax, ctx[1]);
	return 0;
}

SEC("tp_btf/sched_switch")
int switch_tp_btf(__u64 *ctx)
{
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];

	if (hints[prev->pid & (HINTS - 1)]) {
		__u32 state = tells_prev_state ? (__u32)ctx[3] : direct_state(prev);

		begin_sleep(ctx, prev, prev->pid, state && !(__u8)ctx[0],
			    BPF_CORE_READ_BITFIELD(prev, in_iowait));
	}
	if (hints[next->pid & (HINTS - 1)])
		end_sleep(find_call(next, next->pid));
	return 0;
}

SEC("tp_btf/sched_waking")
int waking_tp_btf(__u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];

	if (hints[task->pid & (HINTS - 1)])
		wake(find_call(task, task->pid));
	return 0;
}

SEC("raw_tp/sys_enter")
int enter_raw_tp(struct bpf_raw_tracepoint_args *ctx)
{
	begin_call(op_of(ctx->args[1]), syscall_argument((void *)ctx->args[0], 1), NULL);
	return 0;
}

SEC("raw_tp/sys_exit")
int exit_raw_tp(struct bpf_raw_tracepoint_args *ctx)
{
	end_call(BPF_CORE_READ((struct pt_regs *)ctx->args[0], orig_ax), ctx->args[1]);
	return 0;
}

SEC("raw_tp/sched_switch")
int switch_raw_tp(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *prev = (void *)ctx->args[1];
	__u32 out = (__u32)bpf_get_current_pid_tgid(), in = BPF_CORE_READ((struct task_struct *)ctx->args[2], pid);

	if (hints[out & (HINTS - 1)]) {
		__u32 state = tells_prev_state ? (__u32)ctx->args[3] : task_state(prev);

		begin_sleep(ctx, NULL, out, state && !(__u8)ctx->args[0],
			    BPF_CORE_READ_BITFIELD_PROBED(prev, in_iowait));
	}
	if (hints[in & (HINTS - 1)])
		end_sleep(find_call(NULL, in));
	return 0;
}

SEC("raw_tp/sched_waking")
int waking_raw_tp(struct bpf_raw_tracepoint_args *ctx)
{
	__u32 tid = BPF_CORE_READ((struct task_struct *)ctx->args[0], pid);

	if (hints[tid & (HINTS - 1)])
		wake(find_call(NULL, tid));
	return 0;
}

SEC("raw_tp/jbd2_commit_locking")
int commit_locking(void *ctx)
{
	begin_commit();
	return 0;
}

SEC("raw_tp/jbd2_commit_flushing")
int commit_flushing(void *ctx)
{
	struct commit *commit = this_commit();

	if (commit)
		commit->flushing = bpf_ktime_get_ns();
	return 0;
}

SEC("raw_tp/jbd2_commit_logging")
int commit_logging(void *ctx)
{
	struct commit *commit = this_commit();

	if (commit)
		commit->logging = bpf_ktime_get_ns();
	return 0;
}

SEC("raw_tp/jbd2_run_stats")
int commit_stats(struct bpf_raw_tracepoint_args *ctx)
{
	end_commit(ctx->args[0], (void *)ctx->args[2]);
	return 0;
}

SEC("raw_tp/block_rq_issue")
int flush_issue(struct bpf_raw_tracepoint_args *ctx)
{
	struct request *rq = first_or_second(ctx, rq_comes_second);

	if (is_flush(rq))
		begin_flush(rq);
	return 0;
}

SEC("raw_tp/block_rq_complete")
int flush_complete(struct bpf_raw_tracepoint_args *ctx)
{
	struct request *rq = (void *)ctx->args[0];

	if (is_flush(rq))
		end_flush(rq);
	return 0;
}
