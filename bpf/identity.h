/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Who a thread is, told when its first wait is recorded and when that changes: a
 * process that ends within the interval still has its name, executable and cgroup.
 */
#ifndef IOWITNESS_IDENTITY_H
#define IOWITNESS_IDENTITY_H

#include "path.h"

#define CGROUP_LEVELS 12

SUBPROGRAM int put_cgroup(struct identity_record *who, struct kernfs_node *kn)
{
	__u32 at = 0;
	int level;

	for (level = 0; level < CGROUP_LEVELS; level++) {
		struct kernfs_node *parent = kn ? kernfs_parent(kn) : NULL;
		long n;

		if (!parent)
			break;
		if (at >= CGROUP_BYTES) {
			lose(LOSS_NAME_CUT, 1, 0);
			break;
		}
		n = bpf_probe_read_kernel_str(&who->cgroup_path[at & (CGROUP_BYTES - 1)], NAME_BYTES,
					      BPF_CORE_READ(kn, name));
		if (n <= 0)
			break;
		if (n == NAME_BYTES)
			lose(LOSS_NAME_CUT, 1, 0);
		at += n & (2 * NAME_BYTES - 1);
		kn = parent;
	}
	who->cgroup_bytes = at;
	return 0;
}

INLINE struct kernfs_node *v1_cgroup(struct css_set *cset, __u32 subsystem)
{
	struct cgroup_subsys_state *css = NULL;

	bpf_probe_read_kernel(&css, sizeof(css), (void *)cset +
			      bpf_core_field_offset(struct css_set, subsys) + subsystem * sizeof(css));
	return css ? BPF_CORE_READ(css, cgroup, kn) : NULL;
}

/* In settings order: the subsystem ids of this kernel's v1 hierarchies, 1-based; 0 ends. */
#define V1_HIERARCHIES 4
const volatile __u8 v1_subsystems[V1_HIERARCHIES] = {};

/*
 * The unified hierarchy's cgroup, unless that is the root and a v1 hierarchy
 * knows better. *v1 is 0 or 1 + the subsystem's id.
 */
INLINE struct kernfs_node *cgroup_of(struct task_struct *task, __u16 *v1)
{
	struct css_set *cset = BPF_CORE_READ(task, cgroups);
	struct kernfs_node *kn = BPF_CORE_READ(cset, dfl_cgrp, kn);
	int i;

	*v1 = 0;
	if (kn && kernfs_parent(kn))
		return kn;
	for (i = 0; i < V1_HIERARCHIES; i++) {
		struct kernfs_node *old;

		if (!v1_subsystems[i])
			break;
		old = v1_cgroup(cset, v1_subsystems[i] - 1);
		if (old && kernfs_parent(old)) {
			*v1 = v1_subsystems[i];
			return old;
		}
	}
	return kn;
}

INLINE void put_head(struct record_head *head, enum record_kind kind, __u32 size, struct task_struct *task)
{
	head->kind = kind;
	head->version = ABI_VERSION;
	head->size = size;
	head->tid = BPF_CORE_READ(task, pid);
	head->tgid = BPF_CORE_READ(task, tgid);
	BPF_CORE_READ_STR_INTO(&head->comm, task, comm);
}

/* A pid's number in the namespace at a level, and that namespace. */
struct numbered_pid {
	__u32 nr;
	__u64 ns;
};

INLINE struct numbered_pid numbered(struct pid *pid, __u32 level)
{
	void *at = (void *)pid + bpf_core_field_offset(struct pid, numbers) +
		   level * bpf_core_type_size(struct upid);
	struct numbered_pid seen = {};

	bpf_probe_read_kernel(&seen.nr, sizeof(seen.nr), at + bpf_core_field_offset(struct upid, nr));
	bpf_probe_read_kernel(&seen.ns, sizeof(seen.ns), at + bpf_core_field_offset(struct upid, ns));
	return seen;
}

SUBPROGRAM int tell_identity(struct task_struct *task)
{
	struct identity_record *who = bpf_ringbuf_reserve(&records, sizeof(*who), 0);
	struct task_struct *leader;
	struct kernfs_node *kn;
	struct file *exe;
	struct pid *pid;

	if (!who) {
		lose(LOSS_RING_IDENTITY, 1, 0);
		return 0;
	}
	leader = BPF_CORE_READ(task, group_leader);
	put_head(&who->head, RECORD_IDENTITY, sizeof(*who), task);
	BPF_CORE_READ_STR_INTO(&who->leader_comm, leader, comm);
	who->start_boottime = BPF_CORE_READ(leader, start_boottime);
	who->uid = BPF_CORE_READ(task, cred, uid.val);
	who->ppid = BPF_CORE_READ(task, real_parent, tgid);
	who->kthread = !!(BPF_CORE_READ(task, flags) & PF_KTHREAD);
	pid = BPF_CORE_READ(leader, thread_pid);
	who->ns_level = BPF_CORE_READ(pid, level);
	who->ns_pid = numbered(pid, who->ns_level).nr;
	kn = cgroup_of(task, &who->cgroup_v1);
	who->cgroup = BPF_CORE_READ(kn, id);
	put_cgroup(who, kn);
	who->exe.source = FILE_NONE;
	who->exe.path_bytes = 0;
	exe = who->kthread ? NULL : BPF_CORE_READ(task, mm, exe_file);
	put_file(&who->exe, exe, FILE_FD);
	bpf_ringbuf_submit(who, ring_wakeup());
	return 1;
}

INLINE void tell_identity_once(struct told_identity *told, struct task_struct *task)
{
	__u64 mm = (__u64)BPF_CORE_READ(task, mm);
	__u64 cset = (__u64)BPF_CORE_READ(task, cgroups);
	__u64 cred = (__u64)BPF_CORE_READ(task, cred);

	if (told->mm == mm && told->cset == cset && told->cred == cred)
		return;
	if (tell_identity(task)) {
		told->mm = mm;
		told->cset = cset;
		told->cred = cred;
	}
}

#endif
