/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Threads that are followed, to their last moment: one that has begun to end still runs, waits and
 * calls, as it lets go of its memory (before sched_process_exit until 6.15, after it since) and of
 * its files. It is out of the way when it is freed, but then its number may be another one's
 * already: what is forgotten is only who was seen to end.
 */
#ifndef IOWITNESS_FOLLOW_H
#define IOWITNESS_FOLLOW_H

#include "filter.h"

enum { FOLLOWED = 1, FOLLOWED_ENDS };

/* The current thread begins to end. */
INLINE void end_followed(__u32 tid)
{
	__u8 *place = bpf_map_lookup_elem(&followed, &tid);

	if (place)
		*place = FOLLOWED_ENDS;
}

/* A thread is freed: nobody runs by its number, unless a new one does. */
INLINE void forget_ended(__u32 tid)
{
	__u8 *place = bpf_map_lookup_elem(&followed, &tid);

	if (place && *place == FOLLOWED_ENDS)
		bpf_map_delete_elem(&followed, &tid);
}

/* A thread that is not its process's first and calls execve takes over the number of the first, which has ended. */
INLINE void follow_renumbered(__u32 before, __u32 now)
{
	__u8 yes = FOLLOWED;

	if (before == now || !bpf_map_lookup_elem(&followed, &before))
		return;
	if (bpf_map_update_elem(&followed, &now, &yes, BPF_ANY))
		lose(LOSS_FOLLOW_FULL, 1, 0);
	bpf_map_delete_elem(&followed, &before);
}

#endif
