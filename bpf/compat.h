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
/* A static function of its own: verified in its callers' context, compiled once. */
#define SUBPROGRAM static __attribute__((noinline))

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

/* The wait entry of a page named a page before it named a folio (5.16). */
struct wait_page_queue___page {
	struct folio *page;
};

struct page {
	struct address_space *mapping;
};

#pragma clang attribute pop

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

INLINE struct kernfs_node *kernfs_parent(struct kernfs_node *kn)
{
	struct kernfs_node___rcu *rcu = (void *)kn;
	struct kernfs_node___parent *old = (void *)kn;

	if (bpf_core_field_exists(rcu->__parent))
		return BPF_CORE_READ(rcu, __parent);
	return BPF_CORE_READ(old, parent);
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

INLINE __u32 disk_dev(struct gendisk *disk)
{
	return BPF_CORE_READ(disk, major) << 20 | BPF_CORE_READ(disk, first_minor);
}

#endif
