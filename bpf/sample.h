/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which waits get a record. */
#ifndef IOWITNESS_SAMPLE_H
#define IOWITNESS_SAMPLE_H

#include "state.h"

/*
 * Of the short waits: the first few of an interval, then one in sample_every and
 * ever fewer, so that a busy thread costs little; at random, since a regular
 * choice would meet a regular program always at the same step.
 * Flagged and unflagged waits have a choice each, so that neither hides the other.
 * WAIT_FIRST, WAIT_SLOW or neither say why a wait was chosen; NOT_SAMPLED that it was not.
 */
#define NOT_SAMPLED (~0U)

INLINE void enter_epoch(struct thread_wait *wait, __u32 now_epoch)
{
	if (wait->epoch == now_epoch)
		return;
	wait->epoch = now_epoch;
	wait->in_epoch[0] = wait->in_epoch[1] = 0;
	wait->next_sample[0] = wait->next_sample[1] = 0;
}

/* One in how many waits is chosen after so many of an interval. */
INLINE __u32 sample_period(__u32 number)
{
	return sample_every == 1 ? 1 : sample_every + number / 16;
}

/* From 1 to twice the period less one: the period on the average. */
INLINE __u32 random_step(__u32 period)
{
	return 1 + bpf_get_prandom_u32() % (2 * period - 1);
}

INLINE __u32 sample(struct thread_wait *wait, __u32 now_epoch, __u32 flags)
{
	__u32 class = !!(flags & WAIT_FLAGGED), number;

	enter_epoch(wait, now_epoch);
	number = ++wait->in_epoch[class];
	if (number <= sample_first) {
		wait->next_sample[class] = sample_first + random_step(sample_every);
		return flags | WAIT_FIRST;
	}
	if (number >= wait->next_sample[class]) {
		wait->next_sample[class] = number + random_step(sample_period(number));
		return flags;
	}
	return flags & WAIT_SLOW ? flags : NOT_SAMPLED;
}

INLINE bool within_budget(struct cpu_state *cpu, __u32 now_epoch)
{
	if (cpu->epoch != now_epoch) {
		cpu->epoch = now_epoch;
		cpu->spent = 0;
	}
	return cpu->spent++ < budget;
}

/* At sleep nobody knows how long it will be: a thread that has waited long of late is likely to do so again. */
INLINE bool would_sample(struct thread_wait *wait, __u32 now_epoch)
{
	__u32 class = !!(wait->flags & WAIT_FLAGGED), number;

	enter_epoch(wait, now_epoch);
	number = wait->in_epoch[class] + 1;
	return number <= sample_first || number >= wait->next_sample[class] || wait->history & 0xff;
}

#endif
