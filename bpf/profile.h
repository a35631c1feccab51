/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What profiles share: sums by stack and thread, and which processes there are. */
#ifndef IOWITNESS_PROFILE_H
#define IOWITNESS_PROFILE_H

#include "follow.h"
#include "gate.h"
#include "hist.h"
#include "stacks.h"

/* Keep the layouts in the object's type information, for the user side. */
const struct process_record *process_record_layout __attribute__((unused));
const struct runq_record *runq_record_layout __attribute__((unused));

/* A closed gate misses switches, and samples: what was noted before the last opening is no longer true. */
volatile __u32 generation = 0;

/* Sums of an interval, by the parity of its number, as in fs.h. */
struct prof_sums {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, struct prof_key);
	__type(value, struct prof_sum);
} sums_even SEC(".maps"), sums_odd SEC(".maps");

static const struct prof_sum no_sum = {};

INLINE void add_to(__u64 *to, __u64 n)
{
	__sync_fetch_and_add(to, n);
}

/* new: names for a sum that has none yet; max_ns and last are of what is added. */
SUBPROGRAM int add_sum(struct prof_key *key, __u64 count, __u64 ns, struct prof_sum *new)
{
	void *sums = epoch & 1 ? (void *)&sums_odd : (void *)&sums_even;
	struct prof_sum *sum;

	lose_stack(key->kernel, ns);
	lose_stack(key->user, ns);
	sum = bpf_map_lookup_elem(sums, key);
	if (!sum) {
		bpf_map_update_elem(sums, key, &no_sum, BPF_NOEXIST);
		sum = bpf_map_lookup_elem(sums, key);
		if (!sum) {
			lose(LOSS_PROF_SUMS, count, ns);
			return 0;
		}
		__builtin_memcpy(sum->comm, new->comm, COMM_BYTES);
		__builtin_memcpy(sum->waker_comm, new->waker_comm, COMM_BYTES);
	}
	add_to(&sum->count, count);
	add_to(&sum->ns, ns);
	if (new->max_ns > sum->max_ns)
		sum->max_ns = new->max_ns;
	sum->last = new->last;
	return 0;
}

/* Processes that were told. Emptied by the user side when it is full. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__type(key, __u32);
	__type(value, struct told_identity);
} told SEC(".maps");

static const struct told_identity not_told = {};

INLINE void tell_process(struct task_struct *task, __u32 tgid, enum process_event event, __u32 parent, __u64 now)
{
	struct process_record *record = bpf_ringbuf_reserve(&records, sizeof(*record), 0);

	if (!record) {
		lose(LOSS_RING_PROCESS, 1, 0);
		return;
	}
	put_head(&record->head, RECORD_PROCESS, sizeof(*record), task);
	record->head.tgid = tgid;
	if (event == PROCESS_FORKED) /* task may be its parent, whose name it still has */
		record->head.tid = tgid;
	record->at = now;
	record->event = event;
	record->parent = parent;
	/* Its mappings can be read only while it lives. */
	bpf_ringbuf_submit(record, event == PROCESS_SEEN || filter_follow ? BPF_RB_FORCE_WAKEUP : ring_wakeup());
}

/* Called for each sample: tells a process when it is first seen, and who it is when that changes. */
SUBPROGRAM int meet_process(struct task_struct *task, __u32 tgid, __u64 now)
{
	struct told_identity *known = bpf_map_lookup_elem(&told, &tgid);

	if (!known) {
		if (bpf_map_update_elem(&told, &tgid, &not_told, BPF_NOEXIST))
			return 0;
		known = bpf_map_lookup_elem(&told, &tgid);
		if (!known)
			return 0;
		tell_process(task, tgid, PROCESS_SEEN, 0, now);
	}
	tell_identity_once(known, task);
	return 0;
}

#endif
