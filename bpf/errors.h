/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * System calls that fail, and what functions within returned by then. Both ends of a
 * call are seen; in between, errors are noted for the thread as functions return, each
 * with the place of its call on the stack and its callers. Fatal signals are told with
 * who sent them.
 */
#ifndef IOWITNESS_ERRORS_H
#define IOWITNESS_ERRORS_H

#include "call.h"
#include "tracepoint.h"

const struct failed_record *failed_record_layout __attribute__((unused));
const struct signal_record *signal_record_layout __attribute__((unused));
const struct death_record *death_record_layout __attribute__((unused));

#define PATH_ARGUMENT 7		/* the argument, from 1, that is a path; 0: none */
#define SECOND_PATH_SHIFT 3	/* and another one */
#define PATH_AT_ENTRY 64	/* the first is gone when the call returns */
const volatile __u8 path_arguments[SYSCALLS] = {};

struct thread_errors {
	__u64 start;		/* of the call under way; 0: none */
	__u64 arg[8];
	__u64 mm;
	__u32 number;
	__u32 compat;
	__u32 returns;		/* noted so far; the last ERROR_RETURNS of them are kept */
	__u32 has_path;
	char path[SYSCALL_PATH];
	struct error_return inner[ERROR_RETURNS];
};

static const struct thread_errors no_errors = {};

/*
 * By the task's address, which execve of a thread that is not the first leaves as it is,
 * unlike its id. Not in task-local storage: returns of functions come at any time, and
 * before 6.2 that refuses whoever comes while another task uses it on the same CPU.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u64);
	__type(value, struct thread_errors);
} error_hash SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct failed_key);
	__type(value, struct failed_sum);
} failed_sums SEC(".maps");

INLINE struct thread_errors *find_errors(void)
{
	__u64 task = bpf_get_current_task();

	return bpf_map_lookup_elem(&error_hash, &task);
}

INLINE struct thread_errors *make_errors(void)
{
	__u64 task = bpf_get_current_task();
	struct thread_errors *errors = bpf_map_lookup_elem(&error_hash, &task);

	if (errors)
		return errors;
	bpf_map_update_elem(&error_hash, &task, &no_errors, BPF_NOEXIST);
	return bpf_map_lookup_elem(&error_hash, &task);
}

INLINE void drop_errors(void)
{
	__u64 task = bpf_get_current_task();

	bpf_map_delete_elem(&error_hash, &task);
}

INLINE __u32 paths_of(__u32 number, __u32 compat)
{
	if (number >= SYSCALLS || compat)
		return 0;
	/* As in frame_at: the compiler would leave out the mask. */
	asm volatile("" : "+r"(number));
	return path_arguments[number & (SYSCALLS - 1)];
}

INLINE struct error_return *error_at(struct thread_errors *errors, __u32 index)
{
	asm volatile("" : "+r"(index));
	return &errors->inner[index & (ERROR_RETURNS - 1)];
}

INLINE __u64 argument_at(struct thread_errors *errors, __u32 n)
{
	asm volatile("" : "+r"(n));
	return errors->arg[(n - 1) & 7];
}

#define SYSCALL_ARGS 6

SUBPROGRAM int begin_syscall(__u64 *args, __u32 number)
{
	struct task_struct *task = this_task();
	__u64 id = bpf_get_current_pid_tgid(), now = bpf_ktime_get_ns();
	struct thread_errors *errors;
	__u32 paths, i;

	if (!epoch || !is_wanted(task, id, id >> 32) || !is_heard(now))
		return 0;
	errors = make_errors();
	if (!errors) {
		lose(LOSS_FRAMES, 1, 0);
		return 0;
	}
	errors->start = now;
	errors->number = number;
	errors->compat = !!(BPF_CORE_READ(task, thread_info.status) & TS_COMPAT);
	errors->returns = 0;
	errors->has_path = 0;
	errors->mm = (__u64)BPF_CORE_READ(task, mm);
#pragma unroll
	for (i = 0; i < SYSCALL_ARGS; i++)
		errors->arg[i] = args[i];
	paths = paths_of(number, errors->compat);
	if (paths & PATH_AT_ENTRY)
		errors->has_path = bpf_probe_read_user_str(errors->path, sizeof(errors->path),
							   (void *)argument_at(errors, paths & PATH_ARGUMENT)) > 0;
	return 0;
}

#define EITHER_BYTES 12	/* of a result whose type is not known: 64 bits, or 32 of which the upper half is 0 */

/* What a function returned, as 64 bits. */
INLINE __s64 result_of(struct call_input *in)
{
	if (in->result_bytes == 4 || (in->result_bytes == EITHER_BYTES && !(in->ret >> 32)))
		return (__s32)in->ret;
	return in->ret;
}

#define CALL_BYTES 5
#define CALL_RELATIVE 0xe8

