/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A wait from its begin to its end, for each means alike. */
#ifndef IOWITNESS_WAIT_H
#define IOWITNESS_WAIT_H

#include "sample.h"
#include "site.h"

/* Keeps the record's layout in the object's type information, for the test of the reader. */
const struct wait_record *wait_record_layout __attribute__((unused));

/* The waking handler of a completion runs in the same context, at once: within this many jiffies. */
#define JOIN_JIFFIES 1

/* The scheduler's clock, as it was read for this switch. */
INLINE __u64 switch_clock(struct task_struct *task)
{
	return scheduler_clock ? task->se.cfs_rq->rq->clock : bpf_ktime_get_ns();
}

INLINE bool is_wait(__u32 state, bool in_iowait, __u32 task_flags)
{
	if (in_iowait)
		return true;
	return (state & TASK_UNINTERRUPTIBLE) && !(state & (TASK_NOLOAD | TASK_FROZEN)) &&
	       !(task_flags & PF_FROZEN && task_flags & PF_KTHREAD);
}

/* Unflagged waiters cannot be told from a bit of the task at switch-in. */
INLINE bool needs_hint(struct thread_wait *wait)
{
	return looks_at_sleep || !(wait->flags & WAIT_FLAGGED);
}


/* Where a waking thread cannot be unwound: look now, at sleep, at the current thread. */
SUBPROGRAM int look_at_sleep(void *ctx, struct thread_wait *wait, __u32 tid)
{
	struct task_struct *task = this_task();
	struct scratch *scratch = this_scratch();

	if (!scratch)
		return 0;
	tell_identity_once(&wait->told, task);
	scratch->sleep.start = wait->start;
	BPF_CORE_READ_STR_INTO(&scratch->sleep.comm, task, comm);
	unwound(&scratch->sleep.site, bpf_get_stack(ctx, scratch->sleep.site.stack, sizeof(scratch->sleep.site.stack), 0));
	scratch->sleep.site.sched_frames = 0;
	put_call(&scratch->sleep.site, task);
	if (bpf_map_update_elem(&sleep_sites, &tid, &scratch->sleep, BPF_ANY))
		lose(LOSS_STACK, 1, 0);
	return 0;
}

INLINE bool in_wait(struct thread_wait *wait)
{
	return wait->start && wait->generation == generation;
}

INLINE void begin_wait(void *ctx, struct task_struct *task, __u32 tid, __u32 tgid, __u32 state, bool in_iowait)
{
	struct thread_wait *wait;
	bool unended;

	if (!is_wanted(task, tid, tgid))
		return;
	if (ratio > 1 && bpf_get_prandom_u32() % ratio) {
		lose(LOSS_RATIO, 1, 0);
		return;
	}
	wait = make_wait(task, tid);
	if (!wait) {
		lose(LOSS_STATE_FULL, 1, 0);
		return;
	}
	unended = in_wait(wait);
	if (unended)
		lose(LOSS_NO_END, 1, 0);
	wait->tid = tid;
	wait->tgid = tgid;
	wait->flags = (in_iowait ? WAIT_FLAGGED : 0) |
		      (state & TASK_INTERRUPTIBLE ? WAIT_INTERRUPTIBLE : 0);
	wait->start = switch_clock(task);
	if (scheduler_clock)
		wait->run_delay = task->sched_info.run_delay;
	if (!wait->born)
		wait->born = wait->start;
	wait->generation = generation;
	if (!is_heard(wait->start)) {
		wait->start = 0;
		return;
	}
	if (needs_hint(wait) && !unended)
		__sync_fetch_and_add(&hints[tid & (HINTS - 1)], 1);
	if (looks_at_sleep && with_sites && would_sample(wait, epoch))
		look_at_sleep(ctx, wait, tid);
}

/* Called for a thread that is about to be woken. */
INLINE void join(__u32 tid, __u64 now)
{
	struct join *join = &joins[tid & (JOINS - 1)];
	struct cpu_state *cpu = this_cpu();

	join->woken = now;
	join->by_request = cpu && cpu->completer == bpf_get_current_task() &&
			   bpf_jiffies64() - cpu->completed <= JOIN_JIFFIES;
	if (join->by_request)
		join->request = cpu->last;
	join->tid = tid;
}

INLINE void wake(struct thread_wait *wait)
{
	if (!wait)
		return;
	wait->woken = bpf_ktime_get_ns();
	join(wait->tid, wait->woken);
}

/* What a wait was, once it is over. */
struct ended_wait {
	__u64 start, woken, runs, seq;
	__u32 flags, weight, function;
};

