/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Log-linear histogram of nanoseconds: four slots an octave from 1,024 ns on.
 * Slot 0 holds all below; the last slot all above about 37 minutes.
 * event/hist.go computes the same slots.
 */
#ifndef IOWITNESS_HIST_H
#define IOWITNESS_HIST_H

#include "abi.h"

#define HIST_FIRST_LOG2 10
#define HIST_LAST_LOG2 40

INLINE __u32 log2_u64(__u64 v)
{
	__u32 r, s;

	r = (v > 0xffffffff) << 5; v >>= r;
	s = (v > 0xffff) << 4; v >>= s; r |= s;
	s = (v > 0xff) << 3; v >>= s; r |= s;
	s = (v > 0xf) << 2; v >>= s; r |= s;
	s = (v > 0x3) << 1; v >>= s; r |= s;
	return r | (v >> 1);
}

INLINE __u32 hist_slot(__u64 ns)
{
	__u32 e;

	if (ns < 1 << HIST_FIRST_LOG2)
		return 0;
	e = log2_u64(ns);
	if (e > HIST_LAST_LOG2)
		return HIST_SLOTS - 1;
	return 1 + (e - HIST_FIRST_LOG2) * 4 + ((ns >> (e - 2)) & 3);
}

#endif
