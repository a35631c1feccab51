/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counts of the module as a whole. They are per CPU: every handler writes them,
 * and one shared cache line that all CPUs write would cost each handler more
 * than all else that it does.
 */
#ifndef IOWITNESS_COUNTERS_H
#define IOWITNESS_COUNTERS_H

#include <linux/cpumask.h>
#include <linux/percpu.h>
#include <linux/types.h>

#define MAX_PROBES 32

/* Why an entry was not looked at, or why time passed without looking. */
enum closed {
	OPEN = 0,
	CLOSED_GATE,		/* by hand */
	CLOSED_DUTY,		/* the pause of the duty cycle */
	CLOSED_HEARTBEAT,	/* nobody reads: no heartbeat in time */
	CLOSED_KINDS,
};

static const char *const closed_names[CLOSED_KINDS] = {
	"open", "gate", "duty", "heartbeat",
};

enum loss {
	LOSS_TABLE_FULL,	/* waits of processes that found no place in the table */
	LOSS_WAITING_FULL,	/* waits counted, but not in the list of waits in progress */
	LOSS_CLOCK,		/* the clock stepped back by a little: time taken as zero */
	LOSS_GIVEN_UP,		/* waits that ended while nobody looked, or were in progress at a reset */
	LOSS_UNPAIRED,		/* entries whose return was never seen */
	LOSSES,
};

static const char *const loss_names[LOSSES] = {
	"table_full", "waiting_full", "clock", "given_up", "unpaired",
};

struct loss_count {
	u64 count;
	u64 ns;
};

struct probe_count {
	u64 entries;		/* recorded */
	u64 returns;		/* of those */
	u64 skipped;		/* by the sampling ratio */
	u64 nested;		/* within a probed function of the same thread: part of that wait */
};

struct counters {
	struct probe_count probes[MAX_PROBES];
	u64 closed[CLOSED_KINDS];
	struct loss_count losses[LOSSES];
	u64 runs;		/* of handlers, while open */
	u64 metered;		/* of them timed */
	u64 metered_ns;
	u64 metered_max;
	u32 gap;		/* so many entries on, the next one is taken; 0: not drawn yet */
	u32 random;
};

static struct counters __percpu *counters;

static __always_inline void count_loss(enum loss kind, u64 ns)
{
	this_cpu_inc(counters->losses[kind].count);
	this_cpu_add(counters->losses[kind].ns, ns);
}

/* Adds up a u64 at an offset of all CPUs' counters; it may be a little behind. */
static u64 counters_sum(size_t offset)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(*(u64 *)((char *)per_cpu_ptr(counters, cpu) + offset));
	return sum;
}

#define COUNTERS_SUM(field) counters_sum(offsetof(struct counters, field))

static u64 counters_metered_max(void)
{
	u64 ns = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		ns = max(ns, READ_ONCE(per_cpu_ptr(counters, cpu)->metered_max));
	return ns;
}

/* Only while no handler runs. */
static void counters_reset(void)
{
	struct counters *c;
	int cpu;

	for_each_possible_cpu(cpu) {
		c = per_cpu_ptr(counters, cpu);
		memset(c, 0, sizeof(*c));
		c->random = 2463534242u + cpu;
	}
}

static int counters_open(void)
{
	counters = alloc_percpu(struct counters);
	if (!counters)
		return -ENOMEM;
	counters_reset();
	return 0;
}

#endif
