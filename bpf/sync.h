/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The sleeps within a call that synchronizes. Each is unwound as it begins, so
 * that the parts of a call are known to the last nanosecond; stacks are few, and
 * kept once.
 */
#ifndef IOWITNESS_SYNC_H
#define IOWITNESS_SYNC_H

#include "fs.h"
#include "kept.h"

/* Keeps the layout in the object's type information, for the user side. */
const struct fs_call_record *fs_call_record_layout __attribute__((unused));

volatile bool with_stacks = true;	/* else sleeps are counted, but not attributed */

/* The current thread is switched out; sleeps: it did so itself. */
INLINE void begin_sleep(void *ctx, struct task_struct *task, __u32 tid, bool sleeps, bool flagged)
{
	struct fs_call *call = find_call(task, tid);

	if (!call || !call->start || !call->divided)
		return;
	call->stack = sleeps && with_stacks ? take_stack(ctx, flagged) : 0;
	call->off = bpf_ktime_get_ns();
	/* One that is woken while it is still switching out counts as woken when it runs. */
	call->woken = sleeps ? 0 : call->off;
}

INLINE void wake(struct fs_call *call)
{
	if (call && call->off && !call->woken)
		call->woken = bpf_ktime_get_ns();
}

INLINE void charge(struct fs_call *call, __u64 ns)
{
	int i;

	for (i = 0; i < FS_SLOTS; i++) {
		struct fs_slot *slot = &call->slots[i];

		if (slot->stack && slot->stack != call->stack)
			continue;
		slot->stack = call->stack;
		slot->count++;
		slot->ns += ns;
		return;
	}
	lose(LOSS_SLOTS, 1, ns);
}

INLINE void end_sleep(struct fs_call *call)
{
	__u64 now, off, woken;

	if (!call || !call->off)
		return;
	now = bpf_ktime_get_ns();
	off = call->off;
	call->off = 0;
	if (!call->start || now < off)
		return;
	woken = call->woken;
	if (!woken || woken > now) {
		lose(LOSS_NO_WAKE, 1, now - off);
		woken = now;
	}
	if (woken < off)
		woken = off;
	call->blocked_ns += woken - off;
	call->runqueue_ns += now - woken;
	if (call->stack)
		charge(call, woken - off);
}

/* Calls under way for so long are told by the walk. */
const volatile __u64 pending_ns = 1000000000;

/* What is opened is not known before the call returns. */
SEC("iter/task")
int under_way(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct fs_call_record record = {};
	struct fs_call *call;
	__u64 start, now;

	if (!task)
		return 0;
	call = find_call(task, task->pid);
	if (!call || !call->start || call->key.op == FS_OPEN)
		return 0;
	start = call->start;
	now = bpf_ktime_get_ns();
	if (now < start || now - start < pending_ns)
		return 0;
	record.key = call->key;
	record.age_ns = now - start;
	record.tid = task->pid;
	if (call->divided && call->off)
		record.stack = call->stack;
	bpf_seq_write(ctx->meta->seq, &record, sizeof(record));
	return 0;
}

#endif
