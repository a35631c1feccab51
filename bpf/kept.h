/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Kernel stacks, each kept once under a hash of its frames. */
#ifndef IOWITNESS_KEPT_H
#define IOWITNESS_KEPT_H

#include "ring.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 2048);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u64);
	__type(value, struct kept_stack);
} kept_stacks SEC(".maps");

struct stack_scratch {
	struct kept_stack stack;
	__u32 users;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct stack_scratch);
} stack_scratches SEC(".maps");

/* FNV-1a by words, with a step that mixes the high bits down. */
SUBPROGRAM __u64 hash_of(struct kept_stack *stack)
{
	__u64 hash = 0xcbf29ce484222325ULL ^ stack->flagged;
	__u32 i;

	for (i = 0; i < STACK_DEPTH && i < stack->frames; i++) {
		hash = (hash ^ stack->frame[i]) * 0x100000001b3ULL;
		hash ^= hash >> 29;
	}
	return hash ? hash : 1;
}

INLINE __u64 keep_stack(void *ctx, struct kept_stack *stack, bool flagged)
{
	long bytes = bpf_get_stack(ctx, stack->frame, sizeof(stack->frame), 0);
	__u64 hash;

	if (bytes <= 0)
		return 0;
	stack->frames = bytes / 8;
	stack->flagged = flagged;
	hash = hash_of(stack);
	if (bpf_map_lookup_elem(&kept_stacks, &hash))
		return hash;
	bpf_map_update_elem(&kept_stacks, &hash, stack, BPF_NOEXIST);
	return bpf_map_lookup_elem(&kept_stacks, &hash) ? hash : 0;
}

/*
 * The key of the current thread's stack; 0: it could not be taken. A program may be
 * interrupted, or preempted, by another one that takes a stack on the same CPU.
 */
SUBPROGRAM __u64 take_stack(void *ctx, bool flagged)
{
	__u32 zero = 0;
	struct stack_scratch *scratch = bpf_map_lookup_elem(&stack_scratches, &zero);
	volatile __u32 *users;
	__u64 key = 0;

	if (!scratch)
		return 0;
	users = &scratch->users;
	if (!(*users)++)
		key = keep_stack(ctx, &scratch->stack, flagged);
	(*users)--;
	if (!key)
		lose(LOSS_STACK, 1, 0);
	return key;
}

#endif
