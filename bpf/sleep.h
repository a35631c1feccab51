/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Waits by entry and return of functions that sleep, both in the thread itself. A
 * call in which the thread gave up its CPU is a wait; its time includes the
 * delay until the thread ran again. Calls nest: the innermost gets the time.
 */
#ifndef IOWITNESS_SLEEP_H
#define IOWITNESS_SLEEP_H

#include "wait.h"

INLINE struct call_balance *this_balance(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&balance, &zero);
}

INLINE struct thread_calls *find_calls(struct task_struct *task, __u32 tid)
{
	if (storage_by_hash)
		return bpf_map_lookup_elem(&call_hash, &tid);
	return bpf_task_storage_get(&call_storage, task, 0, 0);
}

INLINE struct thread_calls *make_calls(struct task_struct *task, __u32 tid)
{
	struct thread_calls *calls;

	if (!storage_by_hash)
		return bpf_task_storage_get(&call_storage, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	calls = bpf_map_lookup_elem(&call_hash, &tid);
	if (calls)
		return calls;
	bpf_map_update_elem(&call_hash, &tid, &no_calls, BPF_NOEXIST);
	return bpf_map_lookup_elem(&call_hash, &tid);
}

/* The compiler would know that a depth is in bounds, and leave out the mask that the verifier wants. */
INLINE struct open_call *call_at(struct thread_calls *calls, __u32 index)
{
	asm volatile("" : "+r"(index));
	return &calls->open[index & (OPEN_CALLS - 1)];
}

/* What is shown as in progress: the innermost open call, if any. */
INLINE void show_open(struct thread_wait *wait, struct thread_calls *calls)
{
	__u32 depth = calls->depth;
	struct open_call *call;

	wait->start = 0;
	if (!depth || depth > OPEN_CALLS)
		return;
	call = call_at(calls, depth - 1);
	wait->start = call->start;
	wait->generation = call->generation;
	wait->flags = function_flagged[call->function & (FUNCTIONS - 1)] ? WAIT_FLAGGED : 0;
}

/* Flagged functions do not call each other: one that is still open has returned unseen. */
INLINE void drop_unreturned(struct thread_calls *calls, __u32 function)
{
	__u32 depth = calls->depth;
	struct open_call *top = call_at(calls, depth - 1);

	if (depth && (top->generation != generation || top->function == function ||
		      function_flagged[top->function & (FUNCTIONS - 1)]))
		calls->depth = depth - 1;
}

SUBPROGRAM int enter_call(void *ctx, __u32 function)
{
	struct task_struct *task = this_task();
	__u64 id = bpf_get_current_pid_tgid(), now;
	struct call_balance *sums = this_balance();
	struct thread_calls *calls;
	struct thread_wait *wait;
	struct open_call *call;
	__u32 tid = id, depth;

	if (!epoch || !sums || !is_wanted(task, tid, id >> 32))
		return 0;
	if (ratio > 1 && bpf_get_prandom_u32() % ratio) {
		lose(LOSS_RATIO, 1, 0);
		return 0;
	}
	now = bpf_ktime_get_ns();
	if (!is_heard(now))
		return 0;
	calls = make_calls(task, tid);
	wait = make_wait(task, tid);
	if (!calls || !wait) {
		sums->lost++;
		lose(LOSS_STATE_FULL, 1, 0);
		return 0;
	}
	sums->entries++;
	drop_unreturned(calls, function);
	depth = calls->depth;
	if (depth >= OPEN_CALLS) {
		sums->deep++;
		return 0;
	}
	call = call_at(calls, depth);
	call->start = now;
	call->switches = BPF_CORE_READ(task, nvcsw);
	call->inner_ns = 0;
	call->inner_switches = 0;
	call->function = function;
	call->generation = generation;
	calls->depth = depth + 1;
	wait->tid = tid;
	wait->tgid = id >> 32;
	if (!wait->born)
		wait->born = now;
	show_open(wait, calls);
	return 0;
}

/* Finds a function's open call; those inside it have returned unseen. */
INLINE struct open_call *close_call(struct thread_calls *calls, __u32 function)
{
	__u32 depth;
	int i;

	for (i = 0; i < OPEN_CALLS; i++) {
		struct open_call *call;

		depth = calls->depth;
		if (!depth || depth > OPEN_CALLS)
			return NULL;
		call = call_at(calls, depth - 1);
		calls->depth = depth - 1;
		if (call->function == function && call->generation == generation)
			return call;
	}
	return NULL;
}

INLINE void charge_outer(struct thread_calls *calls, __u64 ns, __u64 switches)
{
	__u32 depth = calls->depth;
	struct open_call *outer = call_at(calls, depth - 1);

	if (!depth || depth > OPEN_CALLS)
		return;
	outer->inner_ns += ns;
	outer->inner_switches += switches;
}

SUBPROGRAM int leave_call(void *ctx, __u32 function)
{
	struct task_struct *task = this_task();
	struct ended_wait ended = { .function = function };
	struct call_balance *sums = this_balance();
	struct thread_calls *calls;
	struct thread_wait *wait;
	struct open_call *call;
	__u32 tid = bpf_get_current_pid_tgid();
	__u64 switches, all, inner;

	if (!sums)
		return 0;
	calls = find_calls(task, tid);
	wait = find_wait(task, tid);
	if (!calls || !wait || !calls->depth)
		goto stray;
	call = close_call(calls, function);
	if (!call)
		goto stray;
	sums->returns++;
	ended.start = call->start;
	ended.runs = bpf_ktime_get_ns();
	inner = call->inner_ns;
	switches = BPF_CORE_READ(task, nvcsw) - call->switches;
	all = ended.runs - ended.start;
	if (switches == call->inner_switches || inner > all) {
		sums->awake++;
		charge_outer(calls, inner, switches);
		show_open(wait, calls);
		return 0;
	}
	charge_outer(calls, all, switches);
	show_open(wait, calls);
	ended.woken = ended.start + all - inner;
	ended.runs = ended.woken;
	ended.flags = function_flagged[function & (FUNCTIONS - 1)] ? WAIT_FLAGGED : 0;
	tell_wait(wait, task, &ended, false, ctx);
	return 0;
stray:
	if (epoch)
		sums->strays++;
	return 0;
}

/*
 * Which function a program is attached to: the user side loads a copy for each and
 * puts its number in place of this mark; helpers that tell it are young.
 */
#define FUNCTION_MARK 0x105ca11

INLINE __u32 own_function(void)
{
	__u64 function;

	asm volatile("%0 = 0x105ca11 ll" : "=r"(function));
	return function;
}

SEC("fentry")
int enter_fentry(void *ctx)
{
	return enter_call(ctx, own_function());
}

SEC("fexit")
int leave_fexit(void *ctx)
{
	return leave_call(ctx, own_function());
}

SEC("kprobe")
int enter_kprobe(void *ctx)
{
	return enter_call(ctx, own_function());
}

SEC("kretprobe")
int leave_kretprobe(void *ctx)
{
	return leave_call(ctx, own_function());
}

/* All functions at once, told apart by cookie. */

SEC("kprobe.multi")
int enter_multi(void *ctx)
{
	return enter_call(ctx, bpf_get_attach_cookie(ctx));
}

SEC("kretprobe.multi")
int leave_multi(void *ctx)
{
	return leave_call(ctx, bpf_get_attach_cookie(ctx));
}

/*
 * A thread's last switch is not seen by these means, and after sched_process_exit it still waits, as
 * it lets go of memory and files. But when it is freed is up to the kernel: what it has waited until
 * it began to end is told at once. The task is typed here, for whom its state is found by.
 */
SEC("tp_btf/sched_process_exit")
int exit_tp_btf(__u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];

	tell_now(find_wait(task, task->pid), task, RECORD_TALLY);
	return 0;
}

SEC("tp_btf/sched_process_free")
int free_tp_btf(__u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];

	leave(task, task->pid);
	return 0;
}

#endif
