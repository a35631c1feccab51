/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The table of processes: of fixed size, allocated at load, filled without a lock.
 *
 * A process is found by a key of its id and start time, so that a reused id is
 * another process. Keys lie in buckets of eight, which is one cache line: a
 * lookup of a known process reads one line of memory that is rarely written.
 *
 * What is counted lies apart from that, once for each NUMA node and in its own
 * memory: a thread adds to the counts of the node that it runs on, so the lines
 * that are written never cross nodes. Once for each CPU would grow with CPUs times
 * processes; within a node, an atomic add to a line that a neighbour wrote is
 * cheap beside a wait. A reader adds the nodes up.
 */
#ifndef IOWITNESS_PROCESS_H
#define IOWITNESS_PROCESS_H

#include <linux/hash.h>
#include <linux/log2.h>
#include <linux/nodemask.h>
#include <linux/pid_namespace.h>
#include <linux/sched/signal.h>
#include <linux/topology.h>
#include <linux/vmalloc.h>

#include "tally.h"

#define BUCKET 8		/* keys: one cache line */
#define BUCKETS_TRIED 8
#define NO_PROCESS (-1)

#define KEY_NONE 0ULL
#define KEY_LEAVING (~0ULL)
#define KEY_TIME_BITS 42	/* of the start time in units of 1,024 ns: 52 days; pids take 22 bits */

struct process {
	u64 born;		/* start of the process, ns of CLOCK_MONOTONIC */
	u32 tgid;
	u32 ppid;		/* its parent when it first waited */
	u8 named;		/* which of the two names holds */
	bool told_ended;	/* a reader has seen it after its end: its place can be given away */
	char comm[2][TASK_COMM_LEN];
};

static_assert(TASK_COMM_LEN == 16);

static struct {
	u32 size;		/* a power of two */
	u32 buckets;
	u64 *keys;
	struct process *processes;
	int first_node;
	struct tally *tallies[MAX_NUMNODES];	/* of each node; of those that were not online, the first one's */
	struct tally ended;	/* all that gave their places away */
	u64 ended_processes;
} table;

static __always_inline struct tally *process_tally(s32 process)
{
	return &table.tallies[numa_node_id()][process];
}

static __always_inline u64 process_key(struct task_struct *leader)
{
	return ((u64)leader->pid << KEY_TIME_BITS) |
	       ((leader->start_time >> 10) & ((1ULL << KEY_TIME_BITS) - 1));
}

/* Two words, not a call of memcmp() in a handler. */
static __always_inline bool same_name(const char *a, const char *b)
{
	u64 x[2], y[2];

	memcpy(x, a, sizeof(x));
	memcpy(y, b, sizeof(y));
	return x[0] == y[0] && x[1] == y[1];
}

/* A process's name changes when it executes a program. */
static __always_inline void process_name(struct process *p, struct task_struct *leader)
{
	u8 named = READ_ONCE(p->named) & 1;

	if (likely(same_name(p->comm[named], leader->comm)))
		return;
	memcpy(p->comm[!named], leader->comm, TASK_COMM_LEN);
	smp_store_release(&p->named, !named);
}

/*
 * The current process's place, taken if it has none. Two of its threads that
 * come first at once agree on a place, as both take the first free one.
 */
