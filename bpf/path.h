/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A file by its descriptor, and its path. */
#ifndef IOWITNESS_PATH_H
#define IOWITNESS_PATH_H

#include "ring.h"

/* Which argument of a system call is the file descriptor: 1 the first; 0 none. */
#define SYSCALLS 512
const volatile __u8 fd_argument[SYSCALLS] = {};

/* The components of a dentry's path within its mount, innermost first, NUL between them. */
SUBPROGRAM int put_path(struct file_ref *ref, struct dentry *dentry)
{
	__u32 at = 0;
	int level;

	for (level = 0; level < PATH_LEVELS; level++) {
		struct dentry *parent = BPF_CORE_READ(dentry, d_parent);
		long n;

		if (!dentry || dentry == parent)
			break;
		if (at >= PATH_BYTES) {
			lose(LOSS_NAME_CUT, 1, 0);
			break;
		}
		n = bpf_probe_read_kernel_str(&ref->path[at & (PATH_BYTES - 1)], NAME_BYTES,
					      BPF_CORE_READ(dentry, d_name.name));
		if (n <= 0)
			break;
		if (n == NAME_BYTES)
			lose(LOSS_NAME_CUT, 1, 0);
		at += n & (2 * NAME_BYTES - 1);
		dentry = parent;
	}
	if (level == PATH_LEVELS)
		lose(LOSS_NAME_CUT, 1, 0);
	ref->path_bytes = at;
	return 0;
}

INLINE bool put_inode(struct file_ref *ref, struct inode *inode)
{
	ref->ino = BPF_CORE_READ(inode, i_ino);
	ref->is_bdev = (BPF_CORE_READ(inode, i_mode) & S_IFMT) == S_IFBLK;
	ref->dev = ref->is_bdev ? BPF_CORE_READ(inode, i_rdev) : BPF_CORE_READ(inode, i_sb, s_dev);
	return inode != NULL;
}

INLINE bool put_file(struct file_ref *ref, struct file *file, enum file_source source)
{
	if (!file || !put_inode(ref, BPF_CORE_READ(file, f_inode)))
		return false;
	ref->source = source;
	put_path(ref, BPF_CORE_READ(file, f_path.dentry));
	return true;
}

INLINE struct file *file_by_fd(struct task_struct *task, __u32 fd)
{
	struct fdtable *table = BPF_CORE_READ(task, files, fdt);
	struct file **slots = BPF_CORE_READ(table, fd), *file = NULL;

	if (fd >= BPF_CORE_READ(table, max_fds))
		return NULL;
	bpf_probe_read_kernel(&file, sizeof(file), slots + fd);
	return file;
}

/* The same for the current thread, which the verifier knows where it can: at a quarter of the price. */
INLINE struct file *own_file_by_fd(struct task_struct *task, __u32 fd)
{
	struct file *file = NULL;
	struct fdtable *table;

	if (!bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_get_current_task_btf))
		return file_by_fd(task, fd);
	table = task->files->fdt;
	if (fd < table->max_fds)
		bpf_probe_read_kernel(&file, sizeof(file), table->fd + fd);
	return file;
}

INLINE long syscall_argument(struct pt_regs *regs, __u32 n)
{
	switch (n) {
	case 1: return BPF_CORE_READ(regs, di);
	case 2: return BPF_CORE_READ(regs, si);
	case 3: return BPF_CORE_READ(regs, dx);
	case 4: return BPF_CORE_READ(regs, r10);
	case 5: return BPF_CORE_READ(regs, r8);
	}
	return -1;
}

#endif
