/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef IOWITNESS_RESOLVE_H
#define IOWITNESS_RESOLVE_H

#include "identity.h"

/* Thread ids as the reader's own pid namespace numbers them, for those it can see. */
SEC("iter/task")
int resolve(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task, *reader = this_task();
	struct resolve_record record = {};
	struct pid *pid, *reader_pid;
	struct numbered_pid seen, mine;
	__u32 level;

	if (!task)
		return 0;
	pid = BPF_CORE_READ(task, thread_pid);
	reader_pid = BPF_CORE_READ(reader, thread_pid);
	level = BPF_CORE_READ(reader_pid, level);
	if (level > BPF_CORE_READ(pid, level))
		return 0;
	seen = numbered(pid, level);
	mine = numbered(reader_pid, level);
	if (seen.ns != mine.ns)
		return 0;
	record.tid = task->pid;
	record.tgid = task->tgid;
	record.ns_tid = seen.nr;
	bpf_seq_write(ctx->meta->seq, &record, sizeof(record));
	return 0;
}

#endif