static __always_inline s32 process_find(void)
{
	struct task_struct *leader = current->group_leader;
	u64 key = process_key(leader), seen;
	u32 first = hash_64(key, 32) & (table.buckets - 1), bucket, i, at;
	s32 vacant = NO_PROCESS;

	for (bucket = 0; bucket < min_t(u32, BUCKETS_TRIED, table.buckets); bucket++) {
		at = ((first + bucket) & (table.buckets - 1)) * BUCKET;
		for (i = 0; i < BUCKET; i++, at++) {
			seen = READ_ONCE(table.keys[at]);
			if (likely(seen == key))
				return at;
			if (seen == KEY_NONE && vacant == NO_PROCESS)
				vacant = at;
		}
		/* Places are filled in this order: one that was given away may leave a twin, which readers add up. */
		if (vacant != NO_PROCESS)
			break;
	}
	for (at = vacant; vacant != NO_PROCESS && at / BUCKET == (u32)vacant / BUCKET; at++) {
		seen = cmpxchg(&table.keys[at], KEY_NONE, key);
		if (seen == key)
			return at;
		if (seen == KEY_NONE) {
			struct process *p = &table.processes[at];

			p->tgid = leader->pid;
			/* With preemption off the parent is not freed. */
			p->ppid = rcu_dereference_sched(leader->real_parent)->tgid;
			WRITE_ONCE(p->told_ended, false);
			process_name(p, leader);
			smp_store_release(&p->born, leader->start_time);
			return at;
		}
	}
	return NO_PROCESS;
}

/* For readers, from here on. */

static bool own_node(int node)
{
	return table.tallies[node] && (node == table.first_node || table.tallies[node] != table.tallies[table.first_node]);
}

static void process_sum(struct tally *sum, u32 process)
{
	int node;

	for (node = 0; node < MAX_NUMNODES; node++)
		if (own_node(node))
			tally_add(sum, &table.tallies[node][process]);
}

static bool process_used(u32 process)
{
	u64 key = READ_ONCE(table.keys[process]);

	return key != KEY_NONE && key != KEY_LEAVING && smp_load_acquire(&table.processes[process].born);
}

static u32 processes_used(void)
{
	u32 i, n = 0;

	for (i = 0; i < table.size; i++)
		n += process_used(i);
	return n;
}

static bool process_alive(struct process *p)
{
	struct task_struct *task;
	bool alive;

	rcu_read_lock();
	task = pid_task(find_pid_ns(p->tgid, &init_pid_ns), PIDTYPE_PID);
	alive = task && task->start_time == p->born;
	rcu_read_unlock();
	return alive;
}

/* Under the mutex, while no handler can reach the place. */
static void process_clear(u32 process)
{
	int node;

	for (node = 0; node < MAX_NUMNODES; node++)
		if (own_node(node))
			memset(&table.tallies[node][process], 0, sizeof(struct tally));
	memset(&table.processes[process], 0, sizeof(struct process));
	smp_wmb();
	WRITE_ONCE(table.keys[process], KEY_NONE);
}

/*
 * Gives away the places of processes that have ended and that a reader has seen
 * since: then nothing is lost, and their sums stay in the line of all that ended.
 */
static void processes_reap(void)
{
	u32 i, leaving = 0;

	for (i = 0; i < table.size; i++)
		if (process_used(i) && table.processes[i].told_ended) {
			WRITE_ONCE(table.keys[i], KEY_LEAVING);
			leaving++;
		}
	if (!leaving)
		return;
	wait_for_handlers();
	for (i = 0; i < table.size; i++)
		if (table.keys[i] == KEY_LEAVING) {
			process_sum(&table.ended, i);
			process_clear(i);
		}
	table.ended_processes += leaving;
}

static void table_close(void)
{
	int node;

	for (node = 0; node < MAX_NUMNODES; node++)
		if (node != table.first_node && own_node(node))
			vfree(table.tallies[node]);
	vfree(table.tallies[table.first_node]);
	vfree(table.processes);
	vfree(table.keys);
}

static int table_open(u32 size)
{
	int node;

	table.size = size;
	table.buckets = size / BUCKET;
	table.first_node = first_online_node;
	table.keys = vzalloc(array_size(size, sizeof(*table.keys)));
	table.processes = vzalloc(array_size(size, sizeof(*table.processes)));
	if (!table.keys || !table.processes)
		return -ENOMEM;
	for_each_online_node(node) {
		table.tallies[node] = vzalloc_node(array_size(size, sizeof(struct tally)), node);
		if (!table.tallies[node])
			return -ENOMEM;
	}
	for (node = 0; node < MAX_NUMNODES; node++)
		if (!table.tallies[node])
			table.tallies[node] = table.tallies[table.first_node];
	return 0;
}

#endif