SUBPROGRAM int record_wait(struct thread_wait *wait, struct task_struct *task, struct ended_wait *ended,
			   struct sleep_site *sleep, void *ctx)
{
	struct wait_record *record = bpf_ringbuf_reserve(&records, sizeof(*record), 0);

	if (!record) {
		lose(LOSS_RING_WAIT, 1, ended->woken - ended->start);
		return 0;
	}
	record->start = ended->start;
	record->woken = ended->woken;
	record->runs = ended->runs;
	record->seq = ended->seq;
	record->born = wait->born;
	record->request = joins[wait->tid & (JOINS - 1)].request;
	record->flags = ended->flags;
	record->weight = ended->weight;
	record->cpu = bpf_get_smp_processor_id();
	record->head.kind = RECORD_WAIT;
	record->head.version = ABI_VERSION;
	record->head.size = sizeof(*record);
	record->head.tid = wait->tid;
	record->head.tgid = wait->tgid;
	if (sleep) {
		__builtin_memcpy(&record->head.comm, &sleep->comm, COMM_BYTES);
		bpf_probe_read_kernel(&record->site, sizeof(record->site), &sleep->site);
	} else if (task) {
		BPF_CORE_READ_STR_INTO(&record->head.comm, task, comm);
		if (by_functions)
			put_own_site(&record->site, task, ctx, ended->function);
		else
			put_site(&record->site, task);
	}
	bpf_ringbuf_submit(record, ring_wakeup());
	return 0;
}

INLINE void count_wait(struct thread_wait *wait, struct ended_wait *ended, __u32 now_epoch)
{
	__u64 blocked = ended->woken - ended->start;
	struct wait_max *max = &wait->max[now_epoch & 1];
	struct wait_sum *sum;
	__u32 slot = hist_slot(blocked);

	sum = &wait->sums[(ended->flags & (WAIT_FLAGGED | WAIT_SLOW))];
	sum->count++;
	sum->blocked_ns += blocked;
	sum->runqueue_ns += ended->runs - ended->woken;
	wait->hist[slot & (HIST_SLOTS - 1)]++;
	if (max->epoch != now_epoch) {
		max->epoch = now_epoch;
		max->ns = 0;
	}
	if (blocked > max->ns)
		max->ns = blocked;
	ended->seq = ++wait->count;
}

/*
 * Wake-ups are stamped by CLOCK_MONOTONIC, for the waker's run queue may not have
 * read its clock for long; the two clocks are compared anew this often.
 */
#define CALIBRATE_NS 1000000

INLINE __u64 to_scheduler_clock(__u64 monotonic, __u64 runs)
{
	struct cpu_state *cpu = this_cpu();

	if (!cpu)
		return 0;
	if (runs - cpu->calibrated > CALIBRATE_NS) {
		__u64 offset = bpf_ktime_get_ns() - runs;

		/* A reading is late if the scheduler was busy since it read its clock: never early. */
		if (cpu->calibrated && offset > cpu->clock_offset)
			offset = cpu->clock_offset + (offset - cpu->clock_offset) / 16;
		cpu->clock_offset = offset;
		cpu->calibrated = runs;
	}
	return monotonic - cpu->clock_offset;
}

/*
 * When sched_waking said so; else when it was put on a run queue, less the delays
 * on those it was moved from: that is later by the way to an idle CPU.
 */
INLINE __u64 scheduler_woken(struct thread_wait *wait, struct task_struct *task, __u64 runs)
{
	struct join *join = &joins[wait->tid & (JOINS - 1)];
	__u64 queued = task->sched_info.last_queued;

	if (join->tid == wait->tid && runs)
		return to_scheduler_clock(join->woken, runs);
	if (!queued)
		return 0;
	return queued - (task->sched_info.run_delay - wait->run_delay);
}

/*
 * When it was woken, made whole: the waker may be ahead of the switch, its CPU's
 * clock a little ahead of this one's, or the wake-up not have been seen.
 */
INLINE void settle_wake(struct thread_wait *wait, struct ended_wait *ended, bool seen)
{
	if (ended->woken > ended->runs)
		ended->woken = ended->runs;
	if (ended->woken >= ended->start)
		return;
	if (seen || (ended->woken && ended->woken >= wait->ended)) {
		ended->flags |= WAIT_EARLY_WAKE;
		ended->woken = ended->start;
		lose(LOSS_EARLY_WAKE, 1, 0);
	} else {
		ended->flags |= WAIT_NO_WAKE;
		ended->woken = ended->runs;
		lose(LOSS_NO_WAKE, 1, ended->runs - ended->start);
	}
}

