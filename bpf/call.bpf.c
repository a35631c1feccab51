/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The witness of function calls. The user side loads a copy of entry and return for
 * each function, with the function's number and its filter in it, or one for all.
 */
#include "errors.h"
#include "resolve.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Marks in the code, for which the user side puts what belongs to the function. */
#define FUNCTION_MARK "0x105ca11"
#define RESULT_MARK "0x105ca13"

INLINE __u32 own_function(void)
{
	__u64 function;

	asm volatile("%0 = " FUNCTION_MARK " ll" : "=r"(function));
	return function;
}

INLINE __u32 own_result_bytes(void)
{
	__u64 bytes;

	asm volatile("%0 = " RESULT_MARK " ll" : "=r"(bytes));
	return bytes;
}

SEC("fentry")
int call_fentry(void *ctx)
{
	return enter_call(ctx, true, own_function());
}

INLINE int leave_typed(void *ctx)
{
	struct call_input in;

	in.result_bytes = own_result_bytes();
	result_body(ctx, &in);
	return leave_call(ctx, &in, own_function(), place_of(ctx));
}

SEC("fexit")
int call_fexit(void *ctx)
{
	return may_have_open() ? leave_typed(ctx) : 0;
}

SEC("fexit")
int return_fexit(void *ctx)
{
	struct call_input in = { .result_bytes = own_result_bytes() };

	result_body(ctx, &in);
	return see_return(ctx, &in, own_function(), place_of(ctx));
}

SEC("fexit")
int error_fexit(void *ctx)
{
	struct call_input in = { .result_bytes = own_result_bytes() };

	result_body(ctx, &in);
	return see_error(ctx, &in, own_function(), place_of(ctx), 0);
}

/* Of many functions by registers one program serves all: a probe's cookie has the number, and above it the bytes of the result. */
#define COOKIE_RESULT_BIT 32
const volatile bool serves_all = false;

INLINE __u32 probed_function(struct pt_regs *regs)
{
	return serves_all ? bpf_get_attach_cookie(regs) : own_function();
}

INLINE __u32 probed_result_bytes(struct pt_regs *regs)
{
	return serves_all ? bpf_get_attach_cookie(regs) >> COOKIE_RESULT_BIT : own_result_bytes();
}

/* At the return the address to return to has been taken off the stack. */
#define RETURN_BYTES 8

SEC("kprobe")
int call_kprobe(struct pt_regs *regs)
{
	return enter_call(regs, false, probed_function(regs));
}

INLINE int leave_probed(struct pt_regs *regs, __u32 function, __u32 result_bytes)
{
	struct call_input in;

	in.result_bytes = result_bytes;
	in.function = function;
	in.ret = regs->ax;
	return leave_call(regs, &in, function, regs->sp - RETURN_BYTES);
}

SEC("kretprobe")
int call_kretprobe(struct pt_regs *regs)
{
	return may_have_open() ? leave_probed(regs, probed_function(regs), probed_result_bytes(regs)) : 0;
}

SEC("kretprobe")
int return_kretprobe(struct pt_regs *regs)
{
	__u32 function = probed_function(regs);
	struct call_input in = { .result_bytes = probed_result_bytes(regs), .function = function };

	in.ret = regs->ax;
	return see_return(regs, &in, function, regs->sp - RETURN_BYTES);
}

/*
 * At a return ip is where the function returns to. Not so by kretprobe before 5.15, and by
 * kprobe.multi from 6.14 on where another function jumped to it, or in some always:
 * then it is the probes' trampoline or the function itself, before which is no call of it.
 */
SEC("kretprobe")
int error_kretprobe(struct pt_regs *regs)
{
	struct call_input in = { .result_bytes = probed_result_bytes(regs) };

	in.ret = regs->ax;
	return see_error(regs, &in, probed_function(regs), regs->sp - RETURN_BYTES, regs->ip);
}

SEC("kprobe.multi")
int call_multi(struct pt_regs *regs)
{
	return enter_call(regs, false, bpf_get_attach_cookie(regs));
}

