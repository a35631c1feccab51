/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The ring of records and the counts of losses, which every object has. */
#ifndef IOWITNESS_RING_H
#define IOWITNESS_RING_H

#include "compat.h"
#include "abi.h"

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
