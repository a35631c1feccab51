/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The wait witness: sched_switch and sched_waking see both ends of each wait,
 * block_rq_complete the request that ended it, the walk those still in progress.
 */
#include "identity.h"
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Keeps the record's layout in the object's type information, for the test of the reader. */
const struct wait_record *wait_record_layout __attribute__((unused));

/* The waking handler of a completion runs in the same context, at once: within this many jiffies. */
#define JOIN_JIFFIES 1

/* The scheduler's clock, as it was read for this switch. */
INLINE __u64 switch_clock(struct task_struct *task)
{
	return scheduler_clock ? task->se.cfs_rq->rq->clock : bpf_ktime_get_ns();
}

INLINE bool is_wait(__u32 state, bool in_iowait, __u32 task_flags)
{
	if (in_iowait)
		return true;
	return (state & TASK_UNINTERRUPTIBLE) && !(state & (TASK_NOLOAD | TASK_FROZEN)) &&
	       !(task_flags & PF_FROZEN && task_flags & PF_KTHREAD);
}

INLINE bool comm_is_wanted(struct task_struct *task)
{
	char comm[COMM_BYTES] = {};
	int i;

	BPF_CORE_READ_STR_INTO(&comm, task, comm);
	for (i = 0; i < COMM_BYTES; i++)
		if (comm[i] != wanted_comm[i])
			return false;
	return true;
}

SUBPROGRAM int cgroup_is_wanted(struct task_struct *task)
{
	struct css_set *cset = BPF_CORE_READ(task, cgroups);
	struct kernfs_node *kn = filter_subsystem ? v1_cgroup(cset, filter_subsystem - 1) :
						    BPF_CORE_READ(cset, dfl_cgrp, kn);
	int level;

	for (level = 0; kn && level < CGROUP_LEVELS; level++) {
		if (BPF_CORE_READ(kn, id) == filter_cgroup)
			return 1;
		kn = kernfs_parent(kn);
	}
	return 0;
}

INLINE bool is_wanted(struct task_struct *task, __u32 tid, __u32 tgid)
{
	if (!include_self && tgid == self_tgid)
		return false;
	if (filter_tgid && !bpf_map_lookup_elem(&wanted_tgids, &tgid))
		return false;
	if (filter_follow && !bpf_map_lookup_elem(&followed, &tid))
		return false;
	if (filter_comm && !comm_is_wanted(task))
		return false;
	if (filter_cgroup && !cgroup_is_wanted(task))
		return false;
	return true;
}

/* Unflagged waiters cannot be told from a bit of the task at switch-in. */
INLINE bool needs_hint(struct thread_wait *wait)
{
	return storage_by_hash || !(wait->flags & WAIT_FLAGGED);
}

/*
 * Of the short waits: the first few of an interval, then one in sample_every and
 * ever fewer, so that a busy thread costs little; at random, since a regular
 * choice would meet a regular program always at the same step.
 * Flagged and unflagged waits have a choice each, so that neither hides the other.
 * WAIT_FIRST, WAIT_SLOW or neither say why a wait was chosen; NOT_SAMPLED that it was not.
 */
#define NOT_SAMPLED (~0U)

INLINE void enter_epoch(struct thread_wait *wait, __u32 now_epoch)
{
	if (wait->epoch == now_epoch)
		return;
	wait->epoch = now_epoch;
	wait->in_epoch[0] = wait->in_epoch[1] = 0;
	wait->next_sample[0] = wait->next_sample[1] = 0;
}

/* One in how many waits is chosen after so many of an interval. */
INLINE __u32 sample_period(__u32 number)
{
	return sample_every == 1 ? 1 : sample_every + number / 16;
}

/* From 1 to twice the period less one: the period on the average. */
INLINE __u32 random_step(__u32 period)
{
	return 1 + bpf_get_prandom_u32() % (2 * period - 1);
}

INLINE __u32 sample(struct thread_wait *wait, __u32 now_epoch, __u32 flags)
{
	__u32 class = !!(flags & WAIT_FLAGGED), number;

	enter_epoch(wait, now_epoch);
	number = ++wait->in_epoch[class];
	if (number <= sample_first) {
		wait->next_sample[class] = sample_first + random_step(sample_every);
		return flags | WAIT_FIRST;
	}
	if (number >= wait->next_sample[class]) {
		wait->next_sample[class] = number + random_step(sample_period(number));
		return flags;
	}
	return flags & WAIT_SLOW ? flags : NOT_SAMPLED;
}

