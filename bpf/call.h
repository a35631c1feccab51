/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Calls of any function, from entry to return. What belongs to a call is kept in a
 * frame of its own, found at the return by the place of the call on the stack: so
 * recursion, interrupts and returns that are missed never mix two calls.
 */
#ifndef IOWITNESS_CALL_H
#define IOWITNESS_CALL_H

#include "filter.h"
#include "gate.h"
#include "hist.h"
#include "kept.h"

/* Keep the layouts in the object's type information, for the user side. */
const struct call_record *call_record_layout __attribute__((unused));
const struct call_input *call_input_layout __attribute__((unused));

/* Settings, fixed at load: the verifier removes what a setting switches off. */
const volatile __u32 out_bytes = 8;		/* of the fields of a call, a multiple of 8 */
const volatile __u32 record_bytes = 0;		/* of a record with all that it has */
const volatile __u32 key_words = 0;		/* of the fields, the first so many after their mask are keys */
const volatile bool has_code = false;		/* filters or fields: what they may ask for is put in */
const volatile bool wants_comm = false;		/* a filter or field asks for it */
const volatile bool has_keys = true;		/* sums are by more than the function */
const volatile bool by_process = false;
const volatile bool by_thread = false;
const volatile bool by_cpu = false;
const volatile bool by_comm = false;
const volatile bool by_cgroup = false;
const volatile bool by_stack = false;
const volatile bool sums_up = true;
const volatile bool tells_calls = false;	/* each wanted call has a record */
const volatile bool tells_stacks = false;	/* with its stack */
const volatile __u64 slower_ns = 0;		/* only calls that took so long have a record */
const volatile __u32 budget = 1000;		/* records per CPU and interval */
const volatile bool only_inside = false;	/* only calls within one of a root function */
const volatile bool at_return = false;		/* entries are not witnessed: there is no time */

volatile __u32 ratio = 1;			/* one call in so many is measured */
volatile bool with_stacks = true;
volatile __u32 generation = 0;

/* A frame has room for the mask and the keys; more goes to a map. */
#define FRAME_WORDS (1 + CALL_KEY_WORDS)
struct call_frame {
	__u64 start;
	__u64 place;		/* of the call, on the stack */
	__u64 inner_ns;
	__u32 function;
	__u32 generation;
	__u32 root;		/* calls inside it are witnessed */
	__u32 missed;		/* calls within that returned unseen */
	__u64 out[FRAME_WORDS];
};

#define CALL_DEPTH 32
struct thread_frames {
	__u32 depth;
	__u32 roots;
	struct told_identity told;
	struct call_frame open[CALL_DEPTH];
};

static const struct thread_frames no_frames = {};
static const struct call_sum no_sum = {};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread_frames);
} frame_storage SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, struct thread_frames);
} frame_hash SEC(".maps");

struct out_key {
	__u32 thread;
	__u32 depth;
};

/* What a call's fields had at entry; the user side sets the size of a value to out_bytes. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct out_key);
	__uint(value_size, FRAME_WORDS * 8);
} outs SEC(".maps");

/* Of that size too: what a value is made from. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__uint(value_size, FRAME_WORDS * 8);
} empty_out SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct call_key);
	__type(value, struct call_sum);
} call_sums SEC(".maps");

/* Of whole functions, by number: in place of call_sums, if sums have no other key. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct call_sum);
} function_sums SEC(".maps");

/* By number of the function; the user side sets how many there are. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct function_balance);
} balances SEC(".maps");

/* Functions whose calls open the gate for those inside; only if only_inside. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u8);
} roots SEC(".maps");

struct spent {
	__u32 epoch;
	__u32 records;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct spent);
} spents SEC(".maps");

/*
 * The user side puts the filter and the fields of a function in place of these two
 * (expr/): what they find goes to out, and they say whether the call is wanted.
 */
enum verdict { UNWANTED = 0, WANTED = 1, UNREADABLE = 2 };

SUBPROGRAM int entry_body(struct call_input *in, void *out)
{
	int verdict = WANTED;

	asm volatile("" : "+r"(verdict) : "r"(in), "r"(out) : "memory");
	return verdict;
}

SUBPROGRAM int return_body(struct call_input *in, void *out)
{
	int verdict = WANTED;

	asm volatile("" : "+r"(verdict) : "r"(in), "r"(out) : "memory");
	return verdict;
}

