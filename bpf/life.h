/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A request's life, from the bio that begins it to its completion, for each means alike. */
#ifndef IOWITNESS_LIFE_H
#define IOWITNESS_LIFE_H

#include "owner.h"

#define MAX_BIOS 256	/* of a request, looked at */

INLINE bool same_task(struct task_id *a, struct task_id *b)
{
	return a->tgid == b->tgid;
}

INLINE struct place above_at(__u32 dev, __u64 sector)
{
	struct place at = { .sector = sector, .dev = dev };

	return at;
}

/*
 * A stacked device's bio: whoever makes others of it tells where it came from, or else they have
 * its pages (as those that dm-delay keeps back, until 5.18).
 */
INLINE void note_above(struct bio *bio, struct io_life *life)
{
	struct place at = above_at(life->disk, life->sector), pages = above_at(PAGES_DEV, (__u64)GET(bio, bi_io_vec));
	struct above above = {
		.owner = life->owner, .cgroup = life->cgroup, .ino = life->ino,
		.file_dev = life->file_dev, .file_source = life->file_source, .file_is_bdev = life->file_is_bdev,
		.disk = life->disk, .flags = life->flags & IO_UNCHARGED,
	};

	has_stacked = true;
	bpf_map_update_elem(&stacked, &at, &above, BPF_ANY);
	if (pages.sector)
		bpf_map_update_elem(&stacked, &pages, &above, BPF_ANY);
}

INLINE void forget_above(struct bio *bio, struct io_life *life)
{
	struct place at = above_at(life->disk, life->sector), pages = above_at(PAGES_DEV, (__u64)GET(bio, bi_io_vec));

	bpf_map_delete_elem(&stacked, &at);
	bpf_map_delete_elem(&stacked, &pages);
}

INLINE void inherit(struct io_life *life, struct above *above, __u32 top)
{
	life->owner = above->owner;
	life->cgroup = above->cgroup;
	life->ino = above->ino;
	life->file_dev = above->file_dev;
	life->file_source = above->file_source;
	life->file_is_bdev = above->file_is_bdev;
	life->top = top;
	life->flags |= IO_INHERITED | above->flags;
}

INLINE void count_start(struct io_life *life)
{
	struct io_count *count = this_count();

	if (!count || life->flags & IO_STARTED)
		return;
	life->flags |= IO_STARTED;
	count->started++;
}

INLINE bool by_pages(struct bio *bio, struct io_life *life)
{
	struct place pages = above_at(PAGES_DEV, 0);
	struct above *above;

	if (!has_stacked)
		return false;
	pages.sector = (__u64)GET(bio, bi_io_vec);
	above = pages.sector ? bpf_map_lookup_elem(&stacked, &pages) : NULL;
	if (!above)
		return false;
	inherit(life, above, above->disk);
	return true;
}

/* What is told of a bio as it is submitted, if it is not of one on the device above. */
INLINE void put_owner(struct io_life *life, struct bio *bio)
{
	life->owner = life->carrier;
	if (by_pages(bio, life))
		return;
	life->cgroup = bio_cgroup(bio);
	if (with_files)
		put_page_owner(life, bio);
}

INLINE void queue_stacked(struct bio *bio, struct io_life *life)
{
	life->flags |= IO_BIO;
	count_start(life);
	life->issued = life->queued;
	life->bytes = GET(bio, bi_iter.bi_size);
	life->cpu = bpf_get_smp_processor_id();
	note_above(bio, life);
}

INLINE void queue_bio(struct bio *bio)
{
	struct io_life *life;
	struct gendisk *disk;
	bool inherited;
	__u64 now;

	if (!epoch)
		return;
	now = bpf_ktime_get_ns();
	if (!is_heard(now))
		return;
	life = has_stacked ? find_life(bio) : NULL;
	inherited = life && life->flags & IO_INHERITED && !life->queued;
	if (!inherited)
		life = new_life(bio);
	if (!life)
		return;
	life->queued = now;
	life->op = GET(bio, bi_opf);
	life->sector = GET(bio, bi_iter.bi_sector);
	put_self(&life->carrier);
	if (!inherited)
		put_owner(life, bio);
	if (same_task(&life->owner, &life->carrier))
		__builtin_memset(&life->carrier, 0, sizeof(life->carrier));
	life->dev = dev_of_bio(bio);
	disk = disk_of_bio(bio);
	life->disk = number_of(disk);
	if (!(typed ? disk->queue->mq_ops : BPF_CORE_READ(disk, queue, mq_ops)))
		queue_stacked(bio, life);
	if (life->op & REQ_PREFLUSH) {
		struct disk *d = disk_of(life->disk);

		d->flusher = life->owner;
		d->flush_cgroup = life->cgroup;
	}
}

