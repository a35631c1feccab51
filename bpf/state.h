/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the witness of waits keeps: settings and the per-thread state. */
#ifndef IOWITNESS_STATE_H
#define IOWITNESS_STATE_H

#include "filter.h"
#include "gate.h"
#include "hist.h"

/* Settings, fixed at load: the verifier removes what a setting switches off. */
const volatile __u64 slow_ns = 1000000;
const volatile __u64 min_ns = 0;
const volatile __u32 sample_every = 64;		/* of the short waits, one in this many */
const volatile __u32 sample_first = 2;		/* and this many of each thread and interval */
const volatile __u32 budget = 4000;		/* wait records per CPU and interval */
/* Stacks are taken at sleep: a waking thread is known by its id only. */
const volatile bool looks_at_sleep = false;
/* Waits are entry and return of functions: nobody sees the wake-up. */
const volatile bool by_functions = false;
/*
 * Instants by the run queue's clock, which the scheduler has just read, and its own
 * run-queue delays; else by CLOCK_MONOTONIC, at the price of reading it.
 */
const volatile bool scheduler_clock = false;

/* One wait in this many is measured at all. */
volatile __u32 ratio = 1;
volatile bool with_sites = true;	/* records of single waits, with stack, file and request */

/* A closed gate misses switches: what was noted before the last opening is no longer true. */
volatile __u32 generation = 0;

/* The walk's instant, and what to add to the scheduler's clock to have CLOCK_MONOTONIC. */
volatile __u64 walk_now = 0;
volatile __u64 walk_offset = 0;

/* Kernel addresses, told once the symbols are read; 0: unknown. */
volatile __u64 wake_page_function = 0;
volatile __u64 sched_text_start = 0;
volatile __u64 sched_text_end = 0;

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread_wait);
} thread_storage SEC(".maps");

/* Where there is no task-local storage, and where a means gives thread ids only. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, __u32);
	__type(value, struct thread_wait);
} thread_hash SEC(".maps");

/* A stack taken at sleep, by means that cannot unwind a thread that wakes. */
struct sleep_site {
	__u64 start;
	char comm[COMM_BYTES];
	struct wait_site site;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, struct sleep_site);
} sleep_sites SEC(".maps");

/* Per CPU, one each: small state that never outlives a context switch or an interval. */
struct cpu_state {
	struct request_ref last;	/* completed */
	__u64 completed;		/* when, in jiffies */
	__u64 completer;		/* and in which task, or on top of which */
	__u32 epoch;			/* of spent */
	__u32 spent;			/* wait records made */
	__u64 calibrated;		/* when clock_offset was taken, by the scheduler's clock */
	__u64 clock_offset;		/* from that to CLOCK_MONOTONIC */
	volatile __u64 request;		/* its address: a number, where the verifier lets nobody reckon with pointers */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct cpu_state);
} cpu_states SEC(".maps");

struct scratch {
	__u64 words[STACK_SCAN_WORDS];
	__u32 found;
	struct sleep_site sleep;
	struct tally_record tally;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct scratch);
} scratches SEC(".maps");

/*
 * Unflagged waiters leave no mark on the task that a switch-in could test: count
 * them by a hash of the thread id, so that a zero says "no storage look-up needed".
 */
#define HINTS 4096
__u32 hints[HINTS];

/* A wake-up, until the thread runs: by a hash of the thread id. */
#define JOINS 4096
struct join {
	__u32 tid;
	__u32 by_request;
	__u64 woken;		/* CLOCK_MONOTONIC */
	struct request_ref request;
};
struct join joins[JOINS];

/* When the driver had a request, by a hash of its address: of two in one place the later one counts. */
#define ISSUES 4096
struct issue {
	__u64 request;
	__u64 at;		/* CLOCK_MONOTONIC */
};
struct issue issues[ISSUES];

static const struct thread_wait no_wait = {};

/* The table of functions that sleep, as the user side numbers them. */
#define FUNCTIONS 64
const volatile __u8 function_flagged[FUNCTIONS] = {};
volatile __u64 function_address[FUNCTIONS] = {};

/* Calls of one thread that have not returned: functions that sleep nest little. */
#define OPEN_CALLS 4
struct open_call {
	__u64 start;
	__u64 switches;		/* the thread's voluntary ones, at entry */
	__u64 inner_ns;		/* of waits within it that have been told */
	__u64 inner_switches;
	__u32 function;
	__u32 generation;
};

struct thread_calls {
	__u32 depth;
	__u32 pad;
	struct open_call open[OPEN_CALLS];
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread_calls);
} call_storage SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, __u32);
	__type(value, struct thread_calls);
} call_hash SEC(".maps");

static const struct thread_calls no_calls = {};

/* Balance of entries and returns. What is open is counted by the walk. */
struct call_balance {
	__u64 entries;
	__u64 returns;		/* that found their entry */
	__u64 strays;		/* that found none: the thread was inside at attachment, or the gate was closed */
	__u64 awake;		/* calls that did not sleep: no waits */
	__u64 deep;		/* entries not followed: too deeply nested */
	__u64 lost;		/* entries without memory */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct call_balance);
} balance SEC(".maps");

volatile __u64 walk_open = 0;	/* calls in which threads still sleep, as of the last walk */

INLINE struct cpu_state *this_cpu(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&cpu_states, &zero);
}

INLINE struct scratch *this_scratch(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&scratches, &zero);
}

/* task: typed by the verifier, or NULL where the means gives only a thread id. */
INLINE struct thread_wait *find_wait(struct task_struct *task, __u32 tid)
{
	if (storage_by_hash)
		return bpf_map_lookup_elem(&thread_hash, &tid);
	return task ? bpf_task_storage_get(&thread_storage, task, 0, 0) : NULL;
}

INLINE struct thread_wait *make_wait(struct task_struct *task, __u32 tid)
{
	struct thread_wait *wait;

	if (!storage_by_hash)
		return task ? bpf_task_storage_get(&thread_storage, task, 0,
						   BPF_LOCAL_STORAGE_GET_F_CREATE) : NULL;
	wait = bpf_map_lookup_elem(&thread_hash, &tid);
	if (wait)
		return wait;
	bpf_map_update_elem(&thread_hash, &tid, &no_wait, BPF_NOEXIST);
	return bpf_map_lookup_elem(&thread_hash, &tid);
}

#endif