INLINE struct function_balance *balance_of(__u32 function)
{
	return bpf_map_lookup_elem(&balances, &function);
}

INLINE bool is_root(__u32 function)
{
	__u8 *root = bpf_map_lookup_elem(&roots, &function);

	return root && *root;
}

/* Idle threads all have the id 0: one for each CPU. */
INLINE __u32 thread_key(__u32 tid)
{
	return tid ? tid : ~bpf_get_smp_processor_id();
}

INLINE struct thread_frames *find_frames(struct task_struct *task, __u32 thread)
{
	if (storage_by_hash)
		return bpf_map_lookup_elem(&frame_hash, &thread);
	return bpf_task_storage_get(&frame_storage, task, 0, 0);
}

INLINE struct thread_frames *make_frames(struct task_struct *task, __u32 thread)
{
	struct thread_frames *frames;

	if (!storage_by_hash)
		return bpf_task_storage_get(&frame_storage, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	frames = bpf_map_lookup_elem(&frame_hash, &thread);
	if (frames)
		return frames;
	bpf_map_update_elem(&frame_hash, &thread, &no_frames, BPF_NOEXIST);
	return bpf_map_lookup_elem(&frame_hash, &thread);
}

/* The compiler would know that a depth is in bounds, and leave out the mask that the verifier wants. */
INLINE struct call_frame *frame_at(struct thread_frames *frames, __u32 index)
{
	asm volatile("" : "+r"(index));
	return &frames->open[index & (CALL_DEPTH - 1)];
}

INLINE void *find_out(struct call_frame *frame, __u32 thread, __u32 depth)
{
	struct out_key key = { thread, depth };

	if (out_bytes <= sizeof(frame->out))
		return frame->out;
	return bpf_map_lookup_elem(&outs, &key);
}

INLINE void *make_out(struct call_frame *frame, __u32 thread, __u32 depth)
{
	struct out_key key = { thread, depth };
	__u32 zero = 0, bytes = out_bytes;
	void *empty;
	int i;

	if (bytes <= sizeof(frame->out)) {
#pragma unroll
		for (i = 0; i < FRAME_WORDS; i++)
			if (i * 8 < bytes)
				*(volatile __u64 *)&frame->out[i] = 0;
		return frame->out;
	}
	empty = bpf_map_lookup_elem(&empty_out, &zero);
	if (empty)
		bpf_map_update_elem(&outs, &key, empty, BPF_ANY);
	return bpf_map_lookup_elem(&outs, &key);
}

INLINE void drop_out(__u32 thread, __u32 depth)
{
	struct out_key key = { thread, depth };

	if (out_bytes > FRAME_WORDS * 8)
		bpf_map_delete_elem(&outs, &key);
}

/* Takes off the innermost open call, which has returned unseen. */
INLINE void drop_top(struct thread_frames *frames, __u32 thread)
{
	__u32 depth = frames->depth - 1;
	struct call_frame *top = frame_at(frames, depth), *outer;
	struct function_balance *sums = balance_of(top->function);

	if (sums && top->generation == generation)
		sums->missed++;
	else if (sums)
		sums->given_up++;
	if (top->root)
		frames->roots--;
	if (depth) {
		outer = frame_at(frames, depth - 1);
		outer->missed += 1 + top->missed;
	}
	frames->depth = depth;
	drop_out(thread, depth);
}

/*
 * Stacks grow down and are THREAD_SIZE large, so also those of interrupts: an open
 * call at a lower place of the same stack, or at this very one, has returned.
 */
INLINE bool has_returned(struct call_frame *frame, __u64 place)
{
	return frame->generation != generation ||
	       (frame->place / THREAD_SIZE == place / THREAD_SIZE && frame->place <= place);
}

/* So many at once: the verifier walks through each, for each function. The rest waits for the next entry. */
#define DROPS 3

SUBPROGRAM int drop_returned(struct thread_frames *frames, __u32 thread, __u64 place)
{
	int i;

	for (i = 0; i < DROPS; i++) {
		__u32 depth = frames->depth;

		if (!depth || depth > CALL_DEPTH || !has_returned(frame_at(frames, depth - 1), place))
			break;
		drop_top(frames, thread);
	}
	return 0;
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

/* Gives a frame back that was taken for a call which is not measured. */
INLINE void give_back(struct thread_frames *frames, __u32 thread, __u32 depth)
{
	drop_out(thread, depth);
	frames->depth = depth;
}

SUBPROGRAM int enter_call(struct call_input *in, __u32 function, __u64 place)
{
	struct function_balance *sums;
	struct thread_frames *frames;
	struct call_frame *frame;
	struct task_struct *task;
	__u32 thread, depth, root = 0;
	__u64 id, now;
	int verdict;
	void *out;

	if (!epoch)
		return 0;
	task = this_task();
	id = bpf_get_current_pid_tgid();
	thread = thread_key(id);
	sums = balance_of(function);
	if (!sums || !is_wanted(task, id, id >> 32))
		return 0;
	if (only_inside)
		root = is_root(function);
	if (only_inside && !root) {
		frames = find_frames(task, thread);
		if (!frames || !frames->roots)
			return 0;
	}
	if (ratio > 1 && (!only_inside || root) && bpf_get_prandom_u32() % ratio) {
		sums->skipped++;
		return 0;
	}
	frames = make_frames(task, thread);
	if (!frames) {
		lose(LOSS_FRAMES, 1, 0);
		return 0;
	}
	drop_returned(frames, thread, place);
	depth = frames->depth;
	if (depth >= CALL_DEPTH) {
		lose(LOSS_FRAMES, 1, 0);
		return 0;
	}
	/* Taken before it is filled: what interrupts us here builds on top, and leaves it as it was. */
	frame = frame_at(frames, depth);
	frame->place = place;
	frames->depth = depth + 1;
	frame->place = place;
	frame->function = function;
	frame->generation = generation;
	frame->root = 0;
	frame->inner_ns = 0;
	frame->missed = 0;
	out = make_out(frame, thread, depth);
	if (!out) {
		lose(LOSS_CALL_OUT, 1, 0);
		frames->depth = depth;
		return 0;
	}
	if (has_code)
		put_input(in, id);
	verdict = entry_body(in, out);
	/* Read once, and last: what is done here is no part of the call. */
	now = bpf_ktime_get_ns();
	if (!is_heard(now) || verdict != WANTED) {
		if (verdict == UNREADABLE)
			sums->unreadable++;
		give_back(frames, thread, depth);
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

/* How many calls of the thread are open up to that of a function at a place; 0: it is not among them. */
INLINE __u32 find_open(struct thread_frames *frames, __u32 function, __u64 place)
{
	__u32 depth = frames->depth;
	int i;

	if (depth > CALL_DEPTH)
		return 0;
	for (i = 0; i < CALL_DEPTH; i++) {
		struct call_frame *frame;

		if (!depth)
			break;
		frame = frame_at(frames, depth - 1);
		if (frame->place == place && frame->function == function && frame->generation == generation)
			return depth;
		depth--;
	}
	return 0;
}

/*
 * Takes off calls that returned unseen within one that returns now. Of more than a few
 * the function is not told: they count as this one's.
 */
INLINE void drop_down_to(struct thread_frames *frames, __u32 thread, __u32 open, struct function_balance *sums)
{
	__u32 depth, roots_open = 0;
	int i;

	for (i = 0; i < DROPS; i++) {
		depth = frames->depth;
		if (depth <= open || depth > CALL_DEPTH)
			return;
		drop_top(frames, thread);
	}
	depth = frames->depth;
	if (depth <= open)
		return;
	sums->missed += depth - open;
	frame_at(frames, open - 1)->missed += depth - open;
	frames->depth = open;
	for (i = 0; i < CALL_DEPTH; i++)
		if (i < open)
			roots_open += frame_at(frames, i)->root;
	frames->roots = roots_open;
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
	frames->depth = depth;
	drop_out(thread, depth);
}

SUBPROGRAM int leave_call(void *ctx, struct call_input *in, __u32 function, __u64 place)
{
	__u64 id = bpf_get_current_pid_tgid(), now = bpf_ktime_get_ns();
	struct function_balance *sums;
	__u32 thread = thread_key(id), open;
	struct thread_frames *frames = find_frames(this_task(), thread);

	if (!frames || !frames->depth) /* no call of the thread is followed: the common case under a filter */
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
