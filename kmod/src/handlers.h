/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What may be probed, and what happens at entry and return. A handler runs with
 * preemption off in the thread that waits. It allocates nothing, takes no lock
 * and prints nothing.
 */
#ifndef IOWITNESS_HANDLERS_H
#define IOWITNESS_HANDLERS_H

#include "compat.h"
#include "waiting.h"

/*
 * What may be probed: functions whose job is to sleep, in the context of the
 * thread that waits, and that no handler calls. Spin locks, the scheduler's inner
 * functions and whatever an interrupt can enter are not among them, and cannot
 * be asked for. Of functions that nest, the outermost is the wait.
 */
static const struct target {
	const char *name;
	bool flagged;	/* in_iowait is set within: the kernel calls it iowait */
	bool always;
	bool nests;	/* it calls another one of these */
} targets[] = {
	{ "io_schedule", .flagged = true, .always = true },
	{ "io_schedule_timeout", .flagged = true, .always = true },
	{ "bit_wait_io", .flagged = true, .nests = true },
	{ "wait_for_completion_io", .flagged = true, .nests = true },
	{ "wait_for_completion_io_timeout", .flagged = true, .nests = true },
	{ "mutex_lock_io", .flagged = true, .nests = true },
	{ "blkcg_maybe_throttle_current", .flagged = true },
	{ "io_cqring_wait", .flagged = true },
	{ "jbd2_log_wait_commit" },
	{ "wait_transaction_locked" },
	{ "wb_wait_for_completion" },
	{ "inode_wait_for_writeback" },
	{ "inode_dio_wait" },
	{ "reclaim_throttle" },
	{ "rwsem_down_read_slowpath" },
	{ "rwsem_down_write_slowpath" },
	{ "__mutex_lock_slowpath" },
	{ "percpu_rwsem_wait" },
	{ "blk_queue_enter" },
	{ "__bio_queue_enter" },
	{ "rpc_wait_bit_killable" },
	{ "nfs_wait_bit_killable" },
	{ "request_wait_answer" },
	{ "xlog_wait_on_iclog" },
	{ "xlog_grant_head_wait" },
	{ "xfs_buf_iowait" },
};

static_assert(ARRAY_SIZE(targets) <= MAX_PROBES);

static struct probe {
	struct kretprobe rp;
	bool wanted;
	bool registered;
	int error;
} probes[ARRAY_SIZE(targets)];

#define NOT_TAKEN (-2)	/* as a process: the sampling ratio left the wait out */

/* What an instance carries from the entry to the return of one wait. */
struct wait {
	u64 start;
	u32 nvcsw;
	u32 tid;
	s32 process;
	s32 place;		/* in the list of waits in progress */
	u32 generation;
};

static __always_inline u32 probe_index(struct kretprobe_instance *ri)
{
	return container_of(instance_probe(ri), struct probe, rp) - probes;
}

/* Whether the handler goes on to be called at the function's return: 0 if so. */
static __always_inline int enter(struct kretprobe_instance *ri, struct pt_regs *regs, u32 probe)
{
	struct wait *w = (struct wait *)ri->data;

	if (!rules.nests && gate_skips()) {
		this_cpu_inc(counters->probes[probe].skipped);
		return 1;
	}
	w->place = waiting_claim(kernel_stack_pointer(regs));
	if (unlikely(w->place == WAITING_NESTED)) {
		this_cpu_inc(counters->probes[probe].nested);
		return 1;
	}
	w->generation = rules.generation;
	w->tid = current->pid;
	w->nvcsw = current->nvcsw;
	/* One that is left out still has to hide what nests in it. */
	if (rules.nests && gate_skips()) {
		this_cpu_inc(counters->probes[probe].skipped);
		w->process = NOT_TAKEN;
		return 0;
	}
	this_cpu_inc(counters->probes[probe].entries);
	w->process = process_find();
	if (likely(w->process >= 0))
		atomic64_inc(&process_tally(w->process)->entries);
	if (unlikely(w->place == WAITING_FULL))
		count_loss(LOSS_WAITING_FULL, 0);
	w->start = clock_ns();
	waiting_start(w->place, w->process, targets[probe].flagged, w->start);
	return 0;
}

static __always_inline void leave(struct kretprobe_instance *ri, u32 probe, u64 now)
{
	struct wait *w = (struct wait *)ri->data;
	struct tally *t;
	u64 start, ns;

	/* The kernel pairs returns with entries by the thread's stack: another thread's would be its error. */
	if (unlikely(w->tid != (u32)current->pid)) {
		count_loss(LOSS_UNPAIRED, 0);
		return;
	}
	waiting_release(w->place);
	if (w->process == NOT_TAKEN)
		return;
	if (unlikely(gate_closed() || w->generation != rules.generation)) {
		count_loss(LOSS_GIVEN_UP, now > w->start ? now - w->start : 0);
		return;
	}
	this_cpu_inc(counters->probes[probe].returns);
	/* Of a wait that began before the gate was opened, only the part since then is looked at. */
	start = max(w->start, READ_ONCE(rules.opened));
	ns = now - start;
	if (unlikely(now < start)) {
		ns = 0;
		count_loss(LOSS_CLOCK, start - now);
	}
	if (unlikely(w->process < 0)) {
		count_loss(LOSS_TABLE_FULL, ns);
		return;
	}
	process_name(&table.processes[w->process], current->group_leader);
	t = process_tally(w->process);
	/* nvcsw grows when a thread gives up its CPU of its own accord: else what it came for was there already. */
	if ((u32)current->nvcsw == w->nvcsw) {
		atomic64_inc(&t->not_waited.count);
		atomic64_add(ns, &t->not_waited.ns);
	} else if (unlikely(ns < rules.min_ns)) {
		atomic64_inc(&t->below_min);
	} else {
		tally_wait(t, targets[probe].flagged, ns);
	}
}

#define METER_EVERY 64

/* Whether this run of a handler is timed. */
static __always_inline bool meter_starts(void)
{
	return (this_cpu_inc_return(counters->runs) & (METER_EVERY - 1)) == 0;
}

static __always_inline void meter_stop(u64 began)
{
	struct counters *c = this_cpu_ptr(counters);
	u64 now = clock_ns(), ns = now > began ? now - began : 0;

	c->metered++;
	c->metered_ns += ns;
	if (ns > c->metered_max)
		c->metered_max = ns;
}

static notrace int on_entry(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	enum closed closed = gate_closed();
	u64 began;
	int result;

	if (unlikely(closed)) {
		this_cpu_inc(counters->closed[closed]);
		return 1;
	}
	if (likely(!meter_starts()))
		return enter(ri, regs, probe_index(ri));
	began = clock_ns();
	result = enter(ri, regs, probe_index(ri));
	meter_stop(began);
	return result;
}
NOKPROBE_SYMBOL(on_entry);

static notrace int on_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	u64 now = clock_ns();

	leave(ri, probe_index(ri), now);
	if (unlikely(meter_starts()))
		meter_stop(now);
	return 0;
}
NOKPROBE_SYMBOL(on_return);

#endif