INLINE bool within_budget(struct cpu_state *cpu, __u32 now_epoch)
{
	if (cpu->epoch != now_epoch) {
		cpu->epoch = now_epoch;
		cpu->spent = 0;
	}
	return cpu->spent++ < budget;
}

/* System call, file by its descriptor, and cgroup. */
SUBPROGRAM int put_call(struct wait_site *site, struct task_struct *task)
{
	struct pt_regs *regs;
	__u32 n;
	__u16 v1;

	site->cgroup = BPF_CORE_READ(cgroup_of(task, &v1), id);
	site->syscall = -1;
	site->file.source = FILE_NONE;
	site->file.path_bytes = 0;
	site->file.backing_dev = 0;
	if (BPF_CORE_READ(task, flags) & PF_KTHREAD)
		return 0;
	regs = user_regs(task);
	site->syscall = BPF_CORE_READ(regs, orig_ax);
	if (site->syscall < 0 || site->syscall >= SYSCALLS)
		return 0;
	n = fd_argument[site->syscall & (SYSCALLS - 1)];
	if (n)
		put_file(&site->file, file_by_fd(task, syscall_argument(regs, n)), FILE_FD);
	return 0;
}

INLINE void unwound(struct wait_site *site, long bytes)
{
	if (bytes < 0)
		lose(LOSS_STACK, 1, 0);
	site->frames = bytes > 0 ? bytes / 8 : 0;
}

/*
 * The kernel unwinds another task's stack without the functions of .sched.text, by
 * which one kind of wait differs from another. Their return addresses lie between
 * the stack pointer and the first address that the unwinder found.
 */
SUBPROGRAM int put_sched_frames(struct wait_site *site, struct scratch *scratch)
{
	__u64 start = sched_text_start, end = sched_text_end, outer = site->stack[0];
	/* In memory, whose content the verifier does not follow: else it would try every number at every word. */
	volatile __u32 *found = &scratch->found;
	__u32 i;

	*found = 0;
	for (i = 0; i < STACK_SCAN_WORDS; i++) {
		__u64 word = scratch->words[i];
		__u32 n = *found;

		if (word == outer) {
			site->sched_frames = n;
			return 0;
		}
		if (word >= start && word < end && n < SCHED_DEPTH) {
			site->sched[n & (SCHED_DEPTH - 1)] = word;
			*found = n + 1;
		}
	}
	return 0;
}

/* A sleeping thread, typed. */
SUBPROGRAM int put_site(struct wait_site *site, struct task_struct *task)
{
	struct scratch *scratch = this_scratch();
	__u64 sp = BPF_CORE_READ(task, thread.sp);

	unwound(site, bpf_get_task_stack(task, site->stack, sizeof(site->stack), 0));
	put_call(site, task);
	site->sched_frames = 0;
	if (!scratch || bpf_probe_read_kernel(scratch->words, sizeof(scratch->words), (void *)sp))
		return 0;
	if (site->frames)
		put_sched_frames(site, scratch);
	put_folio(site, (__u64)task, sp, scratch);
	return 0;
}

/* At sleep nobody knows how long it will be: a thread that has waited long of late is likely to do so again. */
INLINE bool would_sample(struct thread_wait *wait, __u32 now_epoch)
{
	__u32 class = !!(wait->flags & WAIT_FLAGGED), number;

	enter_epoch(wait, now_epoch);
	number = wait->in_epoch[class] + 1;
	return number <= sample_first || number >= wait->next_sample[class] || wait->history & 0xff;
}

/* Where a waking thread cannot be unwound: look now, at sleep, at the current thread. */
SUBPROGRAM int look_at_sleep(void *ctx, struct thread_wait *wait, __u32 tid)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct scratch *scratch = this_scratch();

	if (!scratch)
		return 0;
	tell_identity_once(wait, task);
	scratch->sleep.start = wait->start;
	BPF_CORE_READ_STR_INTO(&scratch->sleep.comm, task, comm);
	unwound(&scratch->sleep.site, bpf_get_stack(ctx, scratch->sleep.site.stack, sizeof(scratch->sleep.site.stack), 0));
	scratch->sleep.site.sched_frames = 0;
	put_call(&scratch->sleep.site, task);
	if (bpf_map_update_elem(&sleep_sites, &tid, &scratch->sleep, BPF_ANY))
		lose(LOSS_STACK, 1, 0);
	return 0;
}

