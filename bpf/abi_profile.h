/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What both sides share of profiles: a part of abi.h. */
#ifndef IOWITNESS_ABI_PROFILE_H
#define IOWITNESS_ABI_PROFILE_H

#define PROF_DEPTH 127

/* Stacks are kept once each, under a hash of their frames. Numbers below PROF_FIRST say why there is none. */
enum prof_none {
	PROF_NONE = 0,		/* there is none: a kernel thread's in user space, or the kernel's of a running program */
	PROF_NOT_KERNEL,	/* could not be taken */
	PROF_NOT_USER,
	PROF_NO_ROOM,
	PROF_COLLISION,
	PROF_SHED,
	PROF_UNSEEN,		/* it was switched out before the gate opened */
	PROF_FIRST = 16,
};

struct prof_stack {
	__u32 frames;
	__u32 user;
	__u64 check;		/* a second hash: of two stacks with one number */
	__u64 frame[PROF_DEPTH];
};

/* How a thread gave up its CPU. */
enum prof_state {
	PROF_RUNNING = 0,	/* it was sampled on it */
	PROF_SLEEPS,		/* interruptible */
	PROF_BLOCKED,		/* uninterruptible */
	PROF_STOPPED,		/* by a signal or a tracer */
	PROF_IDLE,		/* as kernel threads without work do */
	PROF_PREEMPTED,		/* it could have gone on, or gave way */
	PROF_STATES,
};

/* In what context somebody was woken. */
enum prof_waker {
	WAKER_UNSEEN = 0,
	WAKER_THREAD,		/* by the thread itself */
	WAKER_INTERRUPT,	/* in an interrupt: whom it interrupted has nothing to do with it */
	WAKER_UNSURE,		/* one of the two */
	WAKER_NEW,		/* by the thread that made it */
};

/* What samples and times off the CPU are summed up by. */
struct prof_key {
	__u64 kernel;
	__u64 user;
	__u32 tgid;
	__u32 tid;
	__u32 waker;		/* process that woke it; 0: none, or an interrupt */
	__u16 state;		/* enum prof_state */
	__u16 waker_is;		/* enum prof_waker */
};

struct prof_sum {
	__u64 count;
	__u64 ns;
	__u64 max_ns;
	__u64 last;		/* CLOCK_MONOTONIC: when it was seen last */
	char comm[COMM_BYTES];
	char waker_comm[COMM_BYTES];
};

/* Of one CPU, since the start. */
struct prof_cpu {
	__u64 samples;
	__u64 idle;		/* of them: nothing ran */
	__u64 left_out;		/* of them: not what was asked for */
	__u64 last;		/* when the last one was taken */
	__u64 gaps;		/* samples came late, by a period or more */
	__u64 missed;		/* so many were not taken */
	__u64 gap_ns;
	__u64 rested;		/* and so many were not due: it was idle */
	__u64 idle_ns;		/* for how long it had been idle at last */
	__u64 idle_ends;	/* and how often that had ended */
	__u32 generation;	/* of last */
	__u32 pad;
};

/* Samples that came late, by where the CPU then was. */
struct prof_gap_key {
	__u64 kernel;
	__u64 user;
	__u32 tgid;
	__u32 tid;
	__u32 cpu;
	__u32 pad;
};

struct prof_gap {
	__u64 count;
	__u64 ns;		/* without a sample that was due */
	__u64 max_ns;
	__u64 missed;
	__u64 last;
	char comm[COMM_BYTES];
};

enum process_event {
	PROCESS_SEEN = 0,
	PROCESS_FORKED,
	PROCESS_EXECUTED,
};

struct process_record {
	struct record_head head;
	__u64 at;		/* CLOCK_MONOTONIC */
	__u32 event;		/* enum process_event */
	__u32 parent;		/* of one that was made */
};

/* Waits for a CPU, of a process or on a CPU. */
enum runq_of {
	RUNQ_PROCESS = 0,
	RUNQ_CPU,
};

enum runq_kind {
	RUNQ_WOKEN = 0,		/* since a wake-up */
	RUNQ_PREEMPTED,		/* since it had to give way */
	RUNQ_KINDS,
};

struct runq_key {
	__u32 of;
	__u32 id;
};

struct runq_part {
	__u64 count;
	__u64 ns;
	__u64 max_ns;
	__u64 max_at;		/* CLOCK_MONOTONIC: its end */
	__u32 max_cpu;
	__u32 max_tid;
	__u32 hist[HIST_SLOTS];
};

struct runq_sum {
	char comm[COMM_BYTES];
	struct runq_part parts[RUNQ_KINDS];
};

/* Who woke whom. */
struct runq_pair {
	__u32 waker;		/* process; 0: an interrupt */
	__u32 woken;
	__u32 waker_is;		/* enum prof_waker */
	__u32 pad;
};

struct runq_pair_sum {
	__u64 count;
	__u64 ns;
	__u64 max_ns;
	char waker_comm[COMM_BYTES];
	char woken_comm[COMM_BYTES];
};

/* What ran on a CPU. */
struct runq_run {
	struct task_id task;
	__u64 from, to;
};

#define RUNQ_RUNS 32

struct runq_record {
	struct record_head head;
	__u64 since;
	__u64 runs;
	__u32 cpu;
	__u32 kind;		/* enum runq_kind */
	__u32 waker_is;
	__u32 frames;
	struct task_id waker;
	struct runq_run run[RUNQ_RUNS];
	__u64 stack[STACK_DEPTH];	/* of what ran last, as it gave up the CPU */
};

#endif
