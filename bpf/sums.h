/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sums of requests by device, operation, process, cgroup and file. */
#ifndef IOWITNESS_SUMS_H
#define IOWITNESS_SUMS_H

#include "block.h"

const volatile __u32 sum_slots = 1024;		/* a power of two */

/* Nearly all sums are in a slot whose place their key tells. It is theirs to the end. */
struct sum_slot {
	struct io_key key;
	__u32 claims;
	__u32 is_named;	/* the key is written */
	struct io_sum sum;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, struct sum_slot);
	__uint(map_flags, BPF_F_MMAPABLE);
} slot_sums SEC(".maps");

/* Where that slot is another one's: it may have both, if its first two requests end at the same time. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, struct io_key);
	__type(value, struct io_sum);
} sums SEC(".maps");

/* By disk and operation only, of what finds no room there. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256);
	__type(key, struct io_key);
	__type(value, struct io_sum);
} rest_sums SEC(".maps");

static const struct io_sum no_sum = {};

/* A write of nothing that flushes first is how file systems ask for a flush. */
INLINE __u16 kind_of(struct io_life *life)
{
	if (!life->bytes && life->op & REQ_PREFLUSH)
		return REQ_OP_FLUSH;
	return life->op & REQ_OP_MASK;
}

INLINE __u64 mixed(__u64 sum, __u64 next)
{
	return (sum ^ next) * SLOT_MIX;
}

INLINE struct sum_slot *sum_slot_of(struct io_key *key)
{
	__u64 mix = key->cgroup * SLOT_MIX;
	__u32 slot;

	mix = mixed(mix ^ mix >> 32, key->ino);
	mix = mixed(mix ^ mix >> 32, (__u64)key->tgid << 32 | key->dev);
	mix = mixed(mix ^ mix >> 32, (__u64)key->file_dev << 32 | key->disk);
	mix = mixed(mix ^ mix >> 32, (__u64)key->top << 32 | key->op << 16 | key->flags);
	slot = mix >> 32 & (sum_slots - 1);
	return bpf_map_lookup_elem(&slot_sums, &slot);
}

INLINE bool same_key(struct io_key *a, struct io_key *b)
{
	return a->cgroup == b->cgroup && a->ino == b->ino && a->tgid == b->tgid && a->dev == b->dev &&
	       a->disk == b->disk && a->file_dev == b->file_dev && a->op == b->op && a->flags == b->flags && a->top == b->top;
}

SUBPROGRAM struct io_sum *sum_elsewhere(struct io_life *life, struct io_key *key)
{
	struct io_sum *sum = bpf_map_lookup_elem(&sums, key);

	if (sum)
		return sum;
	bpf_map_update_elem(&sums, key, &no_sum, BPF_NOEXIST);
	sum = bpf_map_lookup_elem(&sums, key);
	if (sum) {
		sum->owner = life->owner;
		return sum;
	}
	/* No room: everything of the disk and operation that has none goes together. */
	lose(LOSS_SUM_FULL, 1, 0);
	key->cgroup = key->ino = key->file_dev = key->tgid = 0;
	sum = bpf_map_lookup_elem(&rest_sums, key);
	if (sum)
		return sum;
	bpf_map_update_elem(&rest_sums, key, &no_sum, BPF_NOEXIST);
	return bpf_map_lookup_elem(&rest_sums, key);
}

INLINE struct io_sum *sum_of(struct io_life *life)
{
	struct io_key key = {
		.cgroup = life->cgroup, .ino = life->ino, .file_dev = life->file_dev, .dev = life->dev, .disk = life->disk,
		.tgid = life->owner.tgid, .op = kind_of(life), .flags = life->flags & (IO_BIO | IO_PASSED | IO_DEV_ABOVE | IO_UNCHARGED),
		.top = life->flags & IO_PASSED ? life->top : 0,
	};
	struct sum_slot *slot = sum_slot_of(&key);

	if (!slot)
		return NULL;
	if (slot->is_named && same_key(&slot->key, &key))
		return &slot->sum;
	if (!claim(&slot->claims))
		return sum_elsewhere(life, &key);
	slot->key = key;
	slot->sum.owner = life->owner;
	barrier();
	slot->is_named = 1;
	return &slot->sum;
}