INLINE void begin_wait(void *ctx, struct task_struct *task, __u32 tid, __u32 tgid, __u32 state, bool in_iowait)
{
	struct thread_wait *wait;

	if (!is_wanted(task, tid, tgid))
		return;
	wait = make_wait(task, tid);
	if (!wait) {
		lose(LOSS_STATE_FULL, 1, 0);
		return;
	}
	wait->tid = tid;
	wait->tgid = tgid;
	wait->flags = (in_iowait ? WAIT_FLAGGED : 0) |
		      (state & TASK_INTERRUPTIBLE ? WAIT_INTERRUPTIBLE : 0);
	wait->start = switch_clock(task);
	if (scheduler_clock)
		wait->run_delay = task->sched_info.run_delay;
	if (!wait->born)
		wait->born = wait->start;
	if (needs_hint(wait))
		__sync_fetch_and_add(&hints[tid & (HINTS - 1)], 1);
	if (storage_by_hash && would_sample(wait, epoch))
		look_at_sleep(ctx, wait, tid);
}

/* Called for a thread that is about to be woken. */
INLINE void join(__u32 tid)
{
	struct join *join = &joins[tid & (JOINS - 1)];
	struct cpu_state *cpu = this_cpu();

	if (cpu && cpu->completer == bpf_get_current_task() &&
	    bpf_jiffies64() - cpu->completed <= JOIN_JIFFIES) {
		join->request = cpu->last;
		join->tid = tid;
	} else if (join->tid == tid) {
		join->tid = 0;
	}
}

INLINE void wake(struct thread_wait *wait)
{
	if (!wait)
		return;
	wait->woken = bpf_ktime_get_ns();
	join(wait->tid);
}

/* What a wait was, once it is over. */
struct ended_wait {
	__u64 start, woken, runs, seq;
	__u32 flags, weight;
};

SUBPROGRAM int record_wait(struct thread_wait *wait, struct task_struct *task, struct ended_wait *ended,
			   struct sleep_site *sleep)
{
	struct wait_record *record = bpf_ringbuf_reserve(&records, sizeof(*record), 0);

	if (!record) {
		lose(LOSS_RING_WAIT, 1, ended->woken - ended->start);
		return 0;
	}
	record->start = ended->start;
	record->woken = ended->woken;
	record->runs = ended->runs;
	record->seq = ended->seq;
	record->born = wait->born;
	record->request = joins[wait->tid & (JOINS - 1)].request;
	record->flags = ended->flags;
	record->weight = ended->weight;
	record->cpu = bpf_get_smp_processor_id();
	record->head.kind = RECORD_WAIT;
	record->head.version = ABI_VERSION;
	record->head.size = sizeof(*record);
	record->head.tid = wait->tid;
	record->head.tgid = wait->tgid;
	if (sleep) {
		__builtin_memcpy(&record->head.comm, &sleep->comm, COMM_BYTES);
		bpf_probe_read_kernel(&record->site, sizeof(record->site), &sleep->site);
	} else if (task) {
		BPF_CORE_READ_STR_INTO(&record->head.comm, task, comm);
		put_site(&record->site, task);
	}
	bpf_ringbuf_submit(record, ring_wakeup());
	return 0;
}

INLINE void count_wait(struct thread_wait *wait, struct ended_wait *ended, __u32 now_epoch)
{
	__u64 blocked = ended->woken - ended->start;
	struct wait_max *max = &wait->max[now_epoch & 1];
	struct wait_sum *sum;
	__u32 slot = hist_slot(blocked);

	sum = &wait->sums[(ended->flags & (WAIT_FLAGGED | WAIT_SLOW))];
	sum->count++;
	sum->blocked_ns += blocked;
	sum->runqueue_ns += ended->runs - ended->woken;
	wait->hist[slot & (HIST_SLOTS - 1)]++;
	if (max->epoch != now_epoch) {
		max->epoch = now_epoch;
		max->ns = 0;
	}
	if (blocked > max->ns)
		max->ns = blocked;
	ended->seq = ++wait->count;
}

