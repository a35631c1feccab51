/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Slots of a table that are taken by whoever comes first, on any CPU. */
#ifndef IOWITNESS_SLOT_H
#define IOWITNESS_SLOT_H

#include "compat.h"

#define SLOT_MIX 0x9e3779b97f4a7c15ULL	/* spreads what differs in few bits over the upper half */

/*
 * The lower half of an address, as a number: the verifier takes no other one of a typed
 * pointer, with which nothing may be reckoned.
 */
INLINE __u64 low_half(const void *pointer)
{
	__u64 half;

	asm volatile("r0 = %1; w0 = w0; %0 = r0" : "=r"(half) : "r"(pointer) : "r0");
	return half;
}

/*
 * Compare-and-exchange is there only from 5.12 on. Of two that come at once neither may get the
 * slot; but nobody gets one that is another's: who finds himself alone has come when it was free,
 * and whoever comes later is not alone.
 */
INLINE bool claim(__u32 *claims)
{
	volatile __u32 *now = claims;

	if (*now)
		return false;
	__sync_fetch_and_add(claims, 1);
	if (*now == 1)
		return true;
	__sync_fetch_and_add(claims, -1);
	return false;
}

INLINE void release(__u32 *claims)
{
	__sync_fetch_and_add(claims, -1);
}

#endif
