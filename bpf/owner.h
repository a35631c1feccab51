/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Whose a bio is: who submitted it or dirtied what it writes, its file and its cgroup. */
#ifndef IOWITNESS_OWNER_H
#define IOWITNESS_OWNER_H

#include "block.h"

/*
 * Who dirtied an inode's pages, and how many of them are not yet written. Writing takes
 * off whoever has most, so that in the end each has the share that was his.
 */
#define DIRTIERS 4
struct dirtier {
	struct task_id who;
	__u32 pages;
	__u32 pad;
};

struct dirtied {
	struct dirtier by[DIRTIERS];
	__u32 last;		/* who dirtied last: to whom all goes once nothing is left */
	__u32 others;		/* pages of those for whom there was no room */
};

struct inode_key {
	__u64 address;
	__u64 ino;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, struct inode_key);
	__type(value, struct dirtied);
} dirty_inodes SEC(".maps");

static const struct dirtied nobody = {};

INLINE struct dirtied *find_dirtied(struct inode *inode, bool make)
{
	struct inode_key key = { (__u64)inode, BPF_CORE_READ(inode, i_ino) };
	struct dirtied *dirtied = bpf_map_lookup_elem(&dirty_inodes, &key);

	if (dirtied || !make)
		return dirtied;
	bpf_map_update_elem(&dirty_inodes, &key, &nobody, BPF_NOEXIST);
	return bpf_map_lookup_elem(&dirty_inodes, &key);
}

/* A page of a file has become dirty, by the current thread. */
INLINE void dirty(struct address_space *mapping)
{
	__u32 tgid = bpf_get_current_pid_tgid() >> 32, i, least = 0;
	struct dirtied *dirtied;
	struct inode *inode;

	if (!epoch || !with_files || !mapping)
		return;
	inode = GET(mapping, host);
	if (!inode)
		return;
	dirtied = find_dirtied(inode, true);
	if (!dirtied)
		return;
	for (i = 0; i < DIRTIERS; i++) {
		if (dirtied->by[i].who.tgid == tgid && dirtied->by[i].who.tid) {
			dirtied->by[i].pages++;
			dirtied->last = i;
			return;
		}
		if (dirtied->by[i].pages < dirtied->by[least & (DIRTIERS - 1)].pages)
			least = i;
	}
	if (dirtied->by[least & (DIRTIERS - 1)].pages)
		dirtied->others++;
	put_self(&dirtied->by[least & (DIRTIERS - 1)].who);
	dirtied->by[least & (DIRTIERS - 1)].pages = 1;
	dirtied->last = least;
}

/* Whose the next pages are that are written of an inode. */
INLINE struct task_id *take_dirtier(struct dirtied *dirtied, __u32 pages)
{
	__u32 i, most = dirtied->last & (DIRTIERS - 1);

	for (i = 0; i < DIRTIERS; i++)
		if (dirtied->by[i].pages > dirtied->by[most & (DIRTIERS - 1)].pages)
			most = i;
	most &= DIRTIERS - 1;
	if (dirtied->by[most].pages > pages)
		dirtied->by[most].pages -= pages;
	else
		dirtied->by[most].pages = 0;
	return &dirtied->by[most].who;
}

#define MAPPING_BITS 3	/* of a page's mapping: no file's */
#define ANONYMOUS 1

/* Tells a file's name, once. */
SUBPROGRAM int tell_file(struct inode *inode, struct dentry *dentry)
{
	struct file_record *record;
	struct file_key key = {};
	bool is_bdev = (BPF_CORE_READ(inode, i_mode) & S_IFMT) == S_IFBLK;
	__u8 yes = 1;

	key.ino = BPF_CORE_READ(inode, i_ino);
	key.dev = is_bdev ? BPF_CORE_READ(inode, i_rdev) : BPF_CORE_READ(inode, i_sb, s_dev);
	if (bpf_map_lookup_elem(&told_files, &key))
		return 0;
	record = bpf_ringbuf_reserve(&records, sizeof(*record), 0);
	if (!record) {
		lose(LOSS_RING_FILE, 1, 0);
		return 0;
	}
	put_head(&record->head, RECORD_FILE, sizeof(*record), this_task());
	record->file.source = FILE_FOLIO;
	record->file.path_bytes = 0;
	record->file.backing_dev = 0;
	put_inode(&record->file, inode);
	if (!dentry)
		dentry = first_alias(inode);
	if (dentry)
		put_path(&record->file, dentry);
	bpf_ringbuf_submit(record, ring_wakeup());
	bpf_map_update_elem(&told_files, &key, &yes, BPF_ANY);
	return 0;
}

/*
 * Gives whether the file system can have writeback charged to cgroups.
 * inode: an address that was read, which the verifier takes for a number.
 */
