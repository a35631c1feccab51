/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A request is complete: it is summed up, its record is sent. */
#ifndef IOWITNESS_TOLD_H
#define IOWITNESS_TOLD_H

#include "life.h"
#include "sums.h"

SUBPROGRAM int send(struct io_life *life, struct block_cpu *cpu)
{
	struct io_record *record;
	__u32 now_epoch = epoch;

	if (!cpu)
		return 0;
	if (io_ratio > 1 && cpu->turn++ % io_ratio) {
		lose(LOSS_IO_RATIO, 1, 0);
		return 0;
	}
	if (cpu->epoch != now_epoch) {
		cpu->epoch = now_epoch;
		cpu->spent = 0;
	}
	if (cpu->spent >= io_budget) {
		lose(LOSS_IO_BUDGET, 1, 0);
		return 0;
	}
	record = bpf_ringbuf_reserve(&records, sizeof(*record), 0);
	if (!record) {
		lose(LOSS_RING_IO, 1, 0);
		return 0;
	}
	cpu->spent++;
	record->head.kind = RECORD_IO;
	record->head.version = ABI_VERSION;
	record->head.size = sizeof(*record);
	record->head.tid = life->owner.tid;
	record->head.tgid = life->owner.tgid;
	__builtin_memcpy(&record->head.comm, &life->owner.comm, COMM_BYTES);
	__builtin_memcpy(&record->life, life, sizeof(*life));
	bpf_ringbuf_submit(record, ring_wakeup());
	if (with_waits) {
		cpu->completed = life->completed;
		cpu->sector = life->sector;
		cpu->disk = life->disk;
		cpu->jiffies = bpf_jiffies64();
		cpu->context = bpf_get_current_task();
	}
	return 1;
}

INLINE bool wants(struct io_life *life)
{
	__u32 tgid = life->owner.tgid;
	__u64 begin = first_instant(life);

	if (!include_self && tgid == self_tgid)
		return false;
	if (filter_dev && life->dev != filter_dev && life->disk != filter_dev &&
	    !(life->flags & IO_PASSED && life->top == filter_dev))
		return false;
	if (filter_tgid && !bpf_map_lookup_elem(&wanted_tgids, &tgid))
		return false;
	if (filter_ops && !(filter_ops & 1U << (life->op & 31)))
		return false;
	return life->completed - begin >= filter_ns && life->bytes >= filter_bytes;
}

SUBPROGRAM int tell(struct io_life *life)
{
	struct io_count *count = this_count();

	if (count) {
		count->completed++;
		if (life->carrier.tid)
			count->other_context++;
	}
	if (!wants(life))
		return 0;
	if (with_sums)
		sum_up(life);
	if (with_records)
		send(life, this_block_cpu());
	return 0;
}

/* The bios merged into a request have ended with it. */
INLINE __u32 forget_merged(struct request *rq)
{
	struct bio *bio = GET(rq, bio);
	__u32 i;

	if (!bio)
		return 0;
	bio = GET(bio, bi_next);
	for (i = 0; bio && i < MAX_BIOS; i++) {
		forget_life(bio);
		bio = GET(bio, bi_next);
	}
	return i;
}

/* A part of a request is complete: what is left has another first bio. */
INLINE void keep_rest(struct request *rq, __u32 bytes)
{
	struct bio *bio = GET(rq, bio), *next = bio;
	struct io_life *life, *rest;
	__u32 i;

	for (i = 0; next && i < MAX_BIOS; i++) {
		__u32 size = GET(next, bi_iter.bi_size);

		if (bytes < size)
			break;
		bytes -= size;
		next = GET(next, bi_next);
	}
	if (!next || next == bio)
		return;
	life = find_life(bio);
	rest = life ? new_life(next) : NULL;
	if (rest)
		*rest = *life;
	forget_life(bio);
}

INLINE void complete_request(struct request *rq, __u32 error, __u32 bytes)
{
	struct io_count *count = this_count();
	struct io_life *life;
	__u32 left, merged;
	struct disk *disk;

	if (!epoch || !count)
		return;
	left = GET(rq, __data_len);
	disk = disk_of(number_of(disk_of_request(rq)));
	if (is_flush(rq)) {
		leave_driver(disk);
		return;
	}
	if (bytes < left && !error) {
		keep_rest(rq, bytes);
		return;
	}
	merged = forget_merged(rq);
	life = life_of(rq, false);
	if (!life) {
		if (!bytes)
			count->flush_ends++;
		else
			count->unmatched++;
		return;
	}
	life->merged = merged;
	count_start(life);
	life->completed = bpf_ktime_get_ns();
	life->error = error;
	if (life->issued) {
		leave_driver(disk);
	} else if (life->op & REQ_PREFLUSH && disk->flush_issued >= life->queued) {
		life->issued = disk->flush_issued;
	}
	if (!life->issued) { /* not seen, or of a flush */
		life->cpu = bpf_get_smp_processor_id();
		life->op |= GET(rq, cmd_flags);
		life->sector = GET(rq, __sector);
		life->bytes = bytes;
	}
	if (!life->dev)
		life->dev = request_dev(rq);
	tell(life);
	forget_life(GET(rq, bio) ? (void *)GET(rq, bio) : (void *)rq);
}

/* Only of stacked devices: the bios of others end with their request. */
INLINE void complete_bio(struct bio *bio)
{
	struct io_life *life;

	if (!epoch)
		return;
	life = find_life(bio);
	/* Of a disk with paths the driver tells the bio's end before that of its request. */
	if (!life || (life->flags & IO_PASSED && life->issued))
		return;
	if (life->flags & IO_BIO) {
		life->completed = bpf_ktime_get_ns();
		life->error = GET(bio, bi_status);
		forget_above(bio, life);
		tell(life);
	}
	forget_life(bio);
}

/* The thread that is about to be woken by the completion that was just told. */
INLINE void woken_by_completion(__u32 tid, __u32 tgid)
{
	struct sleep *sleep = &sleeps[tid & (SLEEPS - 1)];
	struct block_cpu *cpu = this_block_cpu();
	struct io_wait_record *record;

	if (!cpu || !cpu->completed || cpu->context != bpf_get_current_task() || bpf_jiffies64() - cpu->jiffies > 1)
		return;
	if (sleep->tid != tid || sleep->since > cpu->completed)
		return;
	record = bpf_ringbuf_reserve(&records, sizeof(*record), 0);
	if (!record)
		return;
	record->head.kind = RECORD_IO_WAIT;
	record->head.version = ABI_VERSION;
	record->head.size = sizeof(*record);
	record->head.tid = tid;
	record->head.tgid = tgid;
	record->head.comm[0] = 0;
	record->completed = cpu->completed;
	record->sector = cpu->sector;
	record->disk = cpu->disk;
	record->pad = 0;
	record->wait_ns = bpf_ktime_get_ns() - sleep->since;
	bpf_ringbuf_submit(record, ring_wakeup());
	cpu->completed = 0;
}

#endif