/* When it was put on a run queue, less the delays on those it was moved from. */
INLINE __u64 scheduler_woken(struct thread_wait *wait, struct task_struct *task, __u64 runs)
{
	__u64 queued = task->sched_info.last_queued;

	if (!queued)
		return 0;
	return queued - (task->sched_info.run_delay - wait->run_delay);
}

/* When it was woken, made whole: the waker may be ahead of the switch, or not have been seen. */
INLINE void settle_wake(struct thread_wait *wait, struct ended_wait *ended)
{
	if (ended->woken >= ended->start && ended->woken <= ended->runs)
		return;
	if (ended->woken >= wait->ended) {
		ended->flags |= WAIT_EARLY_WAKE;
		ended->woken = ended->start;
		lose(LOSS_EARLY_WAKE, 1, 0);
	} else {
		ended->flags |= WAIT_NO_WAKE;
		ended->woken = ended->runs;
		lose(LOSS_NO_WAKE, 1, ended->runs - ended->start);
	}
}

/* The thread runs again. task is NULL where the means gives only a thread id. */
INLINE void end_wait(struct thread_wait *wait, struct task_struct *task)
{
	struct ended_wait ended = {
		.start = wait->start, .woken = wait->woken, .runs = switch_clock(task), .flags = wait->flags,
	};
	__u32 now_epoch = epoch, tid = wait->tid;
	struct sleep_site *sleep = NULL;
	struct cpu_state *cpu;

	if (needs_hint(wait))
		__sync_fetch_and_add(&hints[tid & (HINTS - 1)], -1);
	wait->start = 0;
	if (ended.start > ended.runs) {
		lose(LOSS_CLOCK, 1, 0);
		return;
	}
	if (scheduler_clock)
		ended.woken = scheduler_woken(wait, task, ended.runs);
	settle_wake(wait, &ended);
	wait->ended = ended.runs;
	if (ended.woken - ended.start < min_ns)
		return;
	if (ended.woken - ended.start >= slow_ns)
		ended.flags |= WAIT_SLOW;
	count_wait(wait, &ended, now_epoch);
	wait->history = wait->history << 1 | !!(ended.flags & WAIT_SLOW);

	ended.flags = sample(wait, now_epoch, ended.flags);
	if (ended.flags == NOT_SAMPLED)
		return;
	if (joins[tid & (JOINS - 1)].tid == tid)
		ended.flags |= WAIT_JOINED;
	ended.weight = sample_period(wait->in_epoch[!!(ended.flags & WAIT_FLAGGED)]);
	if (storage_by_hash) {
		sleep = bpf_map_lookup_elem(&sleep_sites, &tid);
		if (!sleep || sleep->start != ended.start) {
			lose(LOSS_STACK, 1, ended.woken - ended.start);
			return;
		}
	}
	cpu = this_cpu();
	if (!cpu || !within_budget(cpu, now_epoch)) {
		lose(LOSS_BUDGET, 1, ended.woken - ended.start);
		return;
	}
	if (task)
		tell_identity_once(wait, task);
	record_wait(wait, task, &ended, sleep);
}

/* The thread's last switch: tell what it waited in all, then forget it. */
SUBPROGRAM int tell_exit(struct thread_wait *wait, struct task_struct *task, __u32 tid)
{
	struct tally_record *record;

	if (!wait)
		return 0;
	if (wait->count) {
		record = bpf_ringbuf_reserve(&records, sizeof(*record), 0);
		if (record) {
			put_head(&record->head, RECORD_EXIT, sizeof(*record), task);
			record->now = wait->ended;
			__builtin_memcpy(&record->wait, wait, sizeof(record->wait));
			record->has_site = 0;
			record->state = TASK_DEAD;
			bpf_ringbuf_submit(record, ring_wakeup());
		} else {
			lose(LOSS_RING_EXIT, wait->count - wait->walked,
			     wait->sums[0].blocked_ns + wait->sums[1].blocked_ns +
			     wait->sums[2].blocked_ns + wait->sums[3].blocked_ns - wait->walked_ns);
		}
	}
	if (storage_by_hash) {
		bpf_map_delete_elem(&thread_hash, &tid);
		bpf_map_delete_elem(&sleep_sites, &tid);
	}
	return 0;
}

