/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The slots of bpf/hist.h and event/hist.go: four an octave from 1,024 ns on;
 * slot 0 holds all below, the last one all from about 37 minutes on.
 */
#ifndef IOWITNESS_HIST_H
#define IOWITNESS_HIST_H

#include <linux/bitops.h>
#include <linux/types.h>

#define HIST_SLOTS 128
#define HIST_FIRST_LOG2 10
#define HIST_LAST_LOG2 40

static __always_inline unsigned int hist_slot(u64 ns)
{
	unsigned int e;

	if (ns < 1 << HIST_FIRST_LOG2)
		return 0;
	e = fls64(ns) - 1;
	if (e > HIST_LAST_LOG2)
		return HIST_SLOTS - 1;
	return 1 + (e - HIST_FIRST_LOG2) * 4 + ((ns >> (e - 2)) & 3);
}

/* The end of a slot in ns, which is not in it; of the last one, its start. */
static inline u64 hist_end(unsigned int slot)
{
	unsigned int e, quarter;

	if (slot == 0)
		return 1 << HIST_FIRST_LOG2;
	e = HIST_FIRST_LOG2 + (slot - 1) / 4;
	if (e > HIST_LAST_LOG2)
		return 1ULL << (HIST_LAST_LOG2 + 1);
	quarter = (slot - 1) % 4;
	return (1ULL << e) + ((u64)(quarter + 1) << (e - 2));
}

#endif
