/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One accessor per difference between kernels. Each asks the kernel's types,
 * never its version: stable kernels back-port.
 */
#ifndef IOWITNESS_COMPAT_H
#define IOWITNESS_COMPAT_H

#include "kernel.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#define INLINE static __always_inline
#define KERNEL_SPACE (1ULL << 63)

/* A static function of its own: verified in its callers' context, compiled once. */
#define SUBPROGRAM static __attribute__((noinline, unused))

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

/* 2f064a59a11f ("sched: Change task_struct::state", 5.14) */
struct task_struct___state {
	long state;
};

/* 633488947ef6 ("kernfs: Use RCU to access kernfs_node::parent", 6.15) */
struct kernfs_node___parent {
	struct kernfs_node *parent;
};
struct kernfs_node___rcu {
	struct kernfs_node *__parent;
};

/* f3fa33acca9f ("block: remove the ->rq_disk field in struct request", 5.17) */
struct request___rq_disk {
	struct gendisk *rq_disk;
};

/* 0d02129e76ed ("block: merge struct block_device and struct hd_struct", 5.11) */
struct hd_struct {
	struct device __dev;
};

/* 309dca309fc3 ("block: store a block_device pointer in struct bio", 5.12) */
struct bio___bi_disk {
	struct gendisk *bi_disk;
};

/* A dentry's place among its inode's names: in a union, named until 7.x. */
struct dentry___unnamed {
	struct hlist_node d_alias;
};

/* A tail page's pointer to its head has a wider meaning from 7.x. */
struct page___compound_info {
	unsigned long compound_info;
};

/* The wait entry of a page named a page before it named a folio (5.16). */
struct wait_page_queue___page {
	struct folio *page;
};

#pragma clang attribute pop

/* 3ca1032ab7ab ("bpf: Add bpf_get_current_task_btf()", 5.11): before it, the task is an address. */
INLINE struct task_struct *this_task(void)
{
	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_get_current_task_btf))
		return bpf_get_current_task_btf();
	return (void *)bpf_get_current_task();
}

/* dd6e10fbd9fb ("bpf: Add bpf_task_pt_regs() helper", 5.15); before it, as the kernel computes it on x86-64. */
#define THREAD_SIZE 0x4000

INLINE struct pt_regs *user_regs(struct task_struct *task)
{
	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs))
		return (void *)bpf_task_pt_regs(task);
	return (void *)BPF_CORE_READ(task, stack) + THREAD_SIZE - bpf_core_type_size(struct pt_regs);
}

INLINE unsigned int task_state(struct task_struct *task)
{
	struct task_struct___state *old = (void *)task;

	if (bpf_core_field_exists(task->__state))
		return BPF_CORE_READ(task, __state);
	return BPF_CORE_READ(old, state);
}

/* The same for a task typed by the verifier, without a helper call. */
INLINE unsigned int direct_state(struct task_struct *task)
{
	if (bpf_core_field_exists(task->__state))
		return task->__state;
	return ((struct task_struct___state *)task)->state;
}

/* A whole word until 7.x, a byte since: read as wide as it is. */
INLINE bool is_on_cpu(struct task_struct *task)
{
	return BPF_CORE_READ_BITFIELD_PROBED(task, on_cpu);
}

/*
 * 3bfe6106693b ("io-wq: fork worker threads from original task", 5.12): workers of io_uring are threads
 * of the process that they work for, and go by its name. Before, they are kernel threads of their own.
 */
INLINE struct task_struct *named_task(struct task_struct *task)
{
	return BPF_CORE_READ(task, flags) & PF_IO_WORKER ? BPF_CORE_READ(task, group_leader) : task;
}

INLINE struct kernfs_node *kernfs_parent(struct kernfs_node *kn)
{
	struct kernfs_node___rcu *rcu = (void *)kn;
	struct kernfs_node___parent *old = (void *)kn;

	if (bpf_core_field_exists(rcu->__parent))
		return BPF_CORE_READ(rcu, __parent);
	return BPF_CORE_READ(old, parent);
}

/* An inode's first name, or NULL. */
INLINE struct dentry *first_alias(struct inode *inode)
{
	struct hlist_node *alias = BPF_CORE_READ(inode, i_dentry.first);
	struct dentry *dentry = NULL;

	if (!alias)
		return NULL;
	if (bpf_core_field_exists(dentry->d_u.d_alias))
		return (void *)alias - bpf_core_field_offset(struct dentry, d_u.d_alias);
	if (bpf_core_field_exists(struct dentry___unnamed, d_alias))
		return (void *)alias - bpf_core_field_offset(struct dentry___unnamed, d_alias);
	return NULL;
}

