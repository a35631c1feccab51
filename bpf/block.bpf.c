/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The witness of block requests: each from the submission of its first bio to its
 * completion, with its owner, its file and the thread whose wait it ends.
 */
#include "told.h"
#include "resolve.h"
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Keeps the records' layouts in the object's type information, for the test of the reader. */
const struct io_record *io_record_layout __attribute__((unused));
const struct io_wait_record *io_wait_record_layout __attribute__((unused));
const struct file_record *file_record_layout __attribute__((unused));

/* An argument, which the queue comes before on older kernels. */
#define BIO(args) first_or_second(args, bio_comes_second)
#define RQ(args) first_or_second(args, rq_comes_second)

/* One body for both kinds of program: only typed says how arguments are read. */
#define PROBE(name, point, body)								\
SEC("tp_btf/" #point)										\
int name##_tp_btf(__u64 *args) { body; return 0; }						\
SEC("raw_tp/" #point)										\
int name##_raw_tp(struct bpf_raw_tracepoint_args *ctx) { __u64 *args = ctx->args; body; return 0; }

PROBE(queue, block_bio_queue, queue_bio(BIO(args)))
PROBE(getrq, block_getrq, get_request(BIO(args)))
PROBE(split, block_split, split_bio(BIO(args)))
PROBE(insert, block_rq_insert, insert_request(RQ(args)))
PROBE(issue, block_rq_issue, issue_request(RQ(args)))
PROBE(requeue, block_rq_requeue, requeue_request(RQ(args)))
PROBE(merge, block_rq_merge, absorb_request(RQ(args)))
PROBE(complete, block_rq_complete, complete_request((void *)args[0], args[1], args[2]))
PROBE(bio_complete, block_bio_complete, complete_bio((void *)args[1]))

INLINE void remap(__u64 *args)
{
	if (bio_comes_second)
		remap_bio((void *)args[1], args[2], args[3]);
	else
		remap_bio((void *)args[0], args[1], args[2]);
}

PROBE(remap, block_bio_remap, remap(args))

/* writeback_dirty_page until 5.17. */
PROBE(dirty_folio, writeback_dirty_folio, dirty((void *)args[1]))
PROBE(dirty_page, writeback_dirty_page, dirty((void *)args[1]))

INLINE bool sleeps_for_io(struct task_struct *prev)
{
	/* Idle kernel threads are uninterruptible, too, but wait for nothing. */
	const __u32 mask = TASK_UNINTERRUPTIBLE | TASK_NOLOAD;

	if (typed)
		return BPF_CORE_READ_BITFIELD(prev, in_iowait) || (direct_state(prev) & mask) == TASK_UNINTERRUPTIBLE;
	return BPF_CORE_READ_BITFIELD_PROBED(prev, in_iowait) || (task_state(prev) & mask) == TASK_UNINTERRUPTIBLE;
}

INLINE void switch_out(struct task_struct *prev)
{
	struct sleep *sleep;
	__u32 tid;

	if (!epoch)
		return;
	tid = GET(prev, pid);
	sleep = &sleeps[tid & (SLEEPS - 1)];
	if (!sleeps_for_io(prev)) {
		if (sleep->tid == tid)
			sleep->tid = 0; /* its last wait is over */
		return;
	}
	sleep->tid = tid;
	sleep->since = bpf_ktime_get_ns();
}

INLINE void waking(struct task_struct *task)
{
	if (epoch)
		woken_by_completion(GET(task, pid), GET(task, tgid));
}

PROBE(sleep, sched_switch, switch_out((void *)args[1]))
PROBE(wake, sched_waking, waking((void *)args[0]))
