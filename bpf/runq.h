/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Waits for a CPU: since a wake-up, or since a thread had to give way; and what had the CPU meanwhile. */
#ifndef IOWITNESS_RUNQ_H
#define IOWITNESS_RUNQ_H

#include "switch.h"

const volatile __u64 long_ns = 10000000;	/* waits this long are told one by one */
const volatile __u32 long_budget = 256;		/* on each CPU in an interval */

/* Preallocated: what is made as threads switch comes from a small reserve, which bursts exhaust. */
struct runq_sums {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 2048);
	__type(key, struct runq_key);
	__type(value, struct runq_sum);
} runq_even SEC(".maps"), runq_odd SEC(".maps");

struct runq_pairs {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__type(key, struct runq_pair);
	__type(value, struct runq_pair_sum);
} pairs_even SEC(".maps"), pairs_odd SEC(".maps");

struct runq_cpu {
	__u64 switched;		/* when what runs began to */
	__u32 runs;
	__u32 epoch;
	__u32 spent;
	__u32 pad;
	struct runq_run run[RUNQ_RUNS];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct runq_cpu);
} runq_cpus SEC(".maps");

/* Zeroes to make sums of: too many for the program's stack. */
static const struct runq_sum no_runq = {};
static const struct runq_pair_sum no_pair = {};

INLINE struct runq_cpu *this_runq(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&runq_cpus, &zero);
}

/* The current thread has run until now. */
INLINE void note_run(struct runq_cpu *cpu, __u32 tid, __u32 tgid, __u64 now)
{
	struct runq_run *run = &cpu->run[cpu->runs & (RUNQ_RUNS - 1)];

	cpu->runs++;
	run->task.tid = tid;
	run->task.tgid = tgid;
	bpf_get_current_comm(&run->task.comm, sizeof(run->task.comm));
	run->from = cpu->switched;
	run->to = now;
	cpu->switched = now;
}

struct runq_wait {
	__u64 since, now;
	__u32 kind, cpu;
};

SUBPROGRAM int add_runq(__u32 of, __u32 id, struct off_thread *thread, struct runq_wait *wait)
{
	void *sums = epoch & 1 ? (void *)&runq_odd : (void *)&runq_even;
	struct runq_key key = { .of = of, .id = id };
	struct runq_sum *sum = bpf_map_lookup_elem(sums, &key);
	__u64 ns = wait->now - wait->since;
	struct runq_part *part;

	if (!sum) {
		bpf_map_update_elem(sums, &key, &no_runq, BPF_NOEXIST);
		sum = bpf_map_lookup_elem(sums, &key);
		if (!sum) {
			lose(LOSS_PROF_SUMS, 1, ns);
			return 0;
		}
		if (of == RUNQ_PROCESS)
			__builtin_memcpy(sum->comm, thread->comm, COMM_BYTES);
	}
	part = wait->kind == RUNQ_PREEMPTED ? &sum->parts[RUNQ_PREEMPTED] : &sum->parts[RUNQ_WOKEN];
	add_to(&part->count, 1);
	add_to(&part->ns, ns);
	__sync_fetch_and_add(&part->hist[hist_slot(ns) & (HIST_SLOTS - 1)], 1);
	if (ns > part->max_ns) {
		part->max_ns = ns;
		part->max_at = wait->now;
		part->max_cpu = wait->cpu;
		part->max_tid = thread->tid;
	}
	return 0;
}

SUBPROGRAM int add_pair(struct off_thread *thread, __u64 ns)
{
	void *pairs = epoch & 1 ? (void *)&pairs_odd : (void *)&pairs_even;
	struct runq_pair key = { .woken = thread->tgid, .waker_is = thread->waker_is };
	struct runq_pair_sum *sum;

	if (key.waker_is != WAKER_INTERRUPT)
		key.waker = thread->waker.tgid;
	sum = bpf_map_lookup_elem(pairs, &key);
	if (!sum) {
		bpf_map_update_elem(pairs, &key, &no_pair, BPF_NOEXIST);
		sum = bpf_map_lookup_elem(pairs, &key);
		if (!sum) {
			lose(LOSS_PROF_PAIRS, 1, ns);
			return 0;
		}
		if (key.waker)
			__builtin_memcpy(sum->waker_comm, thread->waker.comm, COMM_BYTES);
		__builtin_memcpy(sum->woken_comm, thread->comm, COMM_BYTES);
	}
	add_to(&sum->count, 1);
	add_to(&sum->ns, ns);
	if (ns > sum->max_ns)
		sum->max_ns = ns;
	return 0;
}

