/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Included last: the walk uses what the programs share. */
#ifndef IOWITNESS_WALK_H
#define IOWITNESS_WALK_H

#include "resolve.h"
#include "sleep.h"

/*
 * The walk over all threads, once an interval: each thread's counters if they
 * moved, each wait in progress, with its stack once it is slow.
 */

#define WALK_ADOPT 1	/* also take on waits that began before iowitness */
volatile __u32 walk_mode = 0;

/*
 * The walk's clock. The reader has yielded just before, so that its run queue's
 * clock was read; what has passed since CLOCK_MONOTONIC tells.
 */
INLINE __u64 walk_clock(__u64 number)
{
	__u64 now = bpf_ktime_get_ns();

	if (!scheduler_clock)
		return now;
	if (!number)
		walk_offset = now - BPF_CORE_READ(this_task(), se.cfs_rq, rq, clock);
	return now - walk_offset;
}

/* se.exec_start is when a thread last ran, on the scheduler's clock; the reader ran just now. */
INLINE __u64 ran_until(struct task_struct *task, __u64 now)
{
	__u64 last = BPF_CORE_READ(task, se.exec_start);
	__u64 age = BPF_CORE_READ(this_task(), se.exec_start) - last;

	return last && (__s64)age > 0 && age < now ? now - age : now;
}

INLINE struct thread_wait *adopt(struct task_struct *task, __u64 now)
{
	__u32 state = task_state(task), tid = task->pid;
	bool in_iowait = reads_in_iowait(task);
	struct thread_wait *wait;

	if (by_functions || !(walk_mode & WALK_ADOPT) || !state || is_on_cpu(task) ||
	    !is_wait(state, in_iowait, task->flags) || !is_wanted(task, tid, task->tgid))
		return NULL;
	wait = make_wait(task, tid);
	if (!wait)
		return NULL;
	wait->tid = tid;
	wait->tgid = task->tgid;
	wait->flags = WAIT_ADOPTED | (in_iowait ? WAIT_FLAGGED : 0) |
		      (state & TASK_INTERRUPTIBLE ? WAIT_INTERRUPTIBLE : 0);
	if (needs_hint(wait))
		__sync_fetch_and_add(&hints[tid & (HINTS - 1)], 1);
	wait->start = ran_until(task, now);
	if (scheduler_clock)
		wait->run_delay = task->sched_info.run_delay;
	if (!wait->born)
		wait->born = wait->start;
	wait->generation = generation;
	return wait;
}

INLINE void count_open(struct task_struct *task, __u64 number)
{
	struct thread_calls *calls = find_calls(task, task->pid);

	if (!number)
		walk_open = 0;
	if (calls && task_state(task))
		walk_open += calls->depth;
}

SEC("iter/task")
int walk(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct thread_wait *wait;
	struct scratch *scratch;
	struct tally_record *record;
	__u64 now;
	__u32 size;

	if (!task)
		return 0;
	now = walk_now = walk_clock(ctx->meta->seq_num);
	if (!self_tgid)
		self_tgid = bpf_get_current_pid_tgid() >> 32;
	if (by_functions)
		count_open(task, ctx->meta->seq_num);
	wait = find_wait(task, task->pid);
	if (!wait || !in_wait(wait)) {
		struct thread_wait *adopted = adopt(task, now);

		wait = adopted ? adopted : wait;
	}
	if (!wait || (!in_wait(wait) && wait->count == wait->walked))
		return 0;
	scratch = this_scratch();
	if (!scratch)
		return 0;
	record = &scratch->tally;
	put_head(&record->head, RECORD_TALLY, sizeof(*record), task);
	bpf_probe_read_kernel(&record->wait, sizeof(record->wait), wait);
	if (!in_wait(wait))
		record->wait.start = 0;
	record->now = now;
	record->state = task_state(task);
	if (scheduler_clock && record->wait.start)
		record->wait.woken = scheduler_woken(wait, task, 0);
	record->has_site = 0;
	size = sizeof(*record) - sizeof(record->site);
	if (record->wait.start && record->wait.start != wait->told_start &&
	    record->now - record->wait.start >= slow_ns) {
		put_site(&record->site, task);
		record->has_site = 1;
		size = sizeof(*record);
	}
	record->head.size = size;
	/* On overflow the kernel shows the thread again, to an empty buffer. */
	if (bpf_seq_write(ctx->meta->seq, record, size))
		return 0;
	wait->walked = record->wait.count;
	wait->walked_ns = waited_ns(&record->wait);
	if (record->has_site)
		wait->told_start = record->wait.start;
	return 0;
}

#endif
