/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Whether anything is witnessed, and what the loader says of the kernel. */
#ifndef IOWITNESS_GATE_H
#define IOWITNESS_GATE_H

#include "compat.h"

const volatile bool storage_by_hash = false;
const volatile bool rq_comes_second = false;	/* tracepoints of requests have the queue first (until 5.11, and some 5.10) */

/*
 * sched_switch tells the state by which a thread was switched out (from 5.18): its
 * waker may change the one in the task at any time.
 */
const volatile bool tells_prev_state = false;

/*
 * The interval's number, written by the user side. 0 is a closed gate: nothing
 * is witnessed before all is attached.
 */
volatile __u32 epoch = 0;

/*
 * When the gate closes by itself, by the witness's clock, unless the user side puts it
 * off: a user side that is stopped or stuck costs nothing. 0: never.
 */
volatile __u64 alive_until = 0;
volatile __u32 fell_silent = 0;	/* how often it did */

/*
 * The first argument of a tracepoint, or the second. The loads are written out: the compiler
 * would reckon with the pointer to the context, which older verifiers refuse.
 */
INLINE void *first_or_second(void *args, bool second)
{
	void *argument;

	if (second)
		asm volatile("%0 = *(u64 *)(%1 + 8)" : "=r"(argument) : "r"(args));
	else
		asm volatile("%0 = *(u64 *)(%1 + 0)" : "=r"(argument) : "r"(args));
	return argument;
}

INLINE bool is_heard(__u64 now)
{
	if (!alive_until || now <= alive_until)
		return true;
	if (epoch) {
		epoch = 0;
		fell_silent++;
	}
	return false;
}

#endif
