/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Time off the CPU by stack. The program's stack can only be taken as the thread leaves; the kernel's
 * where types allow it when it runs again, and only if it was away for long enough. One that was
 * preempted is where it happened to be: that is what cpu tells.
 */
#ifndef IOWITNESS_OFFCPU_H
#define IOWITNESS_OFFCPU_H

#include "switch.h"

const volatile __u64 least_ns = 0;	/* shorter ones are not counted */
const volatile __u32 wanted_states = ~0U;	/* a bit for each enum prof_state */
const volatile bool kernel_threads = false;	/* also their sleeps without work */
const volatile bool unwinds_late = false;

INLINE bool is_wanted_state(struct task_struct *task, enum prof_state state)
{
	if (!(wanted_states & 1U << state))
		return false;
	if (kernel_threads || (state != PROF_SLEEPS && state != PROF_IDLE))
		return true;
	return !(BPF_CORE_READ(task, flags) & PF_KTHREAD);
}

/* The current thread gives up its CPU. */
INLINE void begin_off(void *ctx, struct task_struct *task, __u32 tid, __u32 tgid, __u32 raw_state, bool preempted, __u64 now)
{
	struct off_thread *thread;

	if (!is_wanted_state(task, state_of(raw_state, preempted))) {
		thread = find_thread(task, tid);
		if (thread)
			end_unseen(thread, now);
		return;
	}
	thread = leave_cpu(task, tid, tgid, raw_state, preempted, now);
	if (!thread || thread->state == PROF_PREEMPTED)
		return;
	if (!with_stacks) {
		thread->kernel = PROF_SHED;
		return;
	}
	thread->user = take_user_stack(ctx, task);
	if (unwinds_late)
		thread->lazy = 1;
	else
		thread->kernel = take_kernel_stack(ctx, PROF_NOT_KERNEL);
	meet_process(task, tgid, now);
}

/* A sleeping thread's, typed by the verifier. */
SUBPROGRAM __u64 sleeping_stack(struct task_struct *task, __u32 scratch)
{
	struct prof_stack *stack = scratch_stack(scratch);
	long bytes;

	if (!stack)
		return PROF_NO_ROOM;
	stack->user = 0;
	bytes = bpf_get_task_stack(task, stack->frame, sizeof(stack->frame), 0);
	return bytes > 0 ? number_stack(stack, bytes) : PROF_NOT_KERNEL;
}

/* ended: else the thread is still off, and pays for the time until now. */
SUBPROGRAM int charge_off(struct off_thread *thread, __u64 off, __u64 now, bool ended)
{
	struct prof_sum names = {};
	struct prof_key key = {
		.kernel = thread->kernel, .user = thread->user, .tgid = thread->tgid, .tid = thread->tid,
		.state = thread->state,
	};
	__u64 charged = thread->charged;

	if (ended && thread->state != PROF_PREEMPTED && thread->waker_is && woken_at(thread, off, now)) {
		key.waker_is = thread->waker_is;
		__builtin_memcpy(names.waker_comm, thread->waker.comm, COMM_BYTES);
		if (key.waker_is == WAKER_INTERRUPT)
			names.waker_comm[0] = 0;
		else
			key.waker = thread->waker.tgid;
	}
	__builtin_memcpy(names.comm, thread->comm, COMM_BYTES);
	names.max_ns = now - off;
	names.last = now;
	add_sum(&key, ended, now - (charged > off ? charged : off), &names);
	return 0;
}

/* The thread runs again. task: NULL where only its id is known. */
INLINE void end_off(struct off_thread *thread, struct task_struct *task, __u64 now)
{
	__u64 off;

	if (!thread || thread->generation != generation)
		return;
	off = thread->off;
	thread->off = 0;
	if (!off) {
		thread->on = now;
		return;
	}
	if (now < off) {
		lose(LOSS_CLOCK, 1, 0);
	} else if (now - off >= least_ns) {
		if (thread->lazy && task)
			thread->kernel = sleeping_stack(task, 0);
		charge_off(thread, off, now, true);
	}
	thread->on = now;
}

/* What the walk does: threads that are off already when the gate opens begin then; those that still are pay so far. */
volatile bool adopts = false;

SEC("iter/task")
int off_walk(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct off_thread *thread;
	__u32 tid, tgid, state;
	__u64 now, off;

	if (!task || !epoch)
		return 0;
	tid = task->pid;
	tgid = task->tgid;
	now = bpf_ktime_get_ns();
	if (!adopts) {
		thread = find_thread(task, tid);
		if (!thread || thread->generation != generation)
			return 0;
		off = thread->off;
		if (!off || now <= off || now - off < least_ns || now <= thread->charged)
			return 0;
		if (thread->lazy) {
			thread->kernel = sleeping_stack(task, 1);
			if (thread->off != off)
				return 0; /* it ran meanwhile, and has paid */
			thread->lazy = 0;
		}
		charge_off(thread, off, now, false);
		thread->charged = now;
		return 0;
	}
	state = task_state(task);
	if (!tid || !state || state & TASK_DEAD || is_on_cpu(task) || !is_wanted_state(task, state_of(state, false)) ||
	    !is_wanted(task, tid, tgid))
		return 0;
	thread = make_thread(task, tid);
	if (!thread || thread->generation == generation)
		return 0;
	thread->woken = thread->on = thread->charged = 0;
	thread->tid = tid;
	thread->tgid = tgid;
	thread->state = state_of(state, false);
	thread->user = kernel_only || BPF_CORE_READ(task, flags) & PF_KTHREAD ? PROF_NONE : PROF_UNSEEN;
	thread->kernel = with_stacks ? sleeping_stack(task, 1) : PROF_SHED;
	thread->lazy = 0;
	BPF_CORE_READ_STR_INTO(&thread->comm, task, comm);
	thread->generation = generation;
	thread->off = now;
	meet_process(task, tgid, now);
	return 0;
}

#endif
