/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Lives under way, by the address of what they are of. Nearly all are in a slot whose place the
 * address tells; where that slot is another one's they are in a hash, which costs many times as much.
 */
#ifndef IOWITNESS_LIVES_H
#define IOWITNESS_LIVES_H

#include "disk.h"
#include "slot.h"

const volatile __u32 life_slots = 8192;		/* a power of two */

struct life_slot {
	__u64 of;	/* 0: nobody's */
	__u32 claims;
	__u32 spilled;	/* lives in the hash that would have this slot */
	struct io_life life;
} __attribute__((aligned(64)));	/* three lines of the cache, which go from CPU to CPU */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 8192);
	__type(key, __u32);
	__type(value, struct life_slot);
	__uint(map_flags, BPF_F_MMAPABLE);
} lives SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, __u64);
	__type(value, struct io_life);
} spilled_lives SEC(".maps");

static const struct io_life no_life = {};

INLINE struct life_slot *life_slot_of(void *of)
{
	__u32 slot = (low_half(of) * SLOT_MIX >> 32) & (life_slots - 1);

	return bpf_map_lookup_elem(&lives, &slot);
}

INLINE struct io_life *find_life(void *of)
{
	struct life_slot *slot = life_slot_of(of);
	__u64 key = (__u64)of;

	if (!slot)
		return NULL;
	if (slot->of == (__u64)of)
		return &slot->life;
	return slot->spilled ? bpf_map_lookup_elem(&spilled_lives, &key) : NULL;
}

SUBPROGRAM int spill_life(struct life_slot *slot, __u64 of)
{
	__sync_fetch_and_add(&slot->spilled, 1);
	if (!bpf_map_update_elem(&spilled_lives, &of, &no_life, BPF_NOEXIST))
		return 0;
	__sync_fetch_and_add(&slot->spilled, -1);
	lose(LOSS_LIFE_FULL, 1, 0);
	return 1;
}

/* What is queued again has ended, though its completion was not seen. */
INLINE void *renew(struct io_life *life)
{
	if (life->issued) {
		lose(LOSS_IO_NO_END, 1, 0);
		leave_driver(disk_of(life->disk));
	}
	__builtin_memset(life, 0, sizeof(*life));
	return life;
}

/* A new life, all zero. NULL: no memory. */
INLINE struct io_life *new_life(void *of)
{
	struct life_slot *slot = life_slot_of(of);
	__u64 key = (__u64)of;
	struct io_life *life;

	if (!slot)
		return NULL;
	if (slot->of == (__u64)of)
		return renew(&slot->life);
	life = slot->spilled ? bpf_map_lookup_elem(&spilled_lives, &key) : NULL;
	if (life)
		return renew(life);
	if (claim(&slot->claims)) {
		life = &slot->life;
		__builtin_memset(life, 0, sizeof(*life));
		slot->of = (__u64)of;
		return life;
	}
	return spill_life(slot, (__u64)of) ? NULL : bpf_map_lookup_elem(&spilled_lives, &key);
}

INLINE void forget_life(void *of)
{
	struct life_slot *slot = life_slot_of(of);
	__u64 key = (__u64)of;

	if (!slot)
		return;
	if (slot->of == (__u64)of) {
		slot->of = 0;
		release(&slot->claims);
	} else if (slot->spilled && !bpf_map_delete_elem(&spilled_lives, &key)) {
		__sync_fetch_and_add(&slot->spilled, -1);
	}
}

#endif
