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

INLINE struct dirtied *find_dirtied(struct inode *inode, __u64 ino, bool make)
{
	struct inode_key key = { (__u64)inode, ino };
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
	dirtied = find_dirtied(inode, GET(inode, i_ino), true);
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
 * Gives whether the file system can have writeback charged to cgroups. inode and file:
 * typed, or an address that was read, which the verifier takes for a number.
 */
INLINE bool put_inode_of(struct io_life *life, struct inode *inode, __u64 ino, struct file *file, enum file_source source)
{
	__u32 low = low_half(inode), slot = (low >> 6 ^ low >> 14) & (INODES - 1);
	struct known_inode *known = bpf_map_lookup_elem(&known_inodes, &slot);

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

#define REG(regs, reg) (direct ? (regs)->reg : BPF_CORE_READ(regs, reg))

/* direct: registers are typed, from 5.15 on. */
INLINE bool read_call(struct task_struct *task, const bool direct, __u32 *fd)
{
	struct pt_regs *regs = user_regs(task);
	int syscall = REG(regs, orig_ax);

	if (syscall < 0 || syscall >= SYSCALLS)
		return false;
	switch (fd_argument[syscall & (SYSCALLS - 1)]) {
	case 1: *fd = REG(regs, di); return true;
	case 2: *fd = REG(regs, si); return true;
	case 3: *fd = REG(regs, dx); return true;
	case 4: *fd = REG(regs, r10); return true;
	case 5: *fd = REG(regs, r8); return true;
	}
	return false;
}

/* The file of the system call that the current thread is in. */
INLINE struct file *called_file(void)
{
	struct task_struct *task = this_task();
	/* The current thread is typed from 5.11 on. */
	const bool direct = typed && bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_get_current_task_btf);
	__u32 fd = 0;

	if ((direct ? task->flags : BPF_CORE_READ(task, flags)) & PF_KTHREAD)
		return NULL;
	if (!read_call(task, direct && bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs), &fd))
		return NULL;
	return direct ? own_file_by_fd(task, fd) : file_by_fd(task, fd);
}

/* The file that a direct request moves: by the operation that waits for it, or else the system call's. */
SUBPROGRAM int put_direct_file(struct io_life *life, __u64 end_io, struct iomap_dio *dio)
{
	struct file *file;

	if (iomap_dio_bio_end_io && end_io == iomap_dio_bio_end_io && bpf_core_type_exists(struct iomap_dio))
		file = BPF_CORE_READ(dio, iocb, ki_filp);
	else
		file = called_file();
	if (file) {
		struct inode *inode = BPF_CORE_READ(file, f_inode);

		put_inode_of(life, inode, BPF_CORE_READ(inode, i_ino), file, FILE_FD);
	}
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

/* The file whose pages a bio moves, and who dirtied them. */
SUBPROGRAM int put_cached_file(struct io_life *life, struct inode *inode, __u64 ino, __u32 bytes)
{
	struct dirtied *dirtied;
	bool charged;

	charged = put_inode_of(life, inode, ino, NULL, FILE_FOLIO) && charges_writeback;
	if ((life->op & REQ_OP_MASK) != REQ_OP_WRITE || life->file_is_bdev)
		return 0;
	dirtied = find_dirtied(inode, ino, false);
	if (dirtied) {
		life->owner = *take_dirtier(dirtied, bytes >> 12);
		life->flags |= IO_DIRTIED;
	}
	if (!charged && (dirtied ? life->owner.tgid != life->carrier.tgid : is_kernel_thread()))
		life->flags |= IO_UNCHARGED;
	return 0;
}

/* The same of a bio whose first page is known by its address. */
INLINE void put_owner_by_address(struct io_life *life, struct bio *bio, struct page *page)
{
	struct address_space *mapping = page_mapping(page);
	struct inode *inode;

	if ((__u64)mapping & ANONYMOUS) {
		put_direct_file(life, (__u64)GET(bio, bi_end_io), GET(bio, bi_private));
		return;
	}
	if ((__u64)mapping < KERNEL_SPACE || (__u64)mapping & MAPPING_BITS)
		return;
	inode = BPF_CORE_READ(mapping, host);
	if (inode)
		put_cached_file(life, inode, BPF_CORE_READ(inode, i_ino), GET(bio, bi_iter.bi_size));
}

/* The file of the first page that a bio moves, and who dirtied it. */
INLINE void put_page_owner(struct io_life *life, struct bio *bio)
{
	struct bio_vec *vec = GET(bio, bi_io_vec);
	struct address_space *mapping;
	struct inode *inode;
	struct page *page;

	if (!vec)
		return;
	page = GET(vec, bv_page);
	if (!page)
		return;
	/* Of a typed page the first word of a list lies where a further page of a folio has its mark. */
	if (!typed || !bpf_core_field_exists(page->compound_head) || !bpf_core_field_exists(page->mapping) ||
	    low_half((void *)page->compound_head) & 1) {
		put_owner_by_address(life, bio, BPF_CORE_READ(vec, bv_page));
		return;
	}
	mapping = page->mapping;
	if (low_half(mapping) & ANONYMOUS) {
		put_direct_file(life, (__u64)GET(bio, bi_end_io), GET(bio, bi_private));
		return;
	}
	if (!mapping || low_half(mapping) & MAPPING_BITS)
		return;
	inode = mapping->host;
	if (inode)
		put_cached_file(life, inode, inode->i_ino, GET(bio, bi_iter.bi_size));
}

#endif
