/* SPDX-License-Identifier: GPL-2.0-only */
/* /proc/iowitness/summary: the same for a person with nothing but cat. */
#ifndef IOWITNESS_SUMMARY_H
#define IOWITNESS_SUMMARY_H

#include <linux/math64.h>

#include "report.h"

/* The upper bound of the slot that holds a quantile, but no more than the longest wait, in ns. */
static u64 tally_quantile(struct tally *t, u32 percent)
{
	u64 count = atomic64_read(&t->sums[0].count) + atomic64_read(&t->sums[1].count);
	u64 rank = div_u64(count * percent + 99, 100), longest = atomic64_read(&t->max_ns), n;
	u32 i;

	for (i = 0; i < HIST_SLOTS; i++) {
		n = atomic64_read(&t->hist[i]);
		if (n >= rank)
			return i == HIST_SLOTS - 1 ? longest : min(hist_end(i), longest);
		rank -= n;
	}
	return longest;
}

/* Milliseconds with three digits behind the point, at the right of a column. */
static void put_ms(struct seq_file *m, u64 ns, int width)
{
	u64 us = div_u64(ns, 1000);
	u32 rest;
	u64 ms = div_u64_rem(us, 1000, &rest);

	seq_printf(m, " %*llu.%03u", width - 4, ms, rest);
}

static void summary_head(struct seq_file *m)
{
	u64 second = NSEC_PER_SEC, looked;

	gate_account();
	looked = state.time[OPEN];
	seq_printf(m, "Who waits for I/O, seen at entry and return of the functions that sleep for it.\n"
		   "Time is in milliseconds, as of entry to return: it includes the wait for a CPU after the wake-up.\n"
		   "Looked at for %llu s of %llu s since load", div64_u64(looked, second),
		   div64_u64(state.accounted - state.loaded, second));
	if (rules.ratio > 1)
		seq_printf(m, "; one wait in %u is taken, at random: multiply", rules.ratio);
	if (rules.min_ns)
		seq_printf(m, "; waits below %llu ns are left out", rules.min_ns);
	seq_puts(m, ".\n\n"
		 "PID      process id\n"
		 "WAITS    waits that ended: the thread gave up its CPU and came back\n"
		 "TOTAL MAX P50 P99   of their time; the last two at most a quarter too high\n"
		 "NOT      calls that returned at once: what they came for was there already; not in WAITS\n"
		 "NOW OLDEST   waits in progress, and the age of the oldest one; not in TOTAL\n"
		 "COMMAND  name of the process; + has ended. What is not plain in it is told in octal.\n\n"
		 "     PID      WAITS          TOTAL          MAX          P50          P99      NOT   NOW       OLDEST  COMMAND\n");
}

static void summary_process(struct seq_file *m, u32 i)
{
	struct process *p = &table.processes[i];
	struct in_progress in_progress;
	bool alive = process_alive(p);
	u64 now;

	memset(&shown, 0, sizeof(shown));
	process_sum(&shown, i);
	in_progress = waiting_of(i);
	now = clock_ns();
	seq_printf(m, "%8u %10llu", p->tgid, (u64)atomic64_read(&shown.sums[0].count) + atomic64_read(&shown.sums[1].count));
	put_ms(m, atomic64_read(&shown.sums[0].ns) + atomic64_read(&shown.sums[1].ns), 14);
	put_ms(m, atomic64_read(&shown.max_ns), 12);
	put_ms(m, tally_quantile(&shown, 50), 12);
	put_ms(m, tally_quantile(&shown, 99), 12);
	seq_printf(m, " %8llu %5u", (u64)atomic64_read(&shown.not_waited.count), in_progress.count);
	put_ms(m, in_progress.oldest && now > in_progress.oldest ? now - in_progress.oldest : 0, 12);
	seq_printf(m, "  ");
	put_name(m, p->comm[smp_load_acquire(&p->named) & 1], TASK_COMM_LEN);
	seq_puts(m, alive ? "\n" : " +\n");
}

static void summary_foot(struct seq_file *m)
{
	u64 timed = COUNTERS_SUM(metered), missed = 0, skipped = 0, losses = 0;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(probes); i++) {
		missed += (u32)READ_ONCE(probes[i].rp.nmissed) + READ_ONCE(probes[i].rp.kp.nmissed);
		skipped += counters_sum(offsetof(struct counters, probes[0].skipped) + i * sizeof(struct probe_count));
	}
	for (i = 0; i < LOSSES; i++)
		losses += counters_sum(offsetof(struct counters, losses) + i * sizeof(struct loss_count));
	seq_printf(m, "\nmissed: %llu calls, as no return instance was free (parameter maxactive)\n", missed);
	seq_printf(m, "left out: %llu by the ratio, %llu while the gate was closed, %llu in pauses of the duty cycle, %llu without a heartbeat\n",
		   skipped, COUNTERS_SUM(closed[CLOSED_GATE]), COUNTERS_SUM(closed[CLOSED_DUTY]),
		   COUNTERS_SUM(closed[CLOSED_HEARTBEAT]));
	seq_printf(m, "lost otherwise: %llu, of which %llu for want of a place in the table of %u processes (parameter processes; \"reap\" frees places)\n",
		   losses, COUNTERS_SUM(losses[LOSS_TABLE_FULL].count), table.size);
	seq_printf(m, "cost: %llu runs of handlers, %llu ns each (one in %u is timed), without the kernel's own part of a probe\n",
		   COUNTERS_SUM(runs), timed ? div64_u64(COUNTERS_SUM(metered_ns), timed) : 0, METER_EVERY);
}

#endif