INLINE void leave(struct task_struct *task, __u32 tid)
{
	tell_exit(find_wait(task, tid), task, tid);
	if (filter_follow)
		bpf_map_delete_elem(&followed, &tid);
}

INLINE void follow_child(__u32 parent, __u32 child)
{
	__u8 yes = 1;

	if (bpf_map_lookup_elem(&followed, &parent) &&
	    bpf_map_update_elem(&followed, &child, &yes, BPF_ANY))
		lose(LOSS_FOLLOW_FULL, 1, 0);
}

/* BTF tracepoints: typed tasks, read directly. */

SEC("tp_btf/sched_switch")
int switch_tp_btf(__u64 *ctx)
{
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];
	struct thread_wait *wait;
	__u32 state;

	if (!epoch)
		return 0;
	state = direct_state(prev);
	if (state && !(__u8)ctx[0]) {
		bool in_iowait = BPF_CORE_READ_BITFIELD(prev, in_iowait);

		if (is_wait(state, in_iowait, prev->flags))
			begin_wait(ctx, prev, prev->pid, prev->tgid, state, in_iowait);
		else if (state & TASK_DEAD)
			leave(prev, prev->pid);
	}
	if (BPF_CORE_READ_BITFIELD(next, in_iowait) || hints[next->pid & (HINTS - 1)]) {
		wait = find_wait(next, next->pid);
		if (wait && wait->start)
			end_wait(wait, next);
	}
	return 0;
}

SEC("tp_btf/sched_waking")
int waking_tp_btf(__u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	bool in_iowait = BPF_CORE_READ_BITFIELD(task, in_iowait);

	if (!epoch || !is_wait(direct_state(task), in_iowait, task->flags))
		return 0;
	if (scheduler_clock)
		join(task->pid);
	else
		wake(find_wait(task, task->pid));
	return 0;
}

INLINE void completed(struct cpu_state *cpu)
{
	cpu->completed = bpf_jiffies64();
	cpu->completer = bpf_get_current_task();
}

INLINE void remember(struct request_ref *last, struct request *rq, __u32 bytes)
{
	struct block_device *part = rq->part;

	last->sector = rq->__sector;
	last->op = rq->cmd_flags;
	last->bytes = bytes;
	last->dev = part ? part->bd_dev : rq->q->disk ? disk_dev(rq->q->disk) : 0;
}

SEC("tp_btf/sched_process_fork")
int fork_tp_btf(__u64 *ctx)
{
	struct task_struct *parent = (void *)ctx[0], *child = (void *)ctx[1];

	follow_child(parent->pid, child->pid);
	return 0;
}

SEC("tp_btf/block_rq_complete")
int complete_tp_btf(__u64 *ctx)
{
	struct cpu_state *cpu = this_cpu();

	if (!cpu)
		return 0;
	remember(&cpu->last, (void *)ctx[0], ctx[2]);
	completed(cpu);
	return 0;
}

/*
 * Raw tracepoints: the same arguments, untyped. The current task is typed, so a
 * thread is looked at when it goes to sleep.
 */

INLINE bool reads_in_iowait(struct task_struct *task)
{
	return BPF_CORE_READ_BITFIELD_PROBED(task, in_iowait);
}

INLINE void switched_out(void *ctx, __u32 state)
{
	struct task_struct *prev = bpf_get_current_task_btf();
	bool in_iowait = reads_in_iowait(prev);
	__u32 pid = prev->pid;

	if (is_wait(state, in_iowait, prev->flags))
		begin_wait(ctx, prev, pid, prev->tgid, state, in_iowait);
	else if (state & TASK_DEAD)
		leave(prev, pid);
}

INLINE void switched_in(__u32 tid)
{
	struct thread_wait *wait;

	if (!hints[tid & (HINTS - 1)])
		return;
	wait = find_wait(NULL, tid);
	if (wait && wait->start)
		end_wait(wait, NULL);
}

