/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Calls of any function, from entry to return. What belongs to a call is kept in a
 * frame of its own, found at the return by the place of the call on the stack: so
 * recursion, interrupts and returns that are missed never mix two calls.
 */
#ifndef IOWITNESS_FRAMES_H
#define IOWITNESS_FRAMES_H

#include "follow.h"
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
	__u32 holder;		/* 1 + the slot in which the thread is counted; 0: in none */
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
 * The user side puts the filter and the fields of a function in place of these (expr/).
 * The first is the filter's part that the entry can tell: of what it could not read the
 * mask knows. The others leave what they find in out; that of the return says whether the
 * call is wanted.
 */
enum verdict { UNWANTED = 0, WANTED = 1, UNREADABLE = 2 };

SUBPROGRAM int filter_body(struct call_input *in, __u64 *mask)
{
	int verdict = WANTED;

	asm volatile("" : "+r"(verdict) : "r"(in), "r"(mask) : "memory");
	return verdict;
}

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

/* What a typed program's context has, for which the user side knows where and whether it is a number. */
SUBPROGRAM int arguments_body(void *ctx, struct call_input *in)
{
	return bpf_probe_read_kernel(in->arg, sizeof(in->arg), ctx);
}

SUBPROGRAM int result_body(void *ctx, struct call_input *in)
{
	asm volatile("" : : "r"(ctx), "r"(in) : "memory");
	return 0;
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

/*
 * How many threads have open calls, by a hash of the task: its id may change in an execve. A thread
 * that ends within a call stays counted, which costs a look into its successor's storage and no more.
 */
#define HOLDER_BITS 12
#define HOLDERS (1 << HOLDER_BITS)
volatile __u32 holders[HOLDERS] = {};

INLINE __u32 holder_slot(void)
{
	__u32 cache_line = bpf_get_current_task() >> 6;

	return cache_line * 0x9e3779b1U >> (32 - HOLDER_BITS);
}

/* If not, a return is that of a call that was left out. */
INLINE bool may_have_open(void)
{
	return holders[holder_slot()];
}

INLINE struct thread_frames *find_frames(__u32 thread)
{
	if (storage_by_hash)
		return bpf_map_lookup_elem(&frame_hash, &thread);
	return bpf_task_storage_get(&frame_storage, this_task(), 0, 0);
}

INLINE struct thread_frames *make_frames(__u32 thread)
{
	struct thread_frames *frames;

	if (!storage_by_hash)
		return bpf_task_storage_get(&frame_storage, this_task(), 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	frames = bpf_map_lookup_elem(&frame_hash, &thread);
	if (frames)
		return frames;
	bpf_map_update_elem(&frame_hash, &thread, &no_frames, BPF_NOEXIST);
	return bpf_map_lookup_elem(&frame_hash, &thread);
}

/* Of a thread that may have open calls. */
INLINE struct thread_frames *find_holder(__u32 thread)
{
	return may_have_open() ? find_frames(thread) : NULL;
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

/*
 * Takes a frame before it is filled: what interrupts us here builds on top, and leaves it as it was.
 * The thread may then be counted once too often, but as long as it has an open call it is counted.
 */
INLINE void take_frame(struct thread_frames *frames, __u32 depth, __u64 place)
{
	__u32 slot;

	frame_at(frames, depth)->place = place;
	frames->depth = depth + 1;
	barrier();
	frame_at(frames, depth)->place = place;
	if (!frames->holder) {
		slot = holder_slot();
		__sync_fetch_and_add(&holders[slot], 1);
		frames->holder = 1 + slot;
	}
}

/* Gives the innermost frame back. */
INLINE void free_frame(struct thread_frames *frames, __u32 thread, __u32 depth)
{
	__u32 slot = frames->holder - 1;

	drop_out(thread, depth);
	if (!depth && slot < HOLDERS) {
		frames->holder = 0;
		__sync_fetch_and_add(&holders[slot], -1);
	}
	barrier();
	frames->depth = depth;
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

/* So many with a look at whose they are: the verifier walks through each. Of more the function is not told. */
#define DROPS 3

INLINE void drop_unnamed(struct thread_frames *frames)
{
	__u32 depth = frames->depth - 1;

	frames->roots -= frame_at(frames, depth)->root;
	frames->depth = depth;
}

INLINE void count_unnamed(struct thread_frames *frames, __u32 dropped, struct function_balance *sums)
{
	__u32 depth = frames->depth;

	if (!dropped)
		return;
	if (frame_at(frames, depth)->generation == generation)
		sums->missed += dropped;
	else
		sums->given_up += dropped;
	if (depth)
		frame_at(frames, depth - 1)->missed += dropped;
}

INLINE bool top_has_returned(struct thread_frames *frames, __u64 place)
{
	__u32 depth = frames->depth;

	return depth && depth <= CALL_DEPTH && has_returned(frame_at(frames, depth - 1), place);
}

/* A call of a function begins at a place: none that has returned may be taken for it. */
SUBPROGRAM int drop_returned(struct thread_frames *frames, __u32 thread, __u64 place, struct function_balance *sums)
{
	__u32 depth;
	int i;

	for (i = 0; i < DROPS; i++) {
		if (!top_has_returned(frames, place))
			return 0;
		drop_top(frames, thread);
	}
	depth = frames->depth;
	for (i = 0; i < CALL_DEPTH && top_has_returned(frames, place); i++)
		drop_unnamed(frames);
	count_unnamed(frames, depth - frames->depth, sums);
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

/* Takes off calls that returned unseen within one of a function that returns now. */
INLINE void drop_down_to(struct thread_frames *frames, __u32 thread, __u32 open, struct function_balance *sums)
{
	__u32 depth;
	int i;

	for (i = 0; i < DROPS; i++) {
		if (frames->depth <= open || frames->depth > CALL_DEPTH)
			return;
		drop_top(frames, thread);
	}
	depth = frames->depth;
	for (i = 0; i < CALL_DEPTH && frames->depth > open; i++)
		drop_unnamed(frames);
	count_unnamed(frames, depth - frames->depth, sums);
}

#endif
