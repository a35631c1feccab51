/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the witness of requests keeps: a life for each bio that is under way. A
 * request has no mark of ours, but its first bio, by which its life is found;
 * requests without a bio are known by their own address.
 */
#ifndef IOWITNESS_BLOCK_H
#define IOWITNESS_BLOCK_H

#include "filter.h"
#include "gate.h"
#include "hist.h"
#include "lives.h"

/* Settings, fixed at load. */
const volatile bool typed = true;		/* arguments are typed by the verifier: read directly */
const volatile bool bio_comes_second = false;	/* tracepoints of bios have the queue first (until 5.11) */
const volatile bool with_records = true;	/* each request is told */
const volatile bool with_sums = true;		/* requests are summed up */
const volatile bool with_files = true;
const volatile bool charges_writeback = true;	/* to cgroups, where the file system does */
const volatile bool with_waits = false;		/* the thread that a completion wakes is told */
const volatile __u32 io_budget = 20000;		/* request records per CPU and interval */
const volatile __u32 filter_dev = 0;		/* a partition or a whole disk */
const volatile __u32 filter_ops = 0;		/* a bit for each operation; 0: all */
const volatile __u64 filter_ns = 0;		/* shorter requests are left out */
const volatile __u64 filter_bytes = 0;		/* and smaller ones */

volatile __u32 io_ratio = 1;			/* of the requests one in so many is told */
volatile __u64 iomap_dio_bio_end_io = 0;	/* the function's address; 0: not known */

/* Read as the means lets us. */
#define GET(p, field) (typed ? (p)->field : BPF_CORE_READ(p, field))

/* As in compat.h, read directly where that can be. */

INLINE __u32 number_of(struct gendisk *disk)
{
	return typed ? disk->major << 20 | disk->first_minor : disk_dev(disk);
}

INLINE struct gendisk *disk_of_bio(struct bio *bio)
{
	struct bio___bi_disk *old = (void *)bio;

	if (!typed)
		return bio_disk(bio);
	if (bpf_core_field_exists(old->bi_disk))
		return old->bi_disk;
	return bio->bi_bdev->bd_disk;
}

INLINE __u32 dev_of_bio(struct bio *bio)
{
	if (typed && !bpf_core_field_exists(((struct bio___bi_disk *)bio)->bi_disk))
		return bio->bi_bdev->bd_dev;
	return bio_dev(bio);
}

INLINE struct gendisk *disk_of_request(struct request *rq)
{
	struct request___rq_disk *old = (void *)rq;

	if (!typed)
		return request_gendisk(rq);
	if (bpf_core_field_exists(old->rq_disk))
		return old->rq_disk;
	return rq->q->disk;
}

/* Bios of stacked devices that are under way, by where they were submitted. */
struct place {
	__u64 sector;
	__u32 dev;
	__u32 pad;
};

struct above {
	struct task_id owner;
	__u64 cgroup, ino;
	__u32 file_dev;
	__u16 file_source, file_is_bdev;
	__u32 disk;
	__u32 flags;		/* IO_UNCHARGED or none */
};

/* Not a place, but the list of pages of a bio, which the bios that are made of it share. */
#define PAGES_DEV (~0U)

volatile bool has_stacked = false;	/* no need to look before the first one */

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct place);
	__type(value, struct above);
} stacked SEC(".maps");

/* Files whose name has been told. */
struct file_key {
	__u64 ino;
	__u32 dev;
	__u32 pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, struct file_key);
	__type(value, __u8);
} told_files SEC(".maps");

/* What was found out of an inode, in a table by its address, so that it is not asked for each time. */
#define INODES 256
struct known_inode {
	__u64 address;
	__u64 ino;
	__u32 dev;
	__u16 is_bdev;
	__u16 charges;		/* writeback, to the cgroup of whoever dirtied it */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, INODES);
	__type(key, __u32);
	__type(value, struct known_inode);
} known_inodes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct io_count);
} counts SEC(".maps");

/* Budget and last completion of a CPU. */
struct block_cpu {
	__u32 epoch;
	__u32 spent;
	__u64 completed;
	__u64 jiffies;
	__u64 context;
	__u64 sector;
	__u32 disk;
	__u32 turn;		/* of those that are told or left out by io_ratio */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct block_cpu);
} block_cpus SEC(".maps");

/* When threads went to sleep, in a table by their id. */
#define SLEEPS 16384
struct sleep {
	__u64 since;
	__u32 tid;
	__u32 pad;
};
struct sleep sleeps[SLEEPS];

INLINE struct io_count *this_count(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&counts, &zero);
}

INLINE struct block_cpu *this_block_cpu(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&block_cpus, &zero);
}

/* A command in two steps, which is read from a typed thread at a tenth of the helper's price. */
struct comm_words {
	__u64 word[COMM_BYTES / 8];
};

INLINE void put_self(struct task_id *who)
{
	__u64 id = bpf_get_current_pid_tgid();
	struct task_struct *task;

	who->tid = id;
	who->tgid = id >> 32;
	if (typed && bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_get_current_task_btf)) {
		task = bpf_get_current_task_btf();
		if (task->flags & PF_IO_WORKER) /* as named_task */
			task = task->group_leader;
		*(struct comm_words *)&who->comm = *(struct comm_words *)&task->comm;
	} else {
		task = named_task(this_task());
		bpf_core_read(&who->comm, sizeof(who->comm), &task->comm);
	}
}

#endif
