/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What every kernel side has: its gate, the ring of records, the counts of losses. */
#ifndef IOWITNESS_RING_H
#define IOWITNESS_RING_H

#include "compat.h"
#include "abi.h"
#include "hist.h"

const volatile bool include_self = false;
const volatile bool rq_comes_second = false;	/* tracepoints of requests have the queue first (until 5.11, and some 5.10) */
/* The reader of what is told, whose own doings are left out. */
volatile __u32 self_tgid = 0;

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

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 2 << 20);
} records SEC(".maps");

/* The reader sleeps until this much waits for it. */
#define RING_WAKE_BYTES (256 << 10)

INLINE __u64 ring_wakeup(void)
{
	return bpf_ringbuf_query(&records, BPF_RB_AVAIL_DATA) >= RING_WAKE_BYTES ?
		BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP;
}

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, LOSSES);
	__type(key, __u32);
	__type(value, struct loss_count);
} losses SEC(".maps");

INLINE void lose(enum loss which, __u64 count, __u64 ns)
{
	__u32 key = which;
	struct loss_count *loss = bpf_map_lookup_elem(&losses, &key);

	if (loss) {
		loss->count += count;
		loss->ns += ns;
	}
}

#endif
