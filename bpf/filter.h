/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Whose waits and calls are witnessed. */
#ifndef IOWITNESS_FILTER_H
#define IOWITNESS_FILTER_H

#include "identity.h"

const volatile bool include_self = false;
const volatile bool filter_tgid = false;
const volatile bool filter_follow = false;
const volatile bool filter_comm = false;
const volatile __u64 filter_cgroup = 0;		/* kernfs id, within one hierarchy: */
const volatile __u8 filter_subsystem = 0;	/* 0: the unified one; else 1 + the v1 controller's id */
const volatile char wanted_comm[COMM_BYTES] = {};

/* The reader of the walk, whose own waits are left out. */
volatile __u32 self_tgid = 0;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, __u8);
} wanted_tgids SEC(".maps");

/* Threads of a command that is followed: a child inherits its place here. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, __u8);
} followed SEC(".maps");

INLINE void follow_child(__u32 parent, __u32 child)
{
	__u8 yes = 1;

	if (!bpf_map_lookup_elem(&followed, &parent))
		bpf_map_delete_elem(&followed, &child); /* an earlier thread had its number */
	else if (bpf_map_update_elem(&followed, &child, &yes, BPF_ANY))
		lose(LOSS_FOLLOW_FULL, 1, 0);
}

/* Nobody is told that the kernel makes a worker of io_uring: that is followed as its process is. */
INLINE bool is_followed(struct task_struct *task, __u32 tid, __u32 tgid)
{
	return bpf_map_lookup_elem(&followed, &tid) ||
	       (BPF_CORE_READ(task, flags) & PF_IO_WORKER && bpf_map_lookup_elem(&followed, &tgid));
}

INLINE bool comm_is_wanted(struct task_struct *task)
{
	char comm[COMM_BYTES] = {};
	int i;

	task = named_task(task);
	BPF_CORE_READ_STR_INTO(&comm, task, comm);
	for (i = 0; i < COMM_BYTES; i++)
		if (comm[i] != wanted_comm[i])
			return false;
	return true;
}

SUBPROGRAM int cgroup_is_wanted(struct task_struct *task)
{
	struct css_set *cset = BPF_CORE_READ(task, cgroups);
	struct kernfs_node *kn = filter_subsystem ? v1_cgroup(cset, filter_subsystem - 1) :
						    BPF_CORE_READ(cset, dfl_cgrp, kn);
	int level;

	for (level = 0; kn && level < CGROUP_LEVELS; level++) {
		if (BPF_CORE_READ(kn, id) == filter_cgroup)
			return 1;
		kn = kernfs_parent(kn);
	}
	return 0;
}

INLINE bool is_wanted(struct task_struct *task, __u32 tid, __u32 tgid)
{
	if (!include_self && tgid == self_tgid)
		return false;
	if (filter_tgid && !bpf_map_lookup_elem(&wanted_tgids, &tgid))
		return false;
	if (filter_follow && !is_followed(task, tid, tgid))
		return false;
	if (filter_comm && !comm_is_wanted(task))
		return false;
	if (filter_cgroup && !cgroup_is_wanted(task))
		return false;
	return true;
}

#endif
