/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A call from its entry to its return: measured, summed up, told. */
#ifndef IOWITNESS_CALL_H
#define IOWITNESS_CALL_H

#include "frames.h"

/* Something whose address is known as a number, once it has been read. */
struct anchor {
	__u64 at;
};
struct anchor anchor = {};

/*
 * A trampoline has the context of entry and of return at the same place of the stack.
 * As a number: the verifier lets nobody reckon with the pointer, but takes the distance
 * of two pointers for one, without the call of a helper.
 */
INLINE __u64 place_of(void *ctx)
{
	struct anchor *from = &anchor;
	__u64 place = (__u64)ctx;

	if (!from->at)
		bpf_probe_read_kernel(&from->at, sizeof(from->at), &from);
	asm volatile("%0 -= %1" : "+r"(place) : "r"(from));
	return place + *(volatile __u64 *)&from->at;
}

INLINE void put_arguments(struct call_input *in, struct pt_regs *regs, __u32 function)
{
	in->function = function;
	in->arg[0] = regs->di;
	in->arg[1] = regs->si;
	in->arg[2] = regs->dx;
	in->arg[3] = regs->cx;
	in->arg[4] = regs->r8;
	in->arg[5] = regs->r9;
}

INLINE void put_input(struct call_input *in, __u64 id)
{
	in->tgid = id >> 32;
	in->tid = id;
	in->cpu = bpf_get_smp_processor_id();
	in->latency_ns = 0;
	if (wants_comm)
		bpf_get_current_comm(in->comm, sizeof(in->comm));
}

volatile __u64 tick_of_look = 0;	/* when the clock was last looked at */

/* Also a filter that lets nobody pass must end when nobody listens: with each tick of the timer the clock is looked at. */
INLINE void look_at_clock(void)
{
	__u64 tick = bpf_jiffies64();

	if (tick == tick_of_look)
		return;
	tick_of_look = tick;
	is_heard(bpf_ktime_get_ns());
}

/* What the entry can tell of a filter comes before all that costs more: most calls may end here. */
INLINE bool passes_filter(struct call_input *in, __u32 function)
{
	struct function_balance *sums;
	__u64 mask = 0;
	int verdict = filter_body(in, &mask);

	if (verdict == WANTED)
		return true;
	look_at_clock();
	sums = verdict == UNREADABLE ? balance_of(function) : NULL;
	if (sums)
		sums->unreadable++;
	return false;
}

INLINE bool is_inside(__u32 thread)
{
	struct thread_frames *frames = find_holder(thread);

	return frames && frames->roots;
}

INLINE bool is_skipped(__u32 function)
{
	struct function_balance *sums;

	if (ratio <= 1 || !(bpf_get_prandom_u32() % ratio))
		return false;
	sums = balance_of(function);
	if (sums)
		sums->skipped++;
	return true;
}

/* A typed program's context is the arguments, that of the others is the registers. */
INLINE int enter_call(void *ctx, bool is_typed, __u32 function)
{
	struct function_balance *sums;
	struct thread_frames *frames;
	struct call_frame *frame;
	struct task_struct *task;
	__u32 thread, depth, root = 0;
	__u64 id, place, now;
	struct call_input in;
	bool counts;
	void *out;

	if (!epoch)
		return 0;
	task = (void *)bpf_get_current_task();
	id = bpf_get_current_pid_tgid();
	thread = thread_key(id);
	if (only_inside)
		root = is_root(function);
	counts = is_wanted(task, id, id >> 32) && (!only_inside || root || is_inside(thread)) &&
		 ((only_inside && !root) || !is_skipped(function));
	if (counts && has_code) {
		if (is_typed)
			arguments_body(ctx, &in);
		else
			put_arguments(&in, ctx, function);
		put_input(&in, id);
		counts = passes_filter(&in, function);
	}
	frames = counts ? make_frames(thread) : find_holder(thread);
	if (!frames) {
		if (counts)
			lose(LOSS_FRAMES, 1, 0);
		return 0;
	}
	sums = balance_of(function);
	if (!sums)
		return 0;
	place = is_typed ? place_of(ctx) : ((struct pt_regs *)ctx)->sp;
	if (frames->depth)
		drop_returned(frames, thread, place, sums);
	if (!counts)
		return 0;
	depth = frames->depth;
	if (depth >= CALL_DEPTH) {
		lose(LOSS_FRAMES, 1, 0);
		return 0;
	}
	take_frame(frames, depth, place);
	frame = frame_at(frames, depth);
	frame->function = function;
	frame->generation = generation;
	frame->root = 0;
	frame->inner_ns = 0;
	frame->missed = 0;
	out = make_out(frame, thread, depth);
	if (!out) {
		lose(LOSS_CALL_OUT, 1, 0);
		free_frame(frames, thread, depth);
		return 0;
	}
	if (has_code)
		entry_body(&in, out);
	/* Read once, and last: what is done here is no part of the call. */
	now = bpf_ktime_get_ns();
	if (!is_heard(now)) {
		free_frame(frames, thread, depth);
		return 0;
	}
	if (root) {
		frame->root = 1;
		frames->roots++;
	}
	sums->entries++;
	frame->start = now;
	return 0;
}