/*
 * The address that a call before a place of return calls. Where none stands there, as behind a
 * call by a pointer or in the probes' own code, that place itself; 0: it is not known.
 */
INLINE __u64 called_before(__u64 to)
{
	__u8 code[CALL_BYTES] = {};
	__s32 distance = 0;

	if (!to || bpf_probe_read_kernel(code, sizeof(code), (void *)(to - CALL_BYTES)) || code[0] != CALL_RELATIVE)
		return to;
	__builtin_memcpy(&distance, code + 1, sizeof(distance));
	return to + distance;
}

/*
 * A function has returned in a call that is watched, to an address; 0: not known. A
 * success is noted where an error that was noted may lie in it: then it went no further.
 * Earlier calls of the same caller are at the same place of the stack, what they called
 * is at lower ones.
 */
SUBPROGRAM int see_error(void *ctx, struct call_input *in, __u32 function, __u64 place, __u64 to)
{
	struct task_struct *task = this_task();
	struct function_balance *sums = balance_of(function);
	__s64 ret = result_of(in);
	__u32 failed = ret < 0 && ret >= -4095, returns;
	struct thread_errors *errors;
	struct error_return *entry;

	if (!epoch || !sums)
		return 0;
	errors = find_errors();
	if (!errors || !errors->start)
		return 0;
	returns = errors->returns;
	if (!failed && (!returns || error_at(errors, returns - 1)->place >= place))
		return 0;
	/* An interrupt has a stack of its own, and its errors are nobody's here. */
	if (place - (__u64)BPF_CORE_READ(task, stack) >= THREAD_SIZE)
		return 0;
	sums->returns++;
	entry = error_at(errors, returns);
	entry->place = place;
	entry->ret = ret;
	entry->function = function;
	entry->failed = failed;
	entry->stack = failed && with_stacks ? take_stack(ctx, false) : 0;
	entry->called = failed ? called_before(to) : 0;
	errors->returns = returns + 1;
	return 0;
}

/* A path as the call was given it. A page that nobody has touched yet cannot be read. */
INLINE __u32 put_user_path(char *to, struct thread_errors *errors, __u32 argument)
{
	return argument && bpf_probe_read_user_str(to, SYSCALL_PATH, (void *)argument_at(errors, argument)) > 0;
}

INLINE void put_paths(struct failed_record *record, struct thread_errors *errors, struct task_struct *task)
{
	__u32 paths = paths_of(errors->number, errors->compat);
	bool same = errors->mm == (__u64)BPF_CORE_READ(task, mm);

	record->has_path[0] = errors->has_path;
	record->has_path[1] = 0;
	if (errors->has_path)
		bpf_probe_read_kernel(record->path[0], SYSCALL_PATH, errors->path);
	else if (same)
		record->has_path[0] = put_user_path(record->path[0], errors, paths & PATH_ARGUMENT);
	if (same)
		record->has_path[1] = put_user_path(record->path[1], errors, paths >> SECOND_PATH_SHIFT & PATH_ARGUMENT);
}

#define FIRST_TOLD 64	/* calls of a kind, whatever the rate */

SUBPROGRAM int tell_failed(struct thread_errors *errors, __u64 now, __u64 ret, __u64 count)
{
	struct task_struct *task = this_task();
	struct failed_record *record;
	__u16 v1;

	if (count > FIRST_TOLD && !within_rate()) {
		lose(LOSS_CALL_BUDGET, 1, 0);
		return 0;
	}
	record = bpf_ringbuf_reserve(&records, sizeof(*record), 0);
	if (!record) {
		lose(LOSS_RING_CALL, 1, 0);
		return 0;
	}
	put_head(&record->head, RECORD_FAILED, sizeof(*record), task);
	record->start = errors->start;
	record->end = now;
	record->ret = ret;
	record->cgroup = BPF_CORE_READ(cgroup_of(task, &v1), id);
	record->number = errors->number;
	record->compat = errors->compat;
	record->returns = errors->returns;
	record->cpu = bpf_get_smp_processor_id();
	bpf_probe_read_kernel(record->arg, sizeof(record->arg), errors->arg);
	bpf_probe_read_kernel(record->inner, sizeof(record->inner), errors->inner);
	record->path[0][0] = 0;
	record->path[1][0] = 0;
	put_paths(record, errors, task);
	bpf_ringbuf_submit(record, ring_wakeup());
	return 0;
}

#define RT_SIGRETURN 15
#define COMPAT_SIGRETURN 119
#define COMPAT_RT_SIGRETURN 173

/* The way out of a signal's handler gives back what the call that it interrupted has returned: nothing fails. */
INLINE bool ends_handler(struct thread_errors *errors)
{
	__u32 number = errors->number;

	return errors->compat ? number == COMPAT_SIGRETURN || number == COMPAT_RT_SIGRETURN : number == RT_SIGRETURN;
}

