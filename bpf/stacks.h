/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Stacks, kept once each under a number of our own: the kernel's table of stacks loses those whose short hashes collide. */
#ifndef IOWITNESS_STACKS_H
#define IOWITNESS_STACKS_H

#include "ring.h"

volatile bool with_stacks = true;
const volatile bool kernel_only = false;	/* no stacks of programs */

/* Preallocated: programs of perf events may use no other map until 6.1. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__type(key, __u64);
	__type(value, struct prof_stack);
} stacks SEC(".maps");

/* One for programs of events, one for the walk over threads, which they may interrupt. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, struct prof_stack);
} stack_scratch SEC(".maps");

INLINE struct prof_stack *scratch_stack(__u32 which)
{
	return bpf_map_lookup_elem(&stack_scratch, &which);
}

/* FNV-1a by words, with a step that mixes the high bits down; and a second hash that shares nothing with it. */
SUBPROGRAM __u64 hash_stack(struct prof_stack *stack)
{
	__u64 hash = 0xcbf29ce484222325ULL ^ stack->user, check = stack->frames;
	__u32 i;

	for (i = 0; i < PROF_DEPTH && i < stack->frames; i++) {
		__u64 frame = stack->frame[i];

		hash = (hash ^ frame) * 0x100000001b3ULL;
		hash ^= hash >> 29;
		check = (check + frame) * 0x9e3779b97f4a7c15ULL;
		check ^= check >> 32;
	}
	stack->check = check;
	return hash < PROF_FIRST ? hash + PROF_FIRST : hash;
}

/* The number of a stack of so many bytes in the scratch. */
SUBPROGRAM __u64 number_stack(struct prof_stack *stack, long bytes)
{
	struct prof_stack *kept;
	__u64 hash;

	if (!stack)
		return PROF_NO_ROOM;
	stack->frames = bytes / 8;
	hash = hash_stack(stack);
	kept = bpf_map_lookup_elem(&stacks, &hash);
	if (!kept) {
		bpf_map_update_elem(&stacks, &hash, stack, BPF_NOEXIST);
		kept = bpf_map_lookup_elem(&stacks, &hash);
	}
	if (!kept)
		return PROF_NO_ROOM;
	return kept->check == stack->check && kept->frames == stack->frames ? hash : PROF_COLLISION;
}

/* Counts a stack that is missing, with what it would have stood for. */
INLINE void lose_stack(__u64 number, __u64 ns)
{
	if (number == PROF_NOT_KERNEL)
		lose(LOSS_PROF_KERNEL, 1, ns);
	else if (number == PROF_NOT_USER)
		lose(LOSS_PROF_USER, 1, ns);
	else if (number == PROF_NO_ROOM)
		lose(LOSS_PROF_ROOM, 1, ns);
	else if (number == PROF_COLLISION)
		lose(LOSS_PROF_COLLISION, 1, ns);
	else if (number == PROF_SHED)
		lose(LOSS_PROF_SHED, 1, ns);
}

/* The program's stack of the current thread. */
INLINE __u64 take_user_stack(void *ctx, struct task_struct *task)
{
	struct prof_stack *stack = scratch_stack(0);
	long bytes;

	if (!stack || kernel_only || !BPF_CORE_READ(task, mm) || BPF_CORE_READ(task, flags) & PF_KTHREAD)
		return PROF_NONE;
	stack->user = 1;
	bytes = bpf_get_stack(ctx, stack->frame, sizeof(stack->frame), BPF_F_USER_STACK);
	return bytes > 0 ? number_stack(stack, bytes) : PROF_NOT_USER;
}

/* The kernel's of the current thread; otherwise: what to say if there is none. */
INLINE __u64 take_kernel_stack(void *ctx, __u64 otherwise)
{
	struct prof_stack *stack = scratch_stack(0);
	long bytes;

	if (!stack)
		return PROF_NO_ROOM;
	stack->user = 0;
	bytes = bpf_get_stack(ctx, stack->frame, sizeof(stack->frame), 0);
	return bytes > 0 ? number_stack(stack, bytes) : otherwise;
}

#endif