INLINE void put_key(struct call_key *key, void *ctx, __u64 *out, struct call_input *in, __u32 function)
{
	int i;

	key->function = function;
	if (by_process)
		key->tgid = in->tgid;
	if (by_thread)
		key->tid = in->tid;
	if (by_cpu)
		key->cpu = in->cpu;
	if (by_comm)
		bpf_get_current_comm(key->comm, sizeof(key->comm));
	if (by_cgroup) {
		__u16 v1;

		key->cgroup = BPF_CORE_READ(cgroup_of(this_task(), &v1), id);
	}
	if (by_stack && with_stacks)
		key->stack = take_stack(ctx, false);
#pragma unroll
	for (i = 0; i < CALL_KEY_WORDS; i++)
		if (i < key_words)
			key->word[i] = out[1 + i];
}

struct ended_call {
	__u64 start, ns, inner_ns, root;
	__u32 function, depth, missed;
};

/* Of a result of 32 bits the upper half of the register may be anything. */
INLINE bool is_error(struct call_input *in)
{
	__s64 ret = in->result_bytes == 4 ? (__s64)(__s32)in->ret : (__s64)in->ret;

	return in->result_bytes && ret < 0 && ret >= -4095;
}

INLINE struct call_sum *sum_of(void *ctx, struct ended_call *call, struct call_input *in, __u64 *out)
{
	struct call_key key = {};
	struct call_sum *sum;

	if (!has_keys)
		return bpf_map_lookup_elem(&function_sums, &call->function);
	put_key(&key, ctx, out, in, call->function);
	sum = bpf_map_lookup_elem(&call_sums, &key);
	if (sum)
		return sum;
	bpf_map_update_elem(&call_sums, &key, &no_sum, BPF_NOEXIST);
	return bpf_map_lookup_elem(&call_sums, &key);
}

SUBPROGRAM int sum_up(void *ctx, struct ended_call *call, struct call_input *in, __u64 *out)
{
	struct call_sum *sum = sum_of(ctx, call, in, out);
	__u32 slot;

	if (!sum) {
		lose(LOSS_CALL_SUM, 1, call->ns);
		return 0;
	}
	__sync_fetch_and_add(&sum->count, 1);
	__sync_fetch_and_add(&sum->ns, call->ns);
	if (call->inner_ns)
		__sync_fetch_and_add(&sum->inner_ns, call->inner_ns);
	if (is_error(in))
		__sync_fetch_and_add(&sum->errors, 1);
	if (call->ns > sum->max_ns)
		sum->max_ns = call->ns;
	slot = hist_slot(call->ns);
	asm volatile("" : "+r"(slot));
	__sync_fetch_and_add(&sum->hist[slot & (HIST_SLOTS - 1)], 1);
	return 0;
}

INLINE bool within_rate(void)
{
	__u32 zero = 0, now = epoch;
	struct spent *spent = bpf_map_lookup_elem(&spents, &zero);

	if (!spent)
		return false;
	if (spent->epoch != now) {
		spent->epoch = now;
		spent->records = 0;
	}
	if (spent->records < budget) {
		spent->records++;
		return true;
	}
	return false;
}