/* The same bio goes down, as to a path of a disk: the device above has none of its own any more. */
INLINE void pass_on(struct bio *bio, struct io_life *life, __u32 from_dev)
{
	__u32 dev = dev_of_bio(bio), disk = number_of(disk_of_bio(bio));

	forget_above(bio, life);
	if (!(life->flags & IO_PASSED))
		life->top = from_dev;
	life->flags &= ~IO_BIO;
	life->flags |= IO_PASSED;
	life->issued = 0;
	if (dev == disk)
		life->flags |= IO_DEV_ABOVE;
	else
		life->dev = dev;
	life->disk = disk;
}

/* A bio is made from another on the device above, or goes from a partition to its disk. */
INLINE void remap_bio(struct bio *bio, __u32 from_dev, __u64 from_sector)
{
	struct place at = above_at(from_dev, from_sector);
	struct io_life *before, *life;
	struct above *above;

	if (!epoch || !has_stacked)
		return;
	before = find_life(bio);
	if (before && before->queued && before->disk == from_dev) {
		pass_on(bio, before, from_dev);
		return;
	}
	above = bpf_map_lookup_elem(&stacked, &at);
	if (!above)
		return;
	life = new_life(bio);
	if (life)
		inherit(life, above, from_dev);
}

/* The front of a bio that is too large goes its own way; it is chained to the rest. */
INLINE void split_bio(struct bio *front)
{
	struct io_life *rest, *life;

	if (!epoch)
		return;
	rest = find_life(GET(front, bi_private));
	life = rest ? new_life(front) : NULL;
	if (!life)
		return;
	rest->flags |= IO_SPLIT;
	*life = *rest;
	life->flags &= ~IO_STARTED;
}

INLINE void get_request(struct bio *bio)
{
	struct io_life *life;

	if (!epoch || !bio)
		return;
	life = find_life(bio);
	if (!life)
		return;
	count_start(life);
	if (!life->got)
		life->got = bpf_ktime_get_ns();
}

/* A request that no bio was seen for: its own address is its mark, or its bio's. */
INLINE struct io_life *life_of(struct request *rq, bool make)
{
	void *mark = GET(rq, bio);
	struct io_life *life;

	if (!mark)
		mark = rq;
	life = find_life(mark);
	if (life || !make)
		return life;
	life = new_life(mark);
	if (!life)
		return NULL;
	life->op = GET(rq, cmd_flags);
	put_self(&life->owner);
	life->disk = number_of(disk_of_request(rq));
	return life;
}

INLINE bool is_flush(struct request *rq)
{
	return (GET(rq, cmd_flags) & REQ_OP_MASK) == REQ_OP_FLUSH && !GET(rq, bio);
}

INLINE void insert_request(struct request *rq)
{
	struct io_life *life;

	if (!epoch)
		return;
	life = life_of(rq, true);
	if (!life)
		return;
	count_start(life);
	if (!life->inserted && !life->issued)
		life->inserted = bpf_ktime_get_ns();
}

INLINE void begin_device(struct io_life *life, struct request *rq, struct disk *disk, __u64 now)
{
	bool writes;
	__u64 end;

	life->issued = now;
	/* While a flush goes through its steps the request has lost the flags that asked for it. */
	life->op = GET(rq, cmd_flags) | (life->op & (REQ_PREFLUSH | REQ_FUA));
	life->sector = GET(rq, __sector);
	life->bytes = GET(rq, __data_len);
	life->depth = disk->depth > 0 ? disk->depth : 1;
	life->cpu = bpf_get_smp_processor_id();
	/* Until 5.12 a bio has lost its partition when it is queued. */
	if (!life->dev || (bpf_core_field_exists(((struct bio___bi_disk *)0)->bi_disk) && life->dev == life->disk))
		life->dev = request_dev(rq);
	writes = life->op & 1;
	end = life->sector + (life->bytes >> 9);
	if (!life->bytes)
		return;
	if (disk->next[writes] == life->sector)
		life->flags |= IO_SEQUENTIAL;
	disk->next[writes] = end;
}

INLINE void issue_request(struct request *rq)
{
	struct io_life *life;
	struct disk *disk;
	__u64 now;

	if (!epoch)
		return;
	now = bpf_ktime_get_ns();
	disk = disk_of(number_of(disk_of_request(rq)));
	__sync_fetch_and_add(&disk->depth, 1);
	if (is_flush(rq)) {
		disk->flush_issued = now;
		return;
	}
	life = life_of(rq, true);
	if (!life)
		return;
	count_start(life);
	if (!life->issued)
		begin_device(life, rq, disk, now);
}

/* What was a request goes on as bios of another one, with which they end. */
INLINE void absorb_request(struct request *rq)
{
	struct io_count *count = this_count();

	if (epoch && count)
		count->absorbed++;
}

INLINE void requeue_request(struct request *rq)
{
	struct io_life *life;
	struct disk *disk;

	if (!epoch)
		return;
	disk = disk_of(number_of(disk_of_request(rq)));
	leave_driver(disk);
	life = life_of(rq, false);
	if (life)
		life->requeues++;
}

#endif
