/* SPDX-License-Identifier: GPL-2.0-only */
/* The return probes: how many instances, which functions, and how they go again. */
#ifndef IOWITNESS_PROBES_H
#define IOWITNESS_PROBES_H

#include <linux/sched/signal.h>

#include "handlers.h"

/*
 * How many returns can be awaited at once. The kernel's own choice, twice the
 * CPUs, is made for functions that run to their end on a CPU: so many can be in
 * one at a time. A function that sleeps holds its instance while others run, so
 * any number of threads is in it at once, and each one above the limit is missed.
 * All threads of now may wait at once, when a disk or a server hangs; room for new
 * ones grows with CPUs, and with the threads that are already stuck, of which
 * more follow. An instance takes some 100 bytes.
 */
#define MAXACTIVE_LEAST 1024
#define MAXACTIVE_DEFAULT_MOST 16384
#define MAXACTIVE_MOST 65536
#define MAXACTIVE_EACH_CPU 64

static u32 maxactive_default(void)
{
	struct task_struct *process, *thread;
	u32 threads = 0, stuck = 0;

	rcu_read_lock();
	for_each_process_thread(process, thread) {
		threads++;
		stuck += task_state_to_char(thread) == 'D';
	}
	rcu_read_unlock();
	return clamp_t(u32, threads + 4 * stuck + MAXACTIVE_EACH_CPU * num_possible_cpus(),
		       MAXACTIVE_LEAST, MAXACTIVE_DEFAULT_MOST);
}

static void probes_want(u32 i, bool wanted)
{
	probes[i].wanted = wanted;
	if (wanted && targets[i].nests)
		rules.nests = true;
}

/* Marks the functions to probe; names are separated by commas. */
static int probes_choose(const char *extra)
{
	size_t length;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(targets); i++)
		probes_want(i, targets[i].always);
	for (; *extra; extra += length + (extra[length] == ',')) {
		length = strcspn(extra, ",");
		for (i = 0; i < ARRAY_SIZE(targets); i++)
			if (strlen(targets[i].name) == length && !strncmp(targets[i].name, extra, length))
				break;
		if (i == ARRAY_SIZE(targets)) {
			pr_err("iowitness: %.*s is not among the functions that may be probed\n", (int)length, extra);
			return -EINVAL;
		}
		probes_want(i, true);
	}
	return 0;
}

/*
 * When a probe goes, threads still sleep in its function, with the kernel's
 * trampoline as their return address. The kernel keeps their instances, not
 * the module:
 *  - up to 5.10, unregistering clears ri->rp of each instance in use, under the
 *    lock that the trampoline holds while it calls a handler;
 *  - from 5.11 on it clears the holder's pointer to the probe, and from 5.19 (on
 *    x86) the rethook's handler; the trampoline reads either with preemption off,
 *    and unregistering waits a grace period.
 * Whoever returns later finds no handler, goes back to its caller through kernel
 * text alone, and frees the instance there. So after this, no code of the
 * module runs any more and its tables can go, however long the sleepers sleep.
 */
static void probes_close(void)
{
	struct kretprobe *all[ARRAY_SIZE(probes)];
	u32 i, n = 0;

	for (i = 0; i < ARRAY_SIZE(probes); i++)
		if (probes[i].registered)
			all[n++] = &probes[i].rp;
	if (n)
		unregister_kretprobes(all, n);
	wait_for_handlers();
}

/* A function that this kernel does not have, or has inlined, is left out; only the two main ones have to be there. */
static int probes_open(u32 maxactive)
{
	struct probe *p;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(probes); i++) {
		p = &probes[i];
		if (!p->wanted)
			continue;
		p->rp.kp.symbol_name = targets[i].name;
		p->rp.entry_handler = on_entry;
		p->rp.handler = on_return;
		p->rp.data_size = sizeof(struct wait);
		p->rp.maxactive = maxactive;
		p->error = register_kretprobe(&p->rp);
		p->registered = !p->error;
		if (p->error && targets[i].always) {
			pr_err("iowitness: no return probe on %s: error %d\n", targets[i].name, p->error);
			return p->error;
		}
	}
	return 0;
}

#endif