INLINE void add(__u64 *to, __u64 more)
{
	__sync_fetch_and_add(to, more);
}

INLINE void add_phase(struct io_sum *sum, struct io_life *life, enum io_phase phase, __u64 from, __u64 to)
{
	struct phase_sum *p = &sum->phases[phase];

	if (!from || !to)
		return;
	if (to < from) {
		lose(LOSS_BACKWARDS, 1, 0);
		return;
	}
	add(&p->ns, to - from);
	if (to - from > p->max)
		p->max = to - from;
	if (phase != PHASE_TOTAL)
		*(volatile __u16 *)&life->known |= 1 << phase;
}

INLINE void count_slot(__u32 *hist, __u64 from, __u64 to)
{
	if (from && to >= from)
		__sync_fetch_and_add(&hist[hist_slot(to - from) & (HIST_SLOTS - 1)], 1);
}

INLINE __u32 size_slot(__u32 bytes)
{
	__u32 slot = bytes <= 512 ? 0 : log2_u64(bytes - 1) - 8;

	return slot < SIZE_SLOTS ? slot : SIZE_SLOTS - 1;
}

INLINE __u64 first_instant(struct io_life *life)
{
	if (life->queued)
		return life->queued;
	if (life->got)
		return life->got;
	return life->inserted ? life->inserted : life->issued;
}

INLINE void add_exceptions(struct io_sum *sum, struct io_life *life)
{
	if (life->error)
		add(&sum->errors, 1);
	if (life->merged)
		add(&sum->merged, life->merged);
	if (life->requeues)
		add(&sum->requeues, life->requeues);
	if (life->flags & IO_SPLIT)
		add(&sum->split, 1);
	if (life->carrier.tid)
		add(&sum->carried, 1);
}

INLINE void add_depth(struct io_sum *sum, struct io_life *life)
{
	if (!life->depth)
		return;
	add(&sum->depths, life->depth);
	if (life->depth > sum->depth_max)
		sum->depth_max = life->depth;
	if (!life->bytes) {
		add(&sum->depth_no_data, 1);
		return;
	}
	if (life->flags & IO_SEQUENTIAL)
		add(&sum->sequential, 1);
	*(volatile __u16 *)&life->known |= KNOWN_PLACE;
}

INLINE void add_times(struct io_sum *sum, struct io_life *life, __u64 begin)
{
	add_depth(sum, life);
	add_phase(sum, life, PHASE_GET, life->queued, life->got);
	add_phase(sum, life, PHASE_INSERT, life->got, life->inserted);
	add_phase(sum, life, PHASE_QUEUE, life->inserted ? life->inserted : life->got, life->issued);
	add_phase(sum, life, PHASE_DEVICE, life->issued, life->completed);
	add_phase(sum, life, PHASE_TOTAL, begin, life->completed);
	count_slot(sum->device_hist, life->issued, life->completed);
	count_slot(sum->total_hist, begin, life->completed);
	add(&sum->with[*(volatile __u16 *)&life->known & (KNOWN_SETS - 1)], 1);
}

SUBPROGRAM int sum_up(struct io_life *life)
{
	struct io_sum *sum = sum_of(life);
	__u64 begin = first_instant(life);

	if (!sum)
		return 0;
	add(&sum->bytes, life->bytes);
	if ((life->op & REQ_OP_MASK) <= REQ_OP_WRITE && life->bytes)
		__sync_fetch_and_add(&sum->sizes[size_slot(life->bytes)], 1);
	add_exceptions(sum, life);
	if (begin && life->completed >= begin) {
		add_times(sum, life, begin);
		return 0;
	}
	if (begin)
		lose(LOSS_BACKWARDS, 1, 0);
	add(&sum->untimed, 1);
	return 0;
}

#endif
