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

/*
 * The logarithm of each power of two, by the top six bits of its product with LOG2_MIX, which differ
 * for all of them (a de Bruijn sequence).
 */
#define LOG2_MIX 0x3f79d71b4cb0a89ULL
static const __u8 log2_of[64] = {
	0, 1, 48, 2, 57, 49, 28, 3, 61, 58, 50, 42, 38, 29, 17, 4,
	62, 55, 59, 36, 53, 51, 43, 22, 45, 39, 33, 30, 24, 18, 12, 5,
	63, 47, 56, 27, 60, 41, 37, 16, 54, 35, 52, 21, 44, 32, 23, 11,
	46, 26, 40, 15, 34, 20, 31, 10, 25, 14, 19, 9, 13, 8, 7, 6,
};

/* Without a branch: times are what a CPU cannot predict, and the verifier would try each way. */
INLINE __u32 log2_u64(__u64 v)
{
	v |= v >> 1;
	v |= v >> 2;
	v |= v >> 4;
	v |= v >> 8;
	v |= v >> 16;
	v |= v >> 32;
	v ^= v >> 1;
	return log2_of[v * LOG2_MIX >> 58];
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
