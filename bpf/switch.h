/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A thread from when it gives up its CPU until it has one again. */
#ifndef IOWITNESS_SWITCH_H
#define IOWITNESS_SWITCH_H

#include "profile.h"
#include "interrupt.h"

/* Instants are CLOCK_MONOTONIC in ns. Written on the thread's own CPU, but for what is of its waker. */
struct off_thread {
	__u64 off;		/* switched out; 0: it runs */
	__u64 charged;		/* until then the time is in sums already */
	__u64 on;		/* switched in, before that */
	__u64 kernel, user;	/* stacks */
	__u64 woken;
	__u32 waker_is;		/* enum prof_waker */
	__u32 state;		/* enum prof_state */
	__u32 generation;
	__u32 tgid, tid;
	__u32 lazy;		/* its kernel stack is taken when it runs */
	struct task_id waker;
	char comm[COMM_BYTES];
};

static const struct off_thread no_thread = {};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct off_thread);
} off_storage SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 32768);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, struct off_thread);
} off_hash SEC(".maps");

INLINE struct off_thread *find_thread(struct task_struct *task, __u32 tid)
{
	if (storage_by_hash)
		return bpf_map_lookup_elem(&off_hash, &tid);
	return task ? bpf_task_storage_get(&off_storage, task, 0, 0) : NULL;
}

INLINE struct off_thread *make_thread(struct task_struct *task, __u32 tid)
{
	struct off_thread *thread;

	if (!storage_by_hash)
		return task ? bpf_task_storage_get(&off_storage, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE) : NULL;
	thread = bpf_map_lookup_elem(&off_hash, &tid);
	if (thread)
		return thread;
	bpf_map_update_elem(&off_hash, &tid, &no_thread, BPF_NOEXIST);
	return bpf_map_lookup_elem(&off_hash, &tid);
}

INLINE void forget_thread(__u32 tid)
{
	if (storage_by_hash)
		bpf_map_delete_elem(&off_hash, &tid);
}

INLINE enum prof_state state_of(__u32 state, bool preempted)
{
	if (preempted || !state)
		return PROF_PREEMPTED;
	if (state & (TASK_STOPPED | TASK_TRACED))
		return PROF_STOPPED;
	if (state & TASK_NOLOAD)
		return PROF_IDLE;
	return state & TASK_UNINTERRUPTIBLE ? PROF_BLOCKED : PROF_SLEEPS;
}

/* The thread that wakes, or what it was interrupted by. */
INLINE void note_waker(struct off_thread *thread, __u64 now)
{
	struct task_struct *waker = this_task();
	__u64 id = bpf_get_current_pid_tgid();

	thread->waker_is = waker_context(waker, id);
	thread->waker.tid = id;
	thread->waker.tgid = id >> 32;
	bpf_get_current_comm(&thread->waker.comm, sizeof(thread->waker.comm));
	thread->woken = now;
}

INLINE void wake_thread(struct off_thread *thread)
{
	if (epoch && thread && thread->generation == generation)
		note_waker(thread, bpf_ktime_get_ns());
}

/* One that gives up its CPU has run, though nobody has told that it was switched in: it was away for so long at most. */
INLINE void end_unseen(struct off_thread *thread, __u64 now)
{
	if (thread->off && thread->generation == generation)
		lose(LOSS_NO_END, 1, now - thread->off);
	thread->off = 0;
}

/* The current thread gives up its CPU. NULL: nobody asks about it. */
INLINE struct off_thread *leave_cpu(struct task_struct *task, __u32 tid, __u32 tgid, __u32 state, bool preempted, __u64 now)
{
	struct off_thread *thread;

	if (!tid || !is_wanted(task, tid, tgid))
		return NULL;
	thread = make_thread(task, tid);
	if (!thread) {
		lose(LOSS_PROF_THREADS, 1, 0);
		return NULL;
	}
	end_unseen(thread, now);
	if (thread->generation != generation)
		thread->woken = thread->on = 0;
	thread->generation = generation;
	thread->tid = tid;
	thread->tgid = tgid;
	thread->state = state_of(state, preempted);
	thread->kernel = thread->user = PROF_NONE;
	thread->lazy = 0;
	bpf_get_current_comm(&thread->comm, sizeof(thread->comm));
	thread->charged = 0;
	thread->off = now;
	return thread;
}

/* When it was woken: one that is woken while it is still switching out counts as woken when it is out; 0: not seen. */
INLINE __u64 woken_at(struct off_thread *thread, __u64 off, __u64 now)
{
	__u64 woken = thread->woken;

	if (!woken || woken > now || woken < thread->on)
		return 0;
	return woken < off ? off : woken;
}

#endif
