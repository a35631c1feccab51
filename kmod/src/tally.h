/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is counted of a process on one NUMA node. CPUs of the node add to it at
 * once, so every count is atomic. The few that each wait touches fill two cache
 * lines; the histogram begins on one of its own.
 */
#ifndef IOWITNESS_TALLY_H
#define IOWITNESS_TALLY_H

#include <linux/atomic.h>
#include <linux/cache.h>

#include "gate.h"
#include "hist.h"

/* The longest wait of an epoch: its number above, ns below. */
#define EPOCH_BITS 20
#define EPOCH_NS_BITS (64 - EPOCH_BITS)
#define EPOCH_NS_MAX ((1ULL << EPOCH_NS_BITS) - 1)
#define EPOCH_MASK ((1U << EPOCH_BITS) - 1)

struct wait_sum {
	atomic64_t count;
	atomic64_t ns;
};

struct tally {
	atomic64_t entries;	/* recorded; more than the rest by those in flight */
	struct wait_sum sums[2];	/* without and with in_iowait */
	struct wait_sum not_waited;	/* returned without having been switched out of its own accord */
	atomic64_t below_min;
	atomic64_t max_ns;
	atomic64_t epoch_max[2];	/* by epoch & 1 */
	atomic64_t hist[HIST_SLOTS] ____cacheline_aligned;
} ____cacheline_aligned;

/* A plain u64 that any CPU may raise; each try fails only if another one raised it. */
static __always_inline void raise_to(atomic64_t *v, u64 ns)
{
	s64 old = atomic64_read(v), seen;

	while ((u64)old < ns) {
		seen = atomic64_cmpxchg(v, old, ns);
		if (seen == old)
			return;
		old = seen;
	}
}

static __always_inline void raise_epoch_max(struct tally *t, u64 ns)
{
	u32 epoch = READ_ONCE(rules.epoch);
	u64 mark = (u64)(epoch & EPOCH_MASK) << EPOCH_NS_BITS;
	u64 value = mark | min_t(u64, ns, EPOCH_NS_MAX);
	atomic64_t *v = &t->epoch_max[epoch & 1];
	s64 old = atomic64_read(v), seen;

	while (((u64)old & ~EPOCH_NS_MAX) != mark || (u64)old < value) {
		seen = atomic64_cmpxchg(v, old, value);
		if (seen == old)
			return;
		old = seen;
	}
}

static __always_inline void tally_wait(struct tally *t, bool flagged, u64 ns)
{
	atomic64_inc(&t->sums[flagged].count);
	atomic64_add(ns, &t->sums[flagged].ns);
	atomic64_inc(&t->hist[hist_slot(ns)]);
	raise_to(&t->max_ns, ns);
	raise_epoch_max(t, ns);
}

/* For readers, from here on. */

static void add_to(atomic64_t *sum, atomic64_t *v)
{
	atomic64_add(atomic64_read(v), sum);
}

/* The later epoch's longest wait holds; of the same one, the longer. */
static void merge_epoch_max(atomic64_t *into, u64 value)
{
	u64 have = atomic64_read(into);
	u32 ahead = (u32)((value >> EPOCH_NS_BITS) - (have >> EPOCH_NS_BITS)) & EPOCH_MASK;

	if (ahead ? ahead < EPOCH_MASK / 2 : value > have)
		atomic64_set(into, value);
}

static void tally_add(struct tally *sum, struct tally *t)
{
	unsigned int i;

	/* Entries last: those in flight are what entries are more than the rest. */
	for (i = 0; i < 2; i++) {
		add_to(&sum->sums[i].count, &t->sums[i].count);
		add_to(&sum->sums[i].ns, &t->sums[i].ns);
		merge_epoch_max(&sum->epoch_max[i], atomic64_read(&t->epoch_max[i]));
	}
	add_to(&sum->not_waited.count, &t->not_waited.count);
	add_to(&sum->not_waited.ns, &t->not_waited.ns);
	add_to(&sum->below_min, &t->below_min);
	raise_to(&sum->max_ns, atomic64_read(&t->max_ns));
	for (i = 0; i < HIST_SLOTS; i++)
		add_to(&sum->hist[i], &t->hist[i]);
	smp_rmb();
	add_to(&sum->entries, &t->entries);
}

#endif
