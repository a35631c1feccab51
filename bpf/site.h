/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Where a thread sleeps: stack, system call, file. */
#ifndef IOWITNESS_SITE_H
#define IOWITNESS_SITE_H

#include "file.h"

/* System call, file by its descriptor, and cgroup. */
SUBPROGRAM int put_call(struct wait_site *site, struct task_struct *task)
{
	struct pt_regs *regs;
	__u32 n;
	__u16 v1;

	site->cgroup = BPF_CORE_READ(cgroup_of(task, &v1), id);
	site->syscall = -1;
	site->file.source = FILE_NONE;
	site->file.path_bytes = 0;
	site->file.backing_dev = 0;
	if (BPF_CORE_READ(task, flags) & PF_KTHREAD)
		return 0;
	regs = user_regs(task);
	site->syscall = BPF_CORE_READ(regs, orig_ax);
	if (site->syscall < 0 || site->syscall >= SYSCALLS)
		return 0;
	n = fd_argument[site->syscall & (SYSCALLS - 1)];
	if (n)
		put_file(&site->file, file_by_fd(task, syscall_argument(regs, n)), FILE_FD);
	return 0;
}

INLINE void unwound(struct wait_site *site, long bytes)
{
	if (bytes < 0)
		lose(LOSS_STACK, 1, 0);
	site->frames = bytes > 0 ? bytes / 8 : 0;
}

/*
 * The kernel unwinds another task's stack without the functions of .sched.text, by
 * which one kind of wait differs from another. Their return addresses lie between
 * the stack pointer and the first address that the unwinder found.
 */
SUBPROGRAM int put_sched_frames(struct wait_site *site, struct scratch *scratch)
{
	__u64 start = sched_text_start, end = sched_text_end, outer = site->stack[0];
	/* In memory, whose content the verifier does not follow: else it would try every number at every word. */
	volatile __u32 *found = &scratch->found;
	__u32 i;

	*found = 0;
	for (i = 0; i < STACK_SCAN_WORDS; i++) {
		__u64 word = scratch->words[i];
		__u32 n = *found;

		if (word == outer) {
			site->sched_frames = n;
			return 0;
		}
		if (word >= start && word < end && n < SCHED_DEPTH) {
			site->sched[n & (SCHED_DEPTH - 1)] = word;
			*found = n + 1;
		}
	}
	return 0;
}

/* A kernel thread may have fewer words on its stack than are looked at: beyond it nothing can be read. */
INLINE bool read_words(struct scratch *scratch, struct task_struct *task, __u64 sp)
{
	__u64 bytes = (__u64)BPF_CORE_READ(task, stack) + THREAD_SIZE - sp;

	if (bytes >= sizeof(scratch->words))
		bytes = sizeof(scratch->words);
	else
		__builtin_memset(scratch->words, 0, sizeof(scratch->words));
	asm volatile("" : "+r"(bytes));
	return !bpf_probe_read_kernel(scratch->words, bytes, (void *)sp);
}

/* A sleeping thread, typed. */
SUBPROGRAM int put_site(struct wait_site *site, struct task_struct *task)
{
	struct scratch *scratch = this_scratch();
	__u64 sp = BPF_CORE_READ(task, thread.sp);

	unwound(site, bpf_get_task_stack(task, site->stack, sizeof(site->stack), 0));
	put_call(site, task);
	site->sched_frames = 0;
	if (!scratch || !read_words(scratch, task, sp))
		return 0;
	if (site->frames)
		put_sched_frames(site, scratch);
	put_folio(site, (__u64)task, sp, scratch);
	return 0;
}

/* The current thread, at the return of a function of the table, which its stack holds no longer. */
SUBPROGRAM int put_own_site(struct wait_site *site, struct task_struct *task, void *ctx, __u32 function)
{
	unwound(site, bpf_get_stack(ctx, site->stack, sizeof(site->stack), 0));
	put_call(site, task);
	site->sched[0] = function_address[function & (FUNCTIONS - 1)];
	site->sched_frames = !!site->sched[0];
	return 0;
}

#endif