INLINE struct address_space *waited_mapping(struct wait_page_queue *queue)
{
	struct wait_page_queue___page *old = (void *)queue;
	struct folio *folio;

	if (bpf_core_field_exists(queue->folio))
		folio = BPF_CORE_READ(queue, folio);
	else
		folio = BPF_CORE_READ(old, page);
	if (bpf_core_field_exists(folio->mapping))
		return BPF_CORE_READ(folio, mapping);
	return BPF_CORE_READ((struct page *)folio, mapping);
}

/*
 * A page's mapping is that of the first page of its folio. From 7.x on a further page has a mask for
 * its own address where it had the first one's address: no page's address has so many ones in front.
 */
INLINE struct address_space *page_mapping(struct page *page)
{
	struct page___compound_info *newer = (void *)page;
	unsigned long head = 0;

	if (bpf_core_field_exists(page->compound_head))
		head = BPF_CORE_READ(page, compound_head);
	else if (bpf_core_field_exists(newer->compound_info))
		head = BPF_CORE_READ(newer, compound_info);
	if (head & 1)
		page = (void *)(head >> 32 == 0xffffffff ? (__u64)page & head : head - 1);
	if (bpf_core_field_exists(((struct folio *)page)->mapping))
		return BPF_CORE_READ((struct folio *)page, mapping);
	return BPF_CORE_READ(page, mapping);
}

INLINE __u32 disk_dev(struct gendisk *disk)
{
	return BPF_CORE_READ(disk, major) << 20 | BPF_CORE_READ(disk, first_minor);
}

INLINE struct gendisk *request_gendisk(struct request *rq)
{
	struct request___rq_disk *old = (void *)rq;

	if (bpf_core_field_exists(old->rq_disk))
		return BPF_CORE_READ(old, rq_disk);
	return BPF_CORE_READ(rq, q, disk);
}

INLINE struct gendisk *bio_disk(struct bio *bio)
{
	struct bio___bi_disk *old = (void *)bio;

	if (bpf_core_field_exists(old->bi_disk))
		return BPF_CORE_READ(old, bi_disk);
	return BPF_CORE_READ(bio, bi_bdev, bd_disk);
}

/* The partition, or the whole device, that a bio is for; before 5.12 the latter. */
INLINE __u32 bio_dev(struct bio *bio)
{
	struct bio___bi_disk *old = (void *)bio;

	if (bpf_core_field_exists(old->bi_disk))
		return disk_dev(BPF_CORE_READ(old, bi_disk));
	return BPF_CORE_READ(bio, bi_bdev, bd_dev);
}

/* The whole device that a request is for. */
INLINE __u32 request_disk(struct request *rq)
{
	return disk_dev(request_gendisk(rq));
}

/* The partition, or the whole device, that a request is for. */
INLINE __u32 request_dev(struct request *rq)
{
	struct block_device *part = BPF_CORE_READ(rq, part);

	if (part && bpf_core_type_exists(struct hd_struct))
		return BPF_CORE_READ((struct hd_struct *)part, __dev.devt);
	if (part)
		return BPF_CORE_READ(part, bd_dev);
	return request_disk(rq);
}

/* The current thread's system call is by the 32-bit interface, and its number one of that interface's. */
INLINE bool is_compat_call(struct task_struct *task)
{
	if (!bpf_core_field_exists(task->thread_info.status))
		return false;
	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_get_current_task_btf))
		return task->thread_info.status & TS_COMPAT;
	return BPF_CORE_READ(task, thread_info.status) & TS_COMPAT;
}

/* jbd2 may be a module, whose types are not among the kernel's own: its layout has not changed from 4.14 to 7.2. */
struct old_run_stats {
	unsigned long rs_wait, rs_request_delay, rs_running, rs_locked, rs_flushing, rs_logging;
	__u32 rs_handle_count, rs_blocks, rs_blocks_logged;
};

#define RUN_STAT(stats, field) ({ \
	typeof(((struct old_run_stats *)0)->field) __value = 0; \
	if (bpf_core_type_exists(struct transaction_run_stats_s)) \
		__value = BPF_CORE_READ((struct transaction_run_stats_s *)(stats), field); \
	else \
		bpf_probe_read_kernel(&__value, sizeof(__value), &((struct old_run_stats *)(stats))->field); \
	__value; \
})

/* The run queue that a thread is on: while it runs, that of its CPU. */
INLINE struct rq *run_queue_of(struct task_struct *task)
{
	return BPF_CORE_READ(task, se.cfs_rq, rq);
}

#endif