/* The wait's record, but for the stack: what takes that differs by the program's type. */
SUBPROGRAM int put_runq(struct runq_record *record, struct off_thread *thread, struct runq_wait *wait, struct runq_cpu *cpu)
{
	record->head.kind = RECORD_RUNQ;
	record->head.version = ABI_VERSION;
	record->head.size = sizeof(*record);
	record->head.tid = thread->tid;
	record->head.tgid = thread->tgid;
	__builtin_memcpy(&record->head.comm, &thread->comm, COMM_BYTES);
	record->since = wait->since;
	record->runs = wait->now;
	record->cpu = wait->cpu;
	record->kind = wait->kind;
	record->waker_is = wait->kind == RUNQ_WOKEN ? thread->waker_is : WAKER_UNSEEN;
	record->waker = thread->waker;
	bpf_probe_read_kernel(&record->run, sizeof(record->run), &cpu->run);
	return 0;
}

INLINE bool may_tell_long(struct runq_cpu *cpu)
{
	__u32 now_epoch = epoch;

	if (cpu->epoch != now_epoch) {
		cpu->epoch = now_epoch;
		cpu->spent = 0;
	}
	return cpu->spent++ < long_budget;
}

/* Since when the thread has waited for this CPU; 0: not known. */
INLINE __u64 ready_since(struct off_thread *thread, __u64 off, __u64 now)
{
	__u64 since;

	if (thread->state == PROF_PREEMPTED)
		return off;
	since = woken_at(thread, off, now);
	if (!since)
		lose(LOSS_NO_WAKE, 1, now - off);
	return since;
}

INLINE void tell_long(void *ctx, struct off_thread *thread, struct runq_wait *wait, struct runq_cpu *cpu)
{
	__u64 ns = wait->now - wait->since;
	struct runq_record *record;
	long bytes = 0;

	if (!may_tell_long(cpu)) {
		lose(LOSS_PROF_BUDGET, 1, ns);
		return;
	}
	record = bpf_ringbuf_reserve(&records, sizeof(*record), 0);
	if (!record) {
		lose(LOSS_RING_RUNQ, 1, ns);
		return;
	}
	put_runq(record, thread, wait, cpu);
	if (with_stacks)
		bytes = bpf_get_stack(ctx, record->stack, sizeof(record->stack), 0);
	record->frames = bytes > 0 ? bytes / 8 : 0;
	bpf_ringbuf_submit(record, ring_wakeup());
}

/* The thread runs again, in place of the current one. */
INLINE void end_runq(void *ctx, struct off_thread *thread, struct runq_cpu *cpu, __u64 now)
{
	struct runq_wait wait = { .now = now, .cpu = bpf_get_smp_processor_id() };
	__u64 off;

	if (!thread || thread->generation != generation)
		return;
	off = thread->off;
	thread->off = 0;
	if (off && now < off)
		lose(LOSS_CLOCK, 1, 0);
	else if (off)
		wait.since = ready_since(thread, off, now);
	thread->on = now;
	if (!wait.since)
		return;
	wait.kind = thread->state == PROF_PREEMPTED ? RUNQ_PREEMPTED : RUNQ_WOKEN;
	add_runq(RUNQ_PROCESS, thread->tgid, thread, &wait);
	add_runq(RUNQ_CPU, wait.cpu, thread, &wait);
	if (wait.kind == RUNQ_WOKEN && thread->waker_is)
		add_pair(thread, now - wait.since);
	if (now - wait.since >= long_ns)
		tell_long(ctx, thread, &wait, cpu);
}

/* A new thread, not yet awake. task: its own, or that of who makes it, whose name it has. NULL: nobody asks about it. */
INLINE struct off_thread *expect_new(struct task_struct *task, __u32 tid, __u32 tgid)
{
	struct off_thread *thread;

	if (!tid || !epoch || !is_wanted(task, tid, tgid))
		return NULL;
	thread = make_thread(task, tid);
	if (!thread) {
		lose(LOSS_PROF_THREADS, 1, 0);
		return NULL;
	}
	thread->generation = generation;
	thread->tid = tid;
	thread->tgid = tgid;
	thread->state = PROF_SLEEPS;
	thread->off = thread->on = 0;
	BPF_CORE_READ_STR_INTO(&thread->comm, task, comm);
	return thread;
}

/* A new thread waits for its first CPU. */
INLINE void wake_new(struct off_thread *thread, __u64 now)
{
	if (!thread || thread->generation != generation)
		return;
	note_waker(thread, now);
	thread->waker_is = WAKER_NEW;
	thread->off = now;
}

#endif
