/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kernel types we read, with only the fields we read. CO-RE finds the true
 * offsets at load time; names that differ between kernels are in compat.h.
 */
#ifndef IOWITNESS_KERNEL_H
#define IOWITNESS_KERNEL_H

#include <linux/types.h>
#include <stdbool.h>
#include <linux/bpf.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct list_head {
	struct list_head *next, *prev;
};

struct hlist_node {
	struct hlist_node *next;
};

struct hlist_head {
	struct hlist_node *first;
};

struct qstr {
	const unsigned char *name;
};

struct kuid {
	__u32 val;
};

struct gendisk {
	int major;
	int first_minor;
	struct request_queue *queue;
};

struct block_device {
	__u32 bd_dev;
	struct gendisk *bd_disk;
};

struct device {
	__u32 devt;
};

struct request_queue {
	struct gendisk *disk;
	const void *mq_ops;
};

struct bio_vec {
	struct page *bv_page;
};

struct bvec_iter {
	__u64 bi_sector;
	unsigned int bi_size;
};

struct blkcg_gq {
	struct blkcg *blkcg;
};

struct bio {
	struct bio *bi_next;
	struct block_device *bi_bdev;
	unsigned int bi_opf;
	__u8 bi_status;
	struct bvec_iter bi_iter;
	void *bi_end_io;
	void *bi_private;
	struct blkcg_gq *bi_blkg;
	struct bio_vec *bi_io_vec;
};

struct request {
	struct request_queue *q;
	unsigned int cmd_flags;
	unsigned int __data_len;
	__u64 __sector;
	__u64 start_time_ns;
	struct block_device *part;
	struct bio *bio;
};

struct super_block {
	__u32 s_dev;
	unsigned long s_iflags;
	unsigned long s_magic;
	struct dentry *s_root;
};

struct dentry {
	struct dentry *d_parent;
	struct qstr d_name;
	struct inode *d_inode;
	struct super_block *d_sb;
	union {
		struct hlist_node d_alias;
	} d_u;
};

struct address_space {
	struct inode *host;
};

struct inode {
	unsigned short i_mode;
	struct super_block *i_sb;
	struct address_space *i_mapping;
	unsigned long i_ino;
	__u32 i_rdev;
	__u32 i_generation;
	struct hlist_head i_dentry;
};

struct folio {
	struct address_space *mapping;
};

struct page {
	unsigned long compound_head;
	struct address_space *mapping;
};

struct kiocb {
	struct file *ki_filp;
};

struct iomap_dio {
	struct kiocb *iocb;
};

struct path {
	struct dentry *dentry;
};

struct file {
	unsigned int f_flags;
	struct path f_path;
	struct inode *f_inode;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct vm_area_struct {
	struct file *vm_file;
};

struct mm_struct {
	struct file *exe_file;
};

struct kernfs_node {
	const char *name;
	__u64 id;
};

struct cgroup {
	struct kernfs_node *kn;
	int level;
};

struct cgroup_subsys_state {
	struct cgroup *cgroup;
};

struct blkcg {
	struct cgroup_subsys_state css;
};

struct css_set {
	struct cgroup_subsys_state *subsys[4];
	struct cgroup *dfl_cgrp;
};

struct cred {
	struct kuid uid;
};

struct upid {
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level;
	struct upid numbers[1];
};

struct task_struct;

struct rq {
	__u64 clock;
	struct task_struct *idle;
};

struct cfs_rq {
	struct rq *rq;
};

struct sched_entity {
	__u64 exec_start;
	struct cfs_rq *cfs_rq;
};

struct sched_info {
	unsigned long long run_delay;
	unsigned long long last_queued;
};

struct thread_struct {
	unsigned long sp;
};

struct thread_info {
	__u32 status;
};

struct k_sigaction {
	void *sa;		/* begins with the handler */
};

struct sighand_struct {
	struct k_sigaction action[64];
};

union __sifields {
	int _pad;
};

struct kernel_siginfo {
	int si_signo;
	int si_errno;
	int si_code;
	union __sifields _sifields;
};

struct task_struct {
	struct thread_info thread_info;
	unsigned int __state;
	unsigned int flags;
	int exit_code;
	struct sighand_struct *sighand;
	int on_cpu;
	int pid;
	int tgid;
	unsigned in_iowait:1;
	unsigned long nvcsw;
	unsigned long nivcsw;
	__u64 start_boottime;
	char comm[16];
	struct mm_struct *mm;
	const struct cred *cred;
	struct files_struct *files;
	struct css_set *cgroups;
	struct task_struct *group_leader;
	struct task_struct *real_parent;
	struct pid *thread_pid;
	struct sched_entity se;
	struct sched_info sched_info;
	struct thread_struct thread;
	void *stack;
};

struct wait_queue_entry {
	unsigned int flags;
	void *private;
	void *func;
};

struct wait_page_queue {
	struct folio *folio;
	int bit_nr;
	struct wait_queue_entry wait;
};

struct pt_regs {
	unsigned long r10;
	unsigned long r9;
	unsigned long r8;
	unsigned long ax;
	unsigned long cx;
	unsigned long dx;
	unsigned long si;
	unsigned long di;
	unsigned long orig_ax;
	unsigned long ip;
	unsigned long sp;
};

struct transaction_run_stats_s {
	unsigned long rs_wait;
	unsigned long rs_request_delay;
	unsigned long rs_running;
	unsigned long rs_locked;
	unsigned long rs_flushing;
	unsigned long rs_logging;
	__u32 rs_handle_count;
	__u32 rs_blocks;
	__u32 rs_blocks_logged;
};

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
	__u64 session_id;
	__u64 seq_num;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

#pragma clang attribute pop

/* include/linux/sched.h; the values below have not moved since 4.14. */
#define TASK_INTERRUPTIBLE	0x0001
#define TASK_UNINTERRUPTIBLE	0x0002
#define TASK_STOPPED		0x0004
#define TASK_TRACED		0x0008
#define TASK_DEAD		0x0080
#define TASK_NOLOAD		0x0400
#define TASK_FROZEN		0x8000		/* from 6.1 */
#define PF_FROZEN		0x00010000	/* until 6.1; another flag since, of no effect here */
#define PF_KTHREAD		0x00200000
#define PF_IO_WORKER		0x00000010
#define SB_I_CGROUPWB		0x00000001

#define TS_COMPAT	0x0002		/* thread_info.status on x86: a system call by the 32-bit interface */

#define O_DSYNC	010000
/* include/linux/blk_types.h; these have not moved since 4.10. */
#define REQ_OP_MASK 0xff
#define REQ_OP_WRITE 1
#define REQ_OP_FLUSH 2
#define REQ_FUA (1 << 17)
#define REQ_PREFLUSH (1 << 18)

#define S_IFMT	0170000
#define S_IFREG	0100000
#define S_IFDIR	0040000
#define S_IFBLK	0060000

#endif