SEC("kretprobe.multi")
int call_ret_multi(struct pt_regs *regs)
{
	__u64 cookie;

	if (!may_have_open())
		return 0;
	cookie = bpf_get_attach_cookie(regs);
	return leave_probed(regs, cookie, cookie >> COOKIE_RESULT_BIT);
}

SEC("kretprobe.multi")
int return_multi(struct pt_regs *regs)
{
	__u64 cookie = bpf_get_attach_cookie(regs);
	struct call_input in = { .result_bytes = cookie >> COOKIE_RESULT_BIT, .function = cookie };

	in.ret = regs->ax;
	return see_return(regs, &in, cookie, regs->sp - RETURN_BYTES);
}

SEC("kretprobe.multi")
int error_multi(struct pt_regs *regs)
{
	__u64 cookie = bpf_get_attach_cookie(regs);
	struct call_input in = { .result_bytes = cookie >> COOKIE_RESULT_BIT };

	in.ret = regs->ax;
	return see_error(regs, &in, cookie, regs->sp - RETURN_BYTES, regs->ip);
}

SEC("raw_tp/sys_enter")
int error_enter(struct bpf_raw_tracepoint_args *ctx)
{
	struct pt_regs *regs = (void *)ctx->args[0];
	__u64 args[SYSCALL_ARGS] = {
		BPF_CORE_READ(regs, di), BPF_CORE_READ(regs, si), BPF_CORE_READ(regs, dx),
		BPF_CORE_READ(regs, r10), BPF_CORE_READ(regs, r8), BPF_CORE_READ(regs, r9),
	};

	return begin_syscall(args, ctx->args[1]);
}

SEC("raw_tp/sys_exit")
int error_exit(struct bpf_raw_tracepoint_args *ctx)
{
	return end_syscall(BPF_CORE_READ((struct pt_regs *)ctx->args[0], orig_ax), ctx->args[1]);
}

SEC("tp/raw_syscalls/sys_enter")
int error_enter_tp(struct trace_sys_enter *event)
{
	__u64 args[SYSCALL_ARGS] = {
		event->args[0], event->args[1], event->args[2], event->args[3], event->args[4], event->args[5],
	};

	return begin_syscall(args, event->id);
}

SEC("tp/raw_syscalls/sys_exit")
int error_exit_tp(struct trace_sys_exit *event)
{
	return end_syscall(event->id, event->ret);
}

SEC("raw_tp/signal_generate")
int error_signal(struct bpf_raw_tracepoint_args *ctx)
{
	if (ctx->args[4]) /* it was not delivered: ignored, or pending already */
		return 0;
	return tell_signal(ctx, ctx->args[0], (void *)ctx->args[1], (void *)ctx->args[2]);
}

SEC("raw_tp/sched_process_fork")
int call_fork(struct bpf_raw_tracepoint_args *ctx)
{
	follow_child(BPF_CORE_READ((struct task_struct *)ctx->args[0], pid),
		     BPF_CORE_READ((struct task_struct *)ctx->args[1], pid));
	return 0;
}

SEC("raw_tp/sched_process_exec")
int call_exec(struct bpf_raw_tracepoint_args *ctx)
{
	follow_renumbered(ctx->args[1], bpf_get_current_pid_tgid());
	return 0;
}

SEC("raw_tp/sched_process_exit")
int call_exit(struct bpf_raw_tracepoint_args *ctx)
{
	end_followed(bpf_get_current_pid_tgid());
	return 0;
}

SEC("raw_tp/sched_process_exit")
int error_death(struct bpf_raw_tracepoint_args *ctx)
{
	tell_death((void *)ctx->args[0]);
	drop_errors();
	return 0;
}

SEC("raw_tp/sched_process_free")
int call_free(struct bpf_raw_tracepoint_args *ctx)
{
	__u32 tid = BPF_CORE_READ((struct task_struct *)ctx->args[0], pid);

	if (filter_follow)
		forget_ended(tid);
	if (storage_by_hash)
		bpf_map_delete_elem(&frame_hash, &tid);
	return 0;
}