INLINE bool put_inode_of(struct io_life *life, struct inode *inode, struct file *file, enum file_source source)
{
	__u32 slot = ((__u64)inode >> 6 ^ (__u64)inode >> 14) & (INODES - 1);
	struct known_inode *known = bpf_map_lookup_elem(&known_inodes, &slot);
	__u64 ino = BPF_CORE_READ(inode, i_ino);

	if (!known)
		return true;
	if (known->address != (__u64)inode || known->ino != ino) {
		known->address = (__u64)inode;
		known->ino = ino;
		known->is_bdev = (BPF_CORE_READ(inode, i_mode) & S_IFMT) == S_IFBLK;
		known->dev = known->is_bdev ? BPF_CORE_READ(inode, i_rdev) : BPF_CORE_READ(inode, i_sb, s_dev);
		known->charges = BPF_CORE_READ(inode, i_sb, s_iflags) & SB_I_CGROUPWB;
		tell_file(inode, file ? BPF_CORE_READ(file, f_path.dentry) : NULL);
	}
	life->ino = ino;
	life->file_is_bdev = known->is_bdev;
	life->file_dev = known->dev;
	life->file_source = source;
	return known->charges;
}

/* The file of the system call that the current thread is in. */
INLINE struct file *called_file(void)
{
	struct task_struct *task = this_task();
	/* The current thread is typed from 5.11 on. */
	const bool direct = typed && bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_get_current_task_btf);
	struct file **slots, *file = NULL;
	struct pt_regs *regs;
	int syscall;
	__u32 n, fd;

	if ((direct ? task->flags : BPF_CORE_READ(task, flags)) & PF_KTHREAD)
		return NULL;
	regs = user_regs(task);
	syscall = BPF_CORE_READ(regs, orig_ax);
	if (syscall < 0 || syscall >= SYSCALLS)
		return NULL;
	n = fd_argument[syscall & (SYSCALLS - 1)];
	if (!n)
		return NULL;
	fd = syscall_argument(regs, n);
	if (!direct)
		return file_by_fd(task, fd);
	if (fd >= task->files->fdt->max_fds)
		return NULL;
	slots = task->files->fdt->fd;
	bpf_probe_read_kernel(&file, sizeof(file), slots + fd);
	return file;
}

/* The file that a direct request moves: by the operation that waits for it, or else the system call's. */
SUBPROGRAM int put_direct_file(struct io_life *life, __u64 end_io, struct iomap_dio *dio)
{
	struct file *file;

	if (iomap_dio_bio_end_io && end_io == iomap_dio_bio_end_io && bpf_core_type_exists(struct iomap_dio))
		file = BPF_CORE_READ(dio, iocb, ki_filp);
	else
		file = called_file();
	if (file)
		put_inode_of(life, BPF_CORE_READ(file, f_inode), file, FILE_FD);
	return 0;
}

INLINE __u64 bio_cgroup(struct bio *bio)
{
	struct blkcg_gq *blkg = GET(bio, bi_blkg);

	if (!blkg)
		return 0;
	return typed ? blkg->blkcg->css.cgroup->kn->id : BPF_CORE_READ(blkg, blkcg, css.cgroup, kn, id);
}

INLINE bool is_kernel_thread(void)
{
	return BPF_CORE_READ(this_task(), flags) & PF_KTHREAD;
}

/* The file of the first page that a bio moves, and who dirtied it. */
INLINE void put_page_owner(struct io_life *life, struct bio *bio, bool writes)
{
	struct bio_vec *vec = GET(bio, bi_io_vec);
	struct address_space *mapping;
	struct dirtied *dirtied;
	struct inode *inode;
	struct page *page;
	bool charged;

	if (!vec)
		return;
	page = BPF_CORE_READ(vec, bv_page); /* a number: its address is reckoned with */
	if (!page)
		return;
	mapping = page_mapping(page);
	if ((__u64)mapping & ANONYMOUS) {
		put_direct_file(life, (__u64)GET(bio, bi_end_io), GET(bio, bi_private));
		return;
	}
	if ((__u64)mapping < KERNEL_SPACE || (__u64)mapping & MAPPING_BITS)
		return;
	inode = BPF_CORE_READ(mapping, host);
	if (!inode)
		return;
	charged = put_inode_of(life, inode, NULL, FILE_FOLIO) && charges_writeback;
	if (!writes || life->file_is_bdev)
		return;
	dirtied = find_dirtied(inode, false);
	if (dirtied) {
		life->owner = *take_dirtier(dirtied, GET(bio, bi_iter.bi_size) >> 12);
		life->flags |= IO_DIRTIED;
	}
	if (!charged && (dirtied ? life->owner.tgid != life->carrier.tgid : is_kernel_thread()))
		life->flags |= IO_UNCHARGED;
}

#endif
