/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What is beneath an fsync: commits of jbd2's journals, and flushes of devices' write caches. */
#ifndef IOWITNESS_JOURNAL_H
#define IOWITNESS_JOURNAL_H

#include "gate.h"
#include "ring.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256);
	__type(key, __u32);
	__type(value, struct journal_sum);
} journals SEC(".maps");

/* The commit under way, by the id of its journal's thread. jbd2 itself measures in jiffies. */
struct commit {
	__u64 locking;
	__u64 flushing;
	__u64 logging;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 256);
	__type(key, __u32);
	__type(value, struct commit);
} commits SEC(".maps");

static const struct journal_sum no_journal = {};

INLINE struct commit *this_commit(void)
{
	__u32 tid = bpf_get_current_pid_tgid();

	return bpf_map_lookup_elem(&commits, &tid);
}

INLINE void begin_commit(void)
{
	struct commit commit = { .locking = bpf_ktime_get_ns() };
	__u32 tid = bpf_get_current_pid_tgid();

	bpf_map_update_elem(&commits, &tid, &commit, BPF_ANY);
}

/* One thread commits, so nobody else adds to its journal's sums. */
INLINE void end_commit(__u32 dev, void *stats)
{
	struct commit *commit = this_commit();
	__u64 now = bpf_ktime_get_ns();
	struct journal_sum *sum;

	/* Of one that was under way when all this began the first part is unknown. */
	if (!commit || !commit->locking || !commit->flushing || !commit->logging)
		return;
	sum = bpf_map_lookup_elem(&journals, &dev);
	if (!sum) {
		bpf_map_update_elem(&journals, &dev, &no_journal, BPF_NOEXIST);
		sum = bpf_map_lookup_elem(&journals, &dev);
	}
	if (!sum)
		return;
	sum->commits++;
	sum->handles += RUN_STAT(stats, rs_handle_count);
	sum->blocks += RUN_STAT(stats, rs_blocks);
	sum->logged += RUN_STAT(stats, rs_blocks_logged);
	sum->wait_jiffies += RUN_STAT(stats, rs_wait);
	sum->delay_jiffies += RUN_STAT(stats, rs_request_delay);
	sum->running_jiffies += RUN_STAT(stats, rs_running);
	sum->locked_ns += commit->flushing - commit->locking;
	sum->flushing_ns += commit->logging - commit->flushing;
	sum->logging_ns += now - commit->logging;
	if (now - commit->locking > sum->max_ns)
		sum->max_ns = now - commit->locking;
	commit->locking = 0;
}

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256);
	__type(key, __u32);
	__type(value, struct flush_sum);
} flushes SEC(".maps");

/* Flush requests that the driver has. A device has at most two for each of its queues. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, __u64);
	__type(value, __u64);
} flushing SEC(".maps");

static const struct flush_sum no_flush = {};

INLINE bool is_flush(struct request *rq)
{
	return (BPF_CORE_READ(rq, cmd_flags) & REQ_OP_MASK) == REQ_OP_FLUSH;
}

INLINE void begin_flush(struct request *rq)
{
	__u64 key = (__u64)rq, now = bpf_ktime_get_ns();

	bpf_map_update_elem(&flushing, &key, &now, BPF_ANY);
}

INLINE void end_flush(struct request *rq)
{
	__u64 key = (__u64)rq, *begun = bpf_map_lookup_elem(&flushing, &key), ns;
	__u32 dev = request_disk(rq);
	struct flush_sum *sum = bpf_map_lookup_elem(&flushes, &dev);

	if (!sum) {
		bpf_map_update_elem(&flushes, &dev, &no_flush, BPF_NOEXIST);
		sum = bpf_map_lookup_elem(&flushes, &dev);
	}
	if (!sum)
		return;
	if (!begun) {
		__sync_fetch_and_add(&sum->unseen, 1);
		return;
	}
	ns = bpf_ktime_get_ns() - *begun;
	bpf_map_delete_elem(&flushing, &key);
	__sync_fetch_and_add(&sum->count, 1);
	__sync_fetch_and_add(&sum->ns, ns);
	if (ns > sum->max_ns)
		sum->max_ns = ns;
}

#endif