SEC("raw_tp/sched_switch")
int switch_raw_tp(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *next = (void *)ctx->args[2];
	__u32 state;

	if (!epoch)
		return 0;
	state = task_state((void *)ctx->args[1]);
	if (state && !(__u8)ctx->args[0])
		switched_out(ctx, state);
	switched_in(BPF_CORE_READ(next, pid));
	return 0;
}

SEC("raw_tp/sched_waking")
int waking_raw_tp(struct bpf_raw_tracepoint_args *ctx)
{
	__u32 tid = BPF_CORE_READ((struct task_struct *)ctx->args[0], pid);

	if (epoch && hints[tid & (HINTS - 1)])
		wake(find_wait(NULL, tid));
	return 0;
}

SEC("raw_tp/block_rq_complete")
int complete_raw_tp(struct bpf_raw_tracepoint_args *ctx)
{
	struct cpu_state *cpu = this_cpu();
	struct request *rq = (void *)ctx->args[0];
	struct block_device *part = BPF_CORE_READ(rq, part);

	if (!cpu)
		return 0;
	cpu->last.sector = BPF_CORE_READ(rq, __sector);
	cpu->last.op = BPF_CORE_READ(rq, cmd_flags);
	cpu->last.bytes = ctx->args[2];
	cpu->last.dev = part ? BPF_CORE_READ(part, bd_dev) : disk_dev(BPF_CORE_READ(rq, q, disk));
	completed(cpu);
	return 0;
}

SEC("raw_tp/sched_process_fork")
int fork_raw_tp(struct bpf_raw_tracepoint_args *ctx)
{
	__u32 parent = BPF_CORE_READ((struct task_struct *)ctx->args[0], pid);
	__u32 child = BPF_CORE_READ((struct task_struct *)ctx->args[1], pid);

	follow_child(parent, child);
	return 0;
}

/* Plain tracepoints: thread ids only. The offsets are those of the events' format files. */

struct trace_entry {
	__u16 type;
	__u8 flags;
	__u8 preempt_count;
	int pid;
};

struct trace_sched_switch {
	struct trace_entry entry;
	char prev_comm[COMM_BYTES];
	int prev_pid;
	int prev_prio;
	long prev_state;
	char next_comm[COMM_BYTES];
	int next_pid;
	int next_prio;
};

struct trace_sched_waking {
	struct trace_entry entry;
	char comm[COMM_BYTES];
	int pid;
};

/* What the event's prev_state says of a preempted thread: "R+". */
#define TASK_REPORT_MAX 0x100

SEC("tp/sched/sched_switch")
int switch_tp(struct trace_sched_switch *ctx)
{
	__u32 state;

	if (!epoch)
		return 0;
	state = direct_state(bpf_get_current_task_btf());
	if (state && !(ctx->prev_state & TASK_REPORT_MAX))
		switched_out(ctx, state);
	switched_in(ctx->next_pid);
	return 0;
}

SEC("tp/sched/sched_waking")
int waking_tp(struct trace_sched_waking *ctx)
{
	__u32 tid = ctx->pid;

	if (epoch && hints[tid & (HINTS - 1)])
		wake(find_wait(NULL, tid));
	return 0;
}

struct trace_block_rq_complete {
	struct trace_entry entry;
	__u32 dev;
	__u64 sector;
	__u32 nr_sector;
};

SEC("tp/block/block_rq_complete")
int complete_tp(struct trace_block_rq_complete *ctx)
{
	struct cpu_state *cpu = this_cpu();

	if (!cpu)
		return 0;
	cpu->last.dev = ctx->dev;
	cpu->last.sector = ctx->sector;
	cpu->last.bytes = ctx->nr_sector << 9;
	completed(cpu);
	return 0;
}

/* From the event's format file: the names before it became of variable length in 6.13. */
const volatile __u32 fork_child_at = 0;

SEC("tp/sched/sched_process_fork")
int fork_tp(void *ctx)
{
	__u32 child = 0;

	bpf_probe_read_kernel(&child, sizeof(child), ctx + fork_child_at);
	follow_child((__u32)bpf_get_current_pid_tgid(), child);
	return 0;
}

/*
 * The walk over all threads, once an interval: each thread's counters if they
 * moved, each wait in progress, with its stack once it is slow.
 */

#define WALK_ADOPT 1	/* also take on waits that began before iowitness */
volatile __u32 walk_mode = 0;

