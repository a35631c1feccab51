/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Samples of what runs. The clock of a CPU cannot interrupt it while interrupts are off:
 * the sample that is late tells for how long, and where they are on again. Of a CPU that
 * was idle a late sample tells nothing: some stop the clock.
 */
#ifndef IOWITNESS_CPU_H
#define IOWITNESS_CPU_H

#include "compat.h"
#include "profile.h"

const volatile __u64 period_ns = 0;	/* between samples of a CPU; 0: they do not come by time */
const volatile __u64 sample_ns = 0;	/* what a sample stands for */

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct prof_cpu);
} cpus SEC(".maps");

struct prof_gaps {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, struct prof_gap_key);
	__type(value, struct prof_gap);
} gaps_even SEC(".maps"), gaps_odd SEC(".maps");

static const struct prof_gap no_gap = {};

SUBPROGRAM int add_gap(struct prof_gap_key *key, __u64 ns, __u64 missed, __u64 now, struct prof_sum *names)
{
	void *gaps = epoch & 1 ? (void *)&gaps_odd : (void *)&gaps_even;
	struct prof_gap *gap = bpf_map_lookup_elem(gaps, key);

	if (!gap) {
		bpf_map_update_elem(gaps, key, &no_gap, BPF_NOEXIST);
		gap = bpf_map_lookup_elem(gaps, key);
		if (!gap) {
			lose(LOSS_PROF_GAPS, missed, ns);
			return 0;
		}
		__builtin_memcpy(gap->comm, names->comm, COMM_BYTES);
	}
	gap->count++;
	gap->ns += ns;
	gap->missed += missed;
	if (ns > gap->max_ns)
		gap->max_ns = ns;
	gap->last = now;
	return 0;
}

/* Where a CPU's account of its idle time lies, as seen from its run queue, in ns; 0: not known. */
const volatile __s64 idle_from_rq = 0, iowait_from_rq = 0;

/* For how long a CPU has been idle; the interrupt that samples it has ended what it was. */
INLINE __u64 idle_time(struct rq *rq)
{
	__u64 idle = 0, iowait = 0;

	if (!idle_from_rq || !rq || bpf_probe_read_kernel(&idle, sizeof(idle), (void *)rq + idle_from_rq) ||
	    bpf_probe_read_kernel(&iowait, sizeof(iowait), (void *)rq + iowait_from_rq))
		return 0;
	return idle + iowait;
}

/* How many samples were due in such a time, but the one that ends it. */
INLINE __u64 samples_due(__u64 ns)
{
	__u64 due = (ns + period_ns / 4) / period_ns;

	return due > 1 ? due - 1 : 0;
}

struct late {
	__u64 missed;		/* samples that should have been taken since the last one, but this */
	bool at_once;		/* in one stretch of time, which this one ends */
};

/*
 * What a CPU missed while it was busy. If it was idle for longer than a period without being
 * sampled, its clock stops then, and it may have been busy for many short times.
 */
INLINE struct late note_sample(struct prof_cpu *cpu, struct task_struct *task, __u64 now)
{
	__u64 last = cpu->last, idle = cpu->idle_ns, ends = cpu->idle_ends, due;
	struct rq *rq = run_queue_of(task);
	struct late late = {};

	cpu->last = now;
	cpu->idle_ns = idle_time(rq);
	cpu->idle_ends = BPF_CORE_READ(rq, idle, nivcsw);
	idle = cpu->idle_ns > idle ? cpu->idle_ns - idle : 0;
	ends = cpu->idle_ends - ends;
	if (cpu->generation != generation) {
		cpu->generation = generation; /* it was offline, or the gate was closed */
		return late;
	}
	if (!period_ns || !last || now < last)
		return late;
	due = samples_due(now - last);
	late.missed = now - last > idle ? samples_due(now - last - idle) : 0;
	late.at_once = ends <= 1 || !idle_from_rq || idle <= period_ns + period_ns / 4;
	cpu->rested += due - late.missed;
	return late;
}

/* A sample's context begins with the registers of what was interrupted, on x86-64. */
struct sample_context {
	__u64 registers[17];
	__u64 cs;
};

INLINE void sample(struct sample_context *ctx)
{
	struct task_struct *task = this_task();
	struct prof_sum names = {};
	struct prof_key key = {};
	struct prof_cpu *cpu;
	struct late late;
	bool gap;
	__u64 id, now;
	__u32 zero = 0;

	cpu = bpf_map_lookup_elem(&cpus, &zero);
	if (!cpu || !epoch)
		return;
	now = bpf_ktime_get_ns();
	if (!is_heard(now))
		return;
	late = note_sample(cpu, task, now);
	cpu->missed += late.missed;
	cpu->gap_ns += late.missed * period_ns;
	gap = late.missed && late.at_once;
	cpu->samples++;
	id = bpf_get_current_pid_tgid();
	key.tid = id;
	key.tgid = id >> 32;
	if (!key.tid)
		cpu->idle++;
	if (!key.tid && !gap)
		return;
	if (key.tid && !is_wanted(task, key.tid, key.tgid)) {
		cpu->left_out++;
		if (!gap)
			return;
		key.tid |= 1U << 31; /* not counted below */
	}
	if (with_stacks) {
		key.user = take_user_stack(ctx, task);
		key.kernel = take_kernel_stack(ctx, ctx->cs & 3 ? PROF_NONE : PROF_NOT_KERNEL);
	} else {
		key.kernel = PROF_SHED;
	}
	BPF_CORE_READ_STR_INTO(&names.comm, task, comm);
	if (gap) {
		struct prof_gap_key where = {
			.kernel = key.kernel, .user = key.user, .tgid = key.tgid,
			.tid = key.tid & ~(1U << 31), .cpu = bpf_get_smp_processor_id(),
		};

		cpu->gaps++;
		add_gap(&where, late.missed * period_ns, late.missed, now, &names);
	}
	if (!key.tid || key.tid & 1U << 31)
		return;
	meet_process(task, key.tgid, now);
	names.max_ns = sample_ns;
	names.last = now;
	add_sum(&key, 1, sample_ns, &names);
}

#endif
