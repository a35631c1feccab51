/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A request is complete: its phases are summed up, its record is sent. */
#ifndef IOWITNESS_TOLD_H
#define IOWITNESS_TOLD_H

#include "life.h"

INLINE void add_phase(struct io_sum *sum, enum io_phase phase, __u64 from, __u64 to)
{
	struct phase_sum *p = &sum->phases[phase];

	if (!from || !to)
		return;
	if (to < from) {
		lose(LOSS_BACKWARDS, 1, 0);
		return;
	}
	__sync_fetch_and_add(&p->count, 1);
	__sync_fetch_and_add(&p->ns, to - from);
	if (to - from > p->max)
		p->max = to - from;
}

INLINE __u32 size_slot(__u32 bytes)
{
	__u32 slot = bytes <= 512 ? 0 : log2_u64(bytes - 1) - 8;

	return slot < SIZE_SLOTS ? slot : SIZE_SLOTS - 1;
}

INLINE void count_slot(__u32 *hist, __u64 from, __u64 to)
{
	if (from && to >= from)
		__sync_fetch_and_add(&hist[hist_slot(to - from) & (HIST_SLOTS - 1)], 1);
}

INLINE __u64 first_instant(struct io_life *life)
{
	if (life->queued)
		return life->queued;
	if (life->got)
		return life->got;
	return life->inserted ? life->inserted : life->issued;
}

/* A write of nothing that flushes first is how file systems ask for a flush. */
INLINE __u16 kind_of(struct io_life *life)
{
	if (!life->bytes && life->op & REQ_PREFLUSH)
		return REQ_OP_FLUSH;
	return life->op & REQ_OP_MASK;
}

INLINE struct io_sum *sum_of(struct io_life *life)
{
	struct io_key key = {
		.cgroup = life->cgroup, .ino = life->ino, .file_dev = life->file_dev, .dev = life->dev, .disk = life->disk,
		.tgid = life->owner.tgid, .op = kind_of(life), .flags = life->flags & (IO_BIO | IO_PASSED | IO_DEV_ABOVE | IO_UNCHARGED),
		.top = life->flags & IO_PASSED ? life->top : 0,
	};
	struct io_sum *sum = bpf_map_lookup_elem(&sums, &key);

	if (sum)
		return sum;
	bpf_map_update_elem(&sums, &key, &no_sum, BPF_NOEXIST);
	sum = bpf_map_lookup_elem(&sums, &key);
	if (sum) {
		sum->owner = life->owner;
		return sum;
	}
	/* No room: everything of the disk and operation that has none goes together. */
	lose(LOSS_SUM_FULL, 1, 0);
	key.cgroup = key.ino = key.file_dev = key.tgid = 0;
	sum = bpf_map_lookup_elem(&rest_sums, &key);
	if (sum)
		return sum;
	bpf_map_update_elem(&rest_sums, &key, &no_sum, BPF_NOEXIST);
	return bpf_map_lookup_elem(&rest_sums, &key);
}

SUBPROGRAM int sum_up(struct io_life *life)
{
	struct io_sum *sum = sum_of(life);
	__u64 begin = first_instant(life);

	if (!sum)
		return 0;
	__sync_fetch_and_add(&sum->count, 1);
	__sync_fetch_and_add(&sum->bytes, life->bytes);
	if ((life->op & REQ_OP_MASK) <= REQ_OP_WRITE && life->bytes)
		__sync_fetch_and_add(&sum->sizes[size_slot(life->bytes)], 1);
	if (life->error)
		__sync_fetch_and_add(&sum->errors, 1);
	if (life->merged)
		__sync_fetch_and_add(&sum->merged, life->merged);
	if (life->requeues)
		__sync_fetch_and_add(&sum->requeues, life->requeues);
	if (life->flags & IO_SPLIT)
		__sync_fetch_and_add(&sum->split, 1);
	if (life->carrier.tid)
		__sync_fetch_and_add(&sum->carried, 1);
	if (life->depth) {
		__sync_fetch_and_add(&sum->depths, life->depth);
		__sync_fetch_and_add(&sum->depth_count, 1);
		if (life->depth > sum->depth_max)
			sum->depth_max = life->depth;
	}
	if (life->depth && life->bytes) {
		__sync_fetch_and_add(&sum->sequenced, 1);
		if (life->flags & IO_SEQUENTIAL)
			__sync_fetch_and_add(&sum->sequential, 1);
	}
	add_phase(sum, PHASE_GET, life->queued, life->got);
	add_phase(sum, PHASE_INSERT, life->got, life->inserted);
	add_phase(sum, PHASE_QUEUE, life->inserted ? life->inserted : life->got, life->issued);
	add_phase(sum, PHASE_DEVICE, life->issued, life->completed);
	add_phase(sum, PHASE_TOTAL, begin, life->completed);
	count_slot(sum->device_hist, life->issued, life->completed);
	count_slot(sum->total_hist, begin, life->completed);
	return 0;
}

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
INLINE void keep_rest(struct request *rq, struct io_life *life, __u32 bytes)
{
	struct bio *bio = GET(rq, bio), *next = bio;
	struct io_life rest = *life;
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
	forget_life(bio);
	keep_life(next, &rest);
}

INLINE void complete_request(struct request *rq, __u32 error, __u32 bytes)
{
	struct io_count *count = this_count();
	struct io_life *life;
	__u32 left;
	struct disk *disk;

	if (!epoch || !count)
		return;
	left = GET(rq, __data_len);
	disk = disk_of(number_of(disk_of_request(rq)));
	if (is_flush(rq)) {
		leave_driver(disk);
		return;
	}
	life = life_of(rq, false);
	if (!life) {
		if (!bytes)
			count->flush_ends++;
		else
			count->unmatched++;
		return;
	}
	if (bytes < left && !error) {
		keep_rest(rq, life, bytes);
		return;
	}
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
	life->merged = forget_merged(rq);
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
