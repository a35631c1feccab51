/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Disks as their requests go by. */
#ifndef IOWITNESS_DISK_H
#define IOWITNESS_DISK_H

#include "compat.h"

/* What is known of a disk, in a table by its number: of two in one place the later one counts. */
#define DISKS 256
struct disk {
	__u32 dev;
	__s32 depth;			/* requests that the driver has */
	__u64 next[2];			/* the sector after the last read, the last write */
	__u64 flush_issued;
	struct task_id flusher;		/* who asked for the last flush */
	__u64 flush_cgroup;
} __attribute__((aligned(64)));		/* in one line of the cache: all CPUs write to it */
struct disk disks[DISKS];

INLINE struct disk *disk_of(__u32 dev)
{
	struct disk *disk = &disks[(dev ^ dev >> 20) & (DISKS - 1)];

	if (disk->dev != dev) {
		disk->dev = dev;
		disk->depth = 0;
		disk->next[0] = disk->next[1] = 0;
		disk->flush_issued = 0;
	}
	return disk;
}

INLINE void leave_driver(struct disk *disk)
{
	if (disk->depth > 0)
		__sync_fetch_and_add(&disk->depth, -1);
}

#endif
