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

/* For how long this CPU has been idle; the interrupt that samples it has ended what it was. */
INLINE __u64 idle_time(struct task_struct *current)
{
	__u64 idle = 0, iowait = 0;
	struct rq *rq;

	if (!idle_from_rq)
		return 0;
	rq = run_queue_of(current);
	if (!rq || bpf_probe_read_kernel(&idle, sizeof(idle), (void *)rq + idle_from_rq) ||
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

/* How many samples should have been taken since the last one, but this. */
INLINE __u64 missed_samples(struct prof_cpu *cpu, __u64 now, __u64 idle_ns)
{
	__u64 last = cpu->last, idle = 0, due, missed;

	if (idle_ns > cpu->idle_ns)
		idle = idle_ns - cpu->idle_ns;
	cpu->last = now;
	cpu->idle_ns = idle_ns;
	if (cpu->generation != generation) {
		cpu->generation = generation; /* it was offline, or the gate was closed */
		return 0;
	}
	if (!period_ns || !last || now < last)
		return 0;
	due = samples_due(now - last);
	missed = now - last > idle ? samples_due(now - last - idle) : 0;
	cpu->rested += due - missed;
	return missed;
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
	__u64 id, now, missed;
	struct prof_cpu *cpu;
	__u32 zero = 0;

	cpu = bpf_map_lookup_elem(&cpus, &zero);
	if (!cpu || !epoch)
		return;
	now = bpf_ktime_get_ns();
	if (!is_heard(now))
		return;
	missed = missed_samples(cpu, now, idle_time(task));
	cpu->samples++;
	id = bpf_get_current_pid_tgid();
	key.tid = id;
	key.tgid = id >> 32;
	if (!key.tid)
		cpu->idle++;
	if (!key.tid && !missed)
		return;
	if (key.tid && !is_wanted(task, key.tid, key.tgid)) {
		cpu->left_out++;
		if (!missed)
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
	if (missed) {
		struct prof_gap_key gap = {
			.kernel = key.kernel, .user = key.user, .tgid = key.tgid,
			.tid = key.tid & ~(1U << 31), .cpu = bpf_get_smp_processor_id(),
		};

		cpu->gaps++;
		cpu->missed += missed;
		cpu->gap_ns += missed * period_ns;
		add_gap(&gap, missed * period_ns, missed, now, &names);
	}
	if (!key.tid || key.tid & 1U << 31)
		return;
	meet_process(task, key.tgid, now);
	names.max_ns = sample_ns;
	names.last = now;
	add_sum(&key, 1, sample_ns, &names);
}

#endif
