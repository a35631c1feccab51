/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Waits in progress, by thread: who has waited since when, and whether a probed
 * function was entered from within another one. It cannot be per CPU: a thread
 * that sleeps wakes up anywhere. Only the thread itself writes its own place.
 *
 * Threads lie in buckets of eight, one cache line; there are as many buckets as
 * return instances of a function, so that a full bucket is rare. It is counted.
 */
#ifndef IOWITNESS_WAITING_H
#define IOWITNESS_WAITING_H

#include "process.h"

#define WAITING_FULL (-1)
#define WAITING_NESTED (-2)

struct waiting {
	u64 start;		/* ns; 0 while the place is being filled */
	unsigned long sp;	/* of the stack at entry */
	s32 process;
	u32 tid;
	bool flagged;		/* in_iowait is set */
};

struct in_progress {
	u64 oldest;		/* start of the oldest wait in progress, or of the looking; 0: none */
	bool flagged;
	u32 at;			/* its place */
	u32 count;
};

static struct {
	u32 buckets;		/* a power of two */
	struct task_struct **threads;
	struct waiting *waits;
	struct in_progress *of;	/* of each process, for readers */
} waiting;

/*
 * A place for the current thread's wait. One that the thread already has is that
 * of an outer function, unless the stack has been left since: then its return
 * was never told.
 */
static __always_inline s32 waiting_claim(unsigned long sp)
{
	u32 at = (hash_ptr(current, 32) & (waiting.buckets - 1)) * BUCKET, i;
	s32 vacant = WAITING_FULL;
	struct task_struct *seen;
	struct waiting *w;

	for (i = 0; i < BUCKET; i++) {
		seen = READ_ONCE(waiting.threads[at + i]);
		if (unlikely(seen == current)) {
			w = &waiting.waits[at + i];
			if (w->tid == (u32)current->pid && sp < w->sp)
				return WAITING_NESTED;
			count_loss(LOSS_UNPAIRED, 0);
			WRITE_ONCE(w->start, 0);
			vacant = at + i;
			goto fill;
		}
		if (!seen && vacant == WAITING_FULL)
			vacant = at + i;
	}
	if (vacant == WAITING_FULL)
		return WAITING_FULL;
	while (cmpxchg(&waiting.threads[vacant], NULL, current))
		if (++vacant == at + BUCKET)
			return WAITING_FULL;
fill:
	w = &waiting.waits[vacant];
	w->sp = sp;
	w->tid = current->pid;
	return vacant;
}

static __always_inline void waiting_start(s32 place, s32 process, bool flagged, u64 start)
{
	if (unlikely(place < 0))
		return;
	waiting.waits[place].process = process;
	waiting.waits[place].flagged = flagged;
	smp_store_release(&waiting.waits[place].start, start);
}

static __always_inline void waiting_release(s32 place)
{
	if (unlikely(place < 0))
		return;
	WRITE_ONCE(waiting.waits[place].start, 0);
	smp_store_release(&waiting.threads[place], NULL);
}

/* Readers: counts the waits in progress of each process, or of one, under the mutex. */
static void waiting_survey(s32 only)
{
	u32 i, size = waiting.buckets * BUCKET;
	struct in_progress *of;
	u64 start;
	s32 process;

	if (only == NO_PROCESS)
		memset(waiting.of, 0, table.size * sizeof(*waiting.of));
	else
		memset(&waiting.of[only], 0, sizeof(*waiting.of));
	for (i = 0; i < size; i++) {
		if (!READ_ONCE(waiting.threads[i]))
			continue;
		start = smp_load_acquire(&waiting.waits[i].start);
		process = READ_ONCE(waiting.waits[i].process);
		if (!start || process < 0 || process >= table.size || (only != NO_PROCESS && process != only))
			continue;
		of = &waiting.of[process];
		of->count++;
		if (!of->oldest || start < of->oldest) {
			of->oldest = start;
			of->flagged = READ_ONCE(waiting.waits[i].flagged);
			of->at = i;
		}
	}
}

/*
 * A process's waits in progress, to be called after its sums were read: a wait
 * that has ended meanwhile is in either or in none, but never in both.
 */
static struct in_progress waiting_of(u32 process)
{
	struct in_progress *of = &waiting.of[process], told;

	smp_rmb();
	if (of->count && READ_ONCE(waiting.waits[of->at].start) != of->oldest)
		waiting_survey(process);
	told = *of;
	if (told.oldest)
		told.oldest = max(told.oldest, rules.opened);
	return told;
}

/* Only while no handler runs. A thread gives its place back itself, when it returns. */
static void waiting_reset(void)
{
	u32 i, size = waiting.buckets * BUCKET;

	for (i = 0; i < size; i++)
		waiting.waits[i].process = NO_PROCESS;
}

static void waiting_close(void)
{
	vfree(waiting.threads);
	vfree(waiting.waits);
	vfree(waiting.of);
}

static int waiting_open(u32 instances)
{
	size_t size;

	waiting.buckets = roundup_pow_of_two(max(instances, 64U));
	size = waiting.buckets * BUCKET;
	waiting.threads = vzalloc(array_size(size, sizeof(*waiting.threads)));
	waiting.waits = vzalloc(array_size(size, sizeof(*waiting.waits)));
	waiting.of = vzalloc(array_size(table.size, sizeof(*waiting.of)));
	return waiting.threads && waiting.waits && waiting.of ? 0 : -ENOMEM;
}

#endif
