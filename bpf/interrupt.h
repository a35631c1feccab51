/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Whether the current thread does something, or an interrupt that came upon it. */
#ifndef IOWITNESS_INTERRUPT_H
#define IOWITNESS_INTERRUPT_H

#include "compat.h"

/*
 * Where a CPU's count of interrupts under way lies, as seen from its run queue: both are
 * variables of each CPU, and their distance is in the kernel's types. Helpers that tell
 * are young, and addresses of data often hidden.
 */
const volatile __s64 preempt_count_from_rq = 0;	/* 0: not known */

/* Which of its bits say that an interrupt is served: those of hard ones have moved. */
const volatile __u32 interrupt_bits = 0;

INLINE enum prof_waker waker_context(struct task_struct *current, __u32 tid)
{
	struct rq *rq;
	__u32 count = 0;

	if (!tid)
		return WAKER_INTERRUPT; /* the idle thread wakes nobody */
	if (!preempt_count_from_rq)
		return WAKER_UNSURE;
	rq = run_queue_of(current);
	if (!rq || bpf_probe_read_kernel(&count, sizeof(count), (void *)rq + preempt_count_from_rq))
		return WAKER_UNSURE;
	return count & interrupt_bits ? WAKER_INTERRUPT : WAKER_THREAD;
}

#endif
