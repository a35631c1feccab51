/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * /proc/iowitness/waits, for programs: lines of words, the first of which names the
 * line. "iowitness kmod status" and the package kmod read it; its version changes
 * with its form.
 *
 *   iowitness-waits VERSION
 *   now NS                                   CLOCK_MONOTONIC, like all instants
 *   epoch N
 *   time open|gate|duty|heartbeat NS         since load: looked at, or not for this reason
 *   closed gate|duty|heartbeat COUNT         entries that were not looked at
 *   probe NAME flagged|unflagged ERROR MAXACTIVE ENTRIES RETURNS SKIPPED NESTED MISSED RECURSED
 *   loss ID COUNT NS
 *   cost RUNS TIMED NS MAX                   of handlers; one in 64 is timed
 *   process TGID PPID BORN alive|ended "COMM" NOW COUNTS WAITING OLDEST flagged|unflagged SLOT:COUNT...
 *   ended PROCESSES COUNTS SLOT:COUNT...     processes that gave their places away
 *   end LINES
 *
 * COUNTS are ENTRIES, COUNT and NS of flagged waits, COUNT and NS of unflagged ones,
 * COUNT and NS of those that did not wait, COUNT below the minimum, MAX in NS, and
 * for two epochs EPOCH and MAX in NS.
 */
#ifndef IOWITNESS_REPORT_H
#define IOWITNESS_REPORT_H

#include <linux/seq_file.h>

#include "probes.h"

#define WAITS_VERSION 1

/* Names come from hostile processes: what is not plain is told in octal. */
static void put_name(struct seq_file *m, const char *name, size_t size)
{
	size_t i;

	seq_putc(m, '"');
	for (i = 0; i < size && name[i]; i++) {
		if (name[i] > ' ' && name[i] < 0x7f && name[i] != '"' && name[i] != '\\')
			seq_putc(m, name[i]);
		else
			seq_printf(m, "\\%03o", (u8)name[i]);
	}
	seq_putc(m, '"');
}

static void put_counts(struct seq_file *m, struct tally *t)
{
	u32 i;
	u64 v;

	seq_printf(m, " %llu", (u64)atomic64_read(&t->entries));
	for (i = 2; i-- > 0;)
		seq_printf(m, " %llu %llu", (u64)atomic64_read(&t->sums[i].count), (u64)atomic64_read(&t->sums[i].ns));
	seq_printf(m, " %llu %llu %llu %llu",
		   (u64)atomic64_read(&t->not_waited.count), (u64)atomic64_read(&t->not_waited.ns),
		   (u64)atomic64_read(&t->below_min), (u64)atomic64_read(&t->max_ns));
	for (i = 0; i < 2; i++) {
		v = atomic64_read(&t->epoch_max[i]);
		seq_printf(m, " %llu %llu", v >> EPOCH_NS_BITS, v & EPOCH_NS_MAX);
	}
}

static void put_slots(struct seq_file *m, struct tally *t)
{
	u64 n;
	u32 i;

	for (i = 0; i < HIST_SLOTS; i++) {
		n = atomic64_read(&t->hist[i]);
		if (n)
			seq_printf(m, " %u:%llu", i, n);
	}
}

static u32 put_probes(struct seq_file *m)
{
	u32 i, lines = 0;
	size_t at;

	for (i = 0; i < ARRAY_SIZE(probes); i++) {
		if (!probes[i].wanted)
			continue;
		at = offsetof(struct counters, probes) + i * sizeof(struct probe_count);
		/* The kernel adds to nmissed without a lock: two misses at the same instant may count as one. */
		seq_printf(m, "probe %s %s %d %d %llu %llu %llu %llu %u %lu\n",
			   targets[i].name, targets[i].flagged ? "flagged" : "unflagged", probes[i].error,
			   probes[i].rp.maxactive,
			   counters_sum(at + offsetof(struct probe_count, entries)),
			   counters_sum(at + offsetof(struct probe_count, returns)),
			   counters_sum(at + offsetof(struct probe_count, skipped)),
			   counters_sum(at + offsetof(struct probe_count, nested)),
			   (u32)READ_ONCE(probes[i].rp.nmissed), READ_ONCE(probes[i].rp.kp.nmissed));
		lines++;
	}
	return lines;
}

static u32 put_losses(struct seq_file *m)
{
	size_t at;
	u32 i;

	for (i = 0; i < LOSSES; i++) {
		at = offsetof(struct counters, losses) + i * sizeof(struct loss_count);
		seq_printf(m, "loss %s %llu %llu\n", loss_names[i],
			   counters_sum(at + offsetof(struct loss_count, count)),
			   counters_sum(at + offsetof(struct loss_count, ns)));
	}
	return LOSSES;
}

/* The lines above those of processes; their number, the first one included. */
static u32 put_head(struct seq_file *m)
{
	u32 i, lines = 4;

	gate_account();
	seq_printf(m, "iowitness-waits %d\nnow %llu\nepoch %u\n", WAITS_VERSION, clock_ns(), rules.epoch);
	for (i = 0; i < CLOSED_KINDS; i++, lines++)
		seq_printf(m, "time %s %llu\n", closed_names[i], state.time[i]);
	for (i = OPEN + 1; i < CLOSED_KINDS; i++, lines++)
		seq_printf(m, "closed %s %llu\n", closed_names[i],
			   counters_sum(offsetof(struct counters, closed) + i * sizeof(u64)));
	lines += put_probes(m);
	lines += put_losses(m);
	seq_printf(m, "cost %llu %llu %llu %llu\n", COUNTERS_SUM(runs), COUNTERS_SUM(metered),
		   COUNTERS_SUM(metered_ns), counters_metered_max());
	return lines;
}

/* A reader's sum of one process: too large for the stack, and guarded by the mutex. */
static struct tally shown;

static void put_process(struct seq_file *m, u32 i)
{
	struct process *p = &table.processes[i];
	struct in_progress in_progress;
	bool alive = process_alive(p);

	memset(&shown, 0, sizeof(shown));
	process_sum(&shown, i);
	in_progress = waiting_of(i);
	seq_printf(m, "process %u %u %llu %s ", p->tgid, p->ppid, p->born, alive ? "alive" : "ended");
	put_name(m, p->comm[smp_load_acquire(&p->named) & 1], TASK_COMM_LEN);
	seq_printf(m, " %llu", clock_ns());
	put_counts(m, &shown);
	seq_printf(m, " %u %llu %s", in_progress.count, in_progress.oldest, in_progress.flagged ? "flagged" : "unflagged");
	put_slots(m, &shown);
	seq_putc(m, '\n');
	if (!alive)
		WRITE_ONCE(p->told_ended, true);
}

static void put_foot(struct seq_file *m, u32 lines)
{
	seq_printf(m, "ended %llu", table.ended_processes);
	put_counts(m, &table.ended);
	put_slots(m, &table.ended);
	seq_printf(m, "\nend %u\n", lines + 2);
}

#endif