/* Counts a wait that has ended, and records it if it is slow or chosen. */
INLINE void tell_wait(struct thread_wait *wait, struct task_struct *task, struct ended_wait *ended, bool joined, void *ctx)
{
	struct sleep_site *sleep = NULL;
	__u32 now_epoch = epoch, tid = wait->tid;
	struct cpu_state *cpu;

	wait->ended = ended->runs;
	if (ended->woken - ended->start < min_ns)
		return;
	if (ended->woken - ended->start >= slow_ns)
		ended->flags |= WAIT_SLOW;
	count_wait(wait, ended, now_epoch);
	wait->history = wait->history << 1 | !!(ended->flags & WAIT_SLOW);

	ended->flags = sample(wait, now_epoch, ended->flags);
	if (ended->flags == NOT_SAMPLED)
		return;
	if (!with_sites) {
		lose(LOSS_SHED, 1, ended->woken - ended->start);
		return;
	}
	if (joined)
		ended->flags |= WAIT_JOINED;
	ended->weight = sample_period(wait->in_epoch[!!(ended->flags & WAIT_FLAGGED)]);
	if (looks_at_sleep) {
		sleep = bpf_map_lookup_elem(&sleep_sites, &tid);
		if (!sleep || sleep->start != ended->start) {
			lose(LOSS_STACK, 1, ended->woken - ended->start);
			return;
		}
	}
	cpu = this_cpu();
	if (!cpu || !within_budget(cpu, now_epoch)) {
		lose(LOSS_BUDGET, 1, ended->woken - ended->start);
		return;
	}
	if (task)
		tell_identity_once(&wait->told, task);
	record_wait(wait, task, ended, sleep, ctx);
}

/* The thread runs again. task is NULL where the means gives only a thread id. */
INLINE void end_wait(struct thread_wait *wait, struct task_struct *task)
{
	struct ended_wait ended = {
		.start = wait->start, .woken = wait->woken, .runs = switch_clock(task), .flags = wait->flags,
	};
	__u32 tid = wait->tid;
	struct join *join = &joins[tid & (JOINS - 1)];
	bool joined;

	if (needs_hint(wait))
		__sync_fetch_and_add(&hints[tid & (HINTS - 1)], -1);
	wait->start = 0;
	if (ended.start > ended.runs) {
		lose(LOSS_CLOCK, 1, 0);
		return;
	}
	if (scheduler_clock)
		ended.woken = scheduler_woken(wait, task, ended.runs);
	settle_wake(wait, &ended, join->tid == tid);
	joined = join->tid == tid && join->by_request;
	join->tid = 0;
	tell_wait(wait, task, &ended, joined, NULL);
}

INLINE __u64 waited_ns(struct thread_wait *wait)
{
	return wait->sums[0].blocked_ns + wait->sums[1].blocked_ns + wait->sums[2].blocked_ns + wait->sums[3].blocked_ns;
}

/* What a thread has waited in all so far, out of turn: it ends, or has ended. */
SUBPROGRAM int tell_now(struct thread_wait *wait, struct task_struct *task, __u32 kind)
{
	struct tally_record *record;

	if (!wait || !wait->count)
		return 0;
	record = bpf_ringbuf_reserve(&records, sizeof(*record), 0);
	if (!record) {
		if (kind == RECORD_EXIT)
			lose(LOSS_RING_EXIT, wait->count - wait->walked, waited_ns(wait) - wait->walked_ns);
		return 0;
	}
	put_head(&record->head, kind, sizeof(*record), task);
	record->now = wait->ended;
	__builtin_memcpy(&record->wait, wait, sizeof(record->wait));
	record->has_site = 0;
	record->state = TASK_DEAD;
	bpf_ringbuf_submit(record, ring_wakeup());
	wait->walked = wait->count;
	wait->walked_ns = waited_ns(wait);
	return 0;
}

/* The thread's last moment: tell what it waited in all, then forget it. */
SUBPROGRAM int tell_exit(struct thread_wait *wait, struct task_struct *task, __u32 tid)
{
	tell_now(wait, task, RECORD_EXIT);
	if (wait && storage_by_hash) {
		bpf_map_delete_elem(&thread_hash, &tid);
		bpf_map_delete_elem(&sleep_sites, &tid);
		bpf_map_delete_elem(&call_hash, &tid);
	}
	return 0;
}

INLINE void leave(struct task_struct *task, __u32 tid)
{
	tell_exit(find_wait(task, tid), task, tid);
	if (filter_follow)
		bpf_map_delete_elem(&followed, &tid);
}

#endif
