/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The file a thread waits for: by the system call's descriptor, the folio, or the mapping. */
#ifndef IOWITNESS_FILE_H
#define IOWITNESS_FILE_H

#include "path.h"
#include "state.h"

/*
 * scratch->words are the innermost words of the sleeping thread's stack, from sp on.
 * A thread that waits for a folio has a wait entry on its own stack, whose
 * private is the thread and whose func is wake_page_function.
 */
SUBPROGRAM int put_folio(struct wait_site *site, __u64 task, __u64 sp, struct scratch *scratch)
{
	const __u32 func_at = (bpf_core_field_offset(struct wait_page_queue, wait) +
			       bpf_core_field_offset(struct wait_queue_entry, func)) / 8;
	const __u32 private_at = (bpf_core_field_offset(struct wait_page_queue, wait) +
				  bpf_core_field_offset(struct wait_queue_entry, private)) / 8;
	struct address_space *mapping;
	struct file_ref *ref = &site->file;
	struct inode *inode;
	struct dentry *alias;
	__u32 i;

	if (!wake_page_function)
		return 0;
	for (i = 0; i < STACK_SCAN_WORDS - 8; i++) {
		if (scratch->words[(i + func_at) & (STACK_SCAN_WORDS - 1)] == wake_page_function &&
		    scratch->words[(i + private_at) & (STACK_SCAN_WORDS - 1)] == task)
			goto found;
	}
	return 0;
found:
	mapping = waited_mapping((void *)(sp + i * 8));
	/* The low bits mark anonymous memory; a folio given up during the sleep may be anything. */
	if ((__u64)mapping < KERNEL_SPACE || (__u64)mapping & 3)
		return 0;
	inode = BPF_CORE_READ(mapping, host);
	if (!inode || BPF_CORE_READ(inode, i_mapping) != mapping)
		return 0;
	ref->backing_dev = (BPF_CORE_READ(inode, i_mode) & S_IFMT) == S_IFBLK ?
		BPF_CORE_READ(inode, i_rdev) : BPF_CORE_READ(inode, i_sb, s_dev);
	if (ref->source != FILE_NONE || !put_inode(ref, inode))
		return 0;
	ref->source = FILE_FOLIO;
	alias = first_alias(inode);
	if (alias)
		put_path(ref, alias);
	return 0;
}

#endif