/*
 * The walk's clock. The reader has yielded just before, so that its run queue's
 * clock was read; what has passed since CLOCK_MONOTONIC tells.
 */
INLINE __u64 walk_clock(__u64 number)
{
	struct task_struct *reader = bpf_get_current_task_btf();
	__u64 now = bpf_ktime_get_ns();

	if (!scheduler_clock)
		return now;
	if (!number)
		walk_offset = now - reader->se.cfs_rq->rq->clock;
	return now - walk_offset;
}

/* se.exec_start is when a thread last ran, on the scheduler's clock; the reader ran just now. */
INLINE __u64 ran_until(struct task_struct *task, __u64 now)
{
	struct task_struct *reader = bpf_get_current_task_btf();
	__u64 last = BPF_CORE_READ(task, se.exec_start);
	__u64 age = reader->se.exec_start - last;

	return last && (__s64)age > 0 && age < now ? now - age : now;
}

INLINE struct thread_wait *adopt(struct task_struct *task, __u64 now)
{
	__u32 state = task_state(task), tid = task->pid;
	bool in_iowait = reads_in_iowait(task);
	struct thread_wait *wait;

	if (!(walk_mode & WALK_ADOPT) || !state || task->on_cpu ||
	    !is_wait(state, in_iowait, task->flags) || !is_wanted(task, tid, task->tgid))
		return NULL;
	wait = make_wait(task, tid);
	if (!wait || wait->start)
		return wait;
	wait->tid = tid;
	wait->tgid = task->tgid;
	wait->flags = WAIT_ADOPTED | (in_iowait ? WAIT_FLAGGED : 0) |
		      (state & TASK_INTERRUPTIBLE ? WAIT_INTERRUPTIBLE : 0);
	if (needs_hint(wait))
		__sync_fetch_and_add(&hints[tid & (HINTS - 1)], 1);
	wait->start = ran_until(task, now);
	if (scheduler_clock)
		wait->run_delay = task->sched_info.run_delay;
	if (!wait->born)
		wait->born = wait->start;
	return wait;
}

SEC("iter/task")
int walk(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct thread_wait *wait;
	struct scratch *scratch;
	struct tally_record *record;
	__u64 now;
	__u32 size;

	if (!task)
		return 0;
	now = walk_now = walk_clock(ctx->meta->seq_num);
	if (!self_tgid)
		self_tgid = bpf_get_current_pid_tgid() >> 32;
	wait = find_wait(task, task->pid);
	if (!wait || (!wait->count && !wait->start))
		wait = adopt(task, now);
	if (!wait || (!wait->start && wait->count == wait->walked))
		return 0;
	scratch = this_scratch();
	if (!scratch)
		return 0;
	record = &scratch->tally;
	put_head(&record->head, RECORD_TALLY, sizeof(*record), task);
	bpf_probe_read_kernel(&record->wait, sizeof(record->wait), wait);
	record->now = now;
	record->state = task_state(task);
	if (scheduler_clock && record->wait.start)
		record->wait.woken = scheduler_woken(wait, task, now);
	record->has_site = 0;
	size = sizeof(*record) - sizeof(record->site);
	if (record->wait.start && record->wait.start != wait->told_start &&
	    record->now - record->wait.start >= slow_ns) {
		put_site(&record->site, task);
		record->has_site = 1;
		size = sizeof(*record);
	}
	record->head.size = size;
	/* On overflow the kernel shows the thread again, to an empty buffer. */
	if (bpf_seq_write(ctx->meta->seq, record, size))
		return 0;
	wait->walked = record->wait.count;
	wait->walked_ns = record->wait.sums[0].blocked_ns + record->wait.sums[1].blocked_ns +
			  record->wait.sums[2].blocked_ns + record->wait.sums[3].blocked_ns;
	if (record->has_site)
		wait->told_start = record->wait.start;
	return 0;
}

/* Thread ids as the reader's own pid namespace numbers them, for those it can see. */
SEC("iter/task")
int resolve(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task, *reader = bpf_get_current_task_btf();
	struct resolve_record record = {};
	struct pid *pid, *reader_pid;
	struct numbered_pid seen, mine;
	__u32 level;

	if (!task)
		return 0;
	pid = task->thread_pid;
	reader_pid = reader->thread_pid;
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