/* The end of a call of another number than began last is one of which the begin was not seen. */
SUBPROGRAM int end_syscall(__u32 number, __u64 ret)
{
	struct thread_errors *errors = find_errors();
	struct failed_key key = {};
	struct failed_sum *sum, none = {};
	__u64 now;

	if (!errors || !errors->start)
		return 0;
	if (epoch && errors->number == number && (__s64)ret < 0 && (__s64)ret >= -4095 && !ends_handler(errors)) {
		now = bpf_ktime_get_ns();
		key.number = errors->number;
		key.compat = errors->compat;
		key.error = -(__s64)ret;
		sum = bpf_map_lookup_elem(&failed_sums, &key);
		if (!sum) {
			bpf_map_update_elem(&failed_sums, &key, &none, BPF_NOEXIST);
			sum = bpf_map_lookup_elem(&failed_sums, &key);
		}
		if (sum) {
			__sync_fetch_and_add(&sum->count, 1);
			__sync_fetch_and_add(&sum->ns, now - errors->start);
		} else {
			lose(LOSS_CALL_SUM, 1, 0);
		}
		tell_failed(errors, now, ret, sum ? sum->count : 0);
	}
	errors->start = 0;
	return 0;
}

#define SIGKILL 9
#define SIGNALS 64
/* By default CHLD, CONT, STOP, TSTP, TTIN, TTOU, URG and WINCH do not end a process. */
#define HARMLESS_SIGNALS (1ULL << 16 | 1ULL << 17 | 1ULL << 18 | 1ULL << 19 | 1ULL << 20 | 1ULL << 21 | 1ULL << 22 | 1ULL << 27)

/* Whether a signal ends its receiver: nobody handles it, or it cannot be handled. */
INLINE bool is_fatal(struct task_struct *target, __u32 number)
{
	struct sighand_struct *hand = BPF_CORE_READ(target, sighand);
	__u64 handler = 1;

	if (number == SIGKILL)
		return true;
	if (!number || number > SIGNALS || HARMLESS_SIGNALS >> (number - 1) & 1)
		return false;
	bpf_probe_read_kernel(&handler, sizeof(handler), (void *)hand + bpf_core_field_offset(struct sighand_struct, action) +
			      (number - 1) * bpf_core_type_size(struct k_sigaction));
	return !handler;
}

/* Instead of an address, for signals without further information: 0 from a user, 1 from the kernel. */
#define LAST_SPECIAL_INFO 2
#define SI_KERNEL 0x80

SUBPROGRAM int tell_signal(void *ctx, __u32 number, struct kernel_siginfo *info, struct task_struct *target)
{
	struct signal_record *record;
	__u64 now = bpf_ktime_get_ns();

	if (!epoch || !is_fatal(target, number) || !is_heard(now) ||
	    !is_wanted(target, BPF_CORE_READ(target, pid), BPF_CORE_READ(target, tgid)))
		return 0;
	record = bpf_ringbuf_reserve(&records, sizeof(*record), 0);
	if (!record) {
		lose(LOSS_RING_CALL, 1, 0);
		return 0;
	}
	put_head(&record->head, RECORD_SIGNAL, sizeof(*record), this_task());
	record->time = now;
	record->address = 0;
	record->number = number;
	record->code = (__u64)info == 1 ? SI_KERNEL : 0;
	if ((__u64)info > LAST_SPECIAL_INFO) {
		record->code = BPF_CORE_READ(info, si_code);
		bpf_probe_read_kernel(&record->address, sizeof(record->address),
				      (void *)info + bpf_core_field_offset(struct kernel_siginfo, _sifields));
	}
	record->target_tid = BPF_CORE_READ(target, pid);
	record->target_tgid = BPF_CORE_READ(target, tgid);
	BPF_CORE_READ_STR_INTO(&record->target_comm, target, comm);
	record->stack = with_stacks ? take_stack(ctx, false) : 0;
	bpf_ringbuf_submit(record, ring_wakeup());
	return 0;
}

/* A thread ends by a signal. */
SUBPROGRAM int tell_death(struct task_struct *task)
{
	__u64 id = bpf_get_current_pid_tgid();
	__u32 code = BPF_CORE_READ(task, exit_code);
	struct death_record *record;

	if (!epoch || !(code & 0x7f) || !is_wanted(task, id, id >> 32))
		return 0;
	record = bpf_ringbuf_reserve(&records, sizeof(*record), 0);
	if (!record) {
		lose(LOSS_RING_CALL, 1, 0);
		return 0;
	}
	put_head(&record->head, RECORD_DEATH, sizeof(*record), task);
	record->time = bpf_ktime_get_ns();
	record->signal = code & 0x7f;
	record->dumped = !!(code & 0x80);
	bpf_ringbuf_submit(record, ring_wakeup());
	return 0;
}

#endif