SUBPROGRAM int tell_call(void *ctx, struct ended_call *call, struct call_input *in, void *out)
{
	struct call_record *record;
	long bytes = 0;
	__u16 v1;

	if (!within_rate()) {
		lose(LOSS_CALL_BUDGET, 1, call->ns);
		return 0;
	}
	record = bpf_ringbuf_reserve(&records, record_bytes, 0);
	if (!record) {
		lose(LOSS_RING_CALL, 1, call->ns);
		return 0;
	}
	put_head(&record->head, RECORD_CALL, record_bytes, this_task());
	record->start = call->start;
	record->ns = call->ns;
	record->inner_ns = call->inner_ns;
	record->root = call->root;
	record->ret = in->ret;
	record->function = call->function;
	record->cpu = in->cpu;
	record->depth = call->depth;
	record->missed = call->missed;
	record->cgroup = BPF_CORE_READ(cgroup_of(this_task(), &v1), id);
	record->out_bytes = out_bytes;
	record->frames = 0;
	bpf_probe_read_kernel(record + 1, out_bytes, out);
	if (tells_stacks && with_stacks) {
		bytes = bpf_get_stack(ctx, (void *)(record + 1) + out_bytes, STACK_DEPTH * 8, 0);
		if (bytes > 0)
			record->frames = bytes / 8;
		else
			lose(LOSS_STACK, 1, 0);
	}
	bpf_ringbuf_submit(record, ring_wakeup());
	return 0;
}

INLINE void count_call(void *ctx, struct ended_call *call, struct call_input *in, void *out)
{
	if (sums_up)
		sum_up(ctx, call, in, out);
	if (tells_calls && call->ns >= slower_ns)
		tell_call(ctx, call, in, out);
}

/* The innermost open call returns: its time is counted, and its frame is free. */
INLINE void end_call(void *ctx, struct call_input *in, struct thread_frames *frames, struct function_balance *sums,
		     __u32 thread, __u64 now)
{
	__u32 depth = frames->depth - 1;
	struct call_frame *frame = frame_at(frames, depth), *outer;
	struct ended_call call = {
		.start = frame->start, .inner_ns = frame->inner_ns, .root = frame_at(frames, 0)->start,
		.function = frame->function, .depth = depth, .missed = frame->missed,
	};
	void *out = find_out(frame, thread, depth);
	int verdict = WANTED;

	call.ns = now > call.start ? now - call.start : 0;
	if (call.inner_ns > call.ns)
		call.inner_ns = call.ns;
	in->latency_ns = call.ns;
	sums->returns++;
	if (!out) {
		lose(LOSS_CALL_OUT, 1, call.ns);
	} else {
		if (has_code)
			verdict = return_body(in, out);
		if (verdict == WANTED)
			count_call(ctx, &call, in, out);
		else if (verdict == UNREADABLE)
			sums->unreadable++;
		else
			sums->unwanted++;
	}
	if (depth) {
		outer = frame_at(frames, depth - 1);
		outer->inner_ns += call.ns;
	}
	if (frame->root)
		frames->roots--;
	free_frame(frames, thread, depth);
}

INLINE int leave_call(void *ctx, struct call_input *in, __u32 function, __u64 place)
{
	__u64 id = bpf_get_current_pid_tgid(), now = bpf_ktime_get_ns();
	struct function_balance *sums;
	__u32 thread = thread_key(id), open;
	struct thread_frames *frames = find_frames(thread);

	if (!frames || !frames->depth)
		return 0;
	sums = balance_of(function);
	if (!sums)
		return 0;
	open = find_open(frames, function, place);
	if (!open) {
		if (epoch)
			sums->strays++;
		return 0;
	}
	drop_down_to(frames, thread, open, sums);
	if (has_code || has_keys || tells_calls)
		put_input(in, id);
	end_call(ctx, in, frames, sums, thread, now);
	return 0;
}

/* A call of which only the return is witnessed: it has no time. */
SUBPROGRAM int see_return(void *ctx, struct call_input *in, __u32 function, __u64 place)
{
	__u64 id = bpf_get_current_pid_tgid(), now = bpf_ktime_get_ns(), out[FRAME_WORDS] = {};
	struct task_struct *task = this_task();
	struct function_balance *sums = balance_of(function);
	struct ended_call call = { .start = now, .root = place, .function = function };

	if (!epoch || !sums || !is_wanted(task, id, id >> 32) || !is_heard(now))
		return 0;
	put_input(in, id);
	if (return_body(in, out) != WANTED)
		return 0;
	sums->returns++;
	count_call(ctx, &call, in, out);
	return 0;
}

#endif
