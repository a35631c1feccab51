// SPDX-License-Identifier: GPL-2.0-only
/*
 * iowitness: who waits for I/O, and how long, seen by return probes on the
 * functions that sleep for it. For kernels where BPF cannot do it.
 *
 * The files under /proc/iowitness tell what was seen; see report.h and summary.h.
 */
#include <linux/init.h>
#include <linux/module.h>

#include "files.h"

static uint maxactive;
module_param(maxactive, uint, 0444);
MODULE_PARM_DESC(maxactive, "returns that can be awaited at once, of each function (0: from the number of threads and CPUs)");

static uint processes = 4096;
module_param(processes, uint, 0444);
MODULE_PARM_DESC(processes, "size of the table of processes, rounded up to a power of two (64 to 65536)");

static char *functions = "";
module_param_named(probes, functions, charp, 0444);
MODULE_PARM_DESC(probes, "further functions to probe, separated by commas, such as jbd2_log_wait_commit");

static uint heartbeat_ms;
module_param(heartbeat_ms, uint, 0444);
MODULE_PARM_DESC(heartbeat_ms, "do nothing unless a heartbeat was written within this time (0: no heartbeat needed)");

static uint ratio = 1;
module_param(ratio, uint, 0444);
MODULE_PARM_DESC(ratio, "take one wait in so many");

static uint duty_on_ms;
module_param(duty_on_ms, uint, 0444);
MODULE_PARM_DESC(duty_on_ms, "look for this long in each duty_every_ms (0: always)");

static uint duty_every_ms;
module_param(duty_every_ms, uint, 0444);
MODULE_PARM_DESC(duty_every_ms, "length of the duty cycle");

static bool gate = true;
module_param(gate, bool, 0444);
MODULE_PARM_DESC(gate, "whether to look from the start");

/* Read by programs only: one that finds the module with this set, and held by nobody, may unload it. */
static bool transient;
module_param(transient, bool, 0444);
MODULE_PARM_DESC(transient, "loaded for one run of a program: a left-over if nobody holds its control file");

#define PROCESSES_LEAST 64
#define PROCESSES_MOST 65536

static int check_parameters(void)
{
	if (processes < PROCESSES_LEAST || processes > PROCESSES_MOST) {
		pr_err("iowitness: processes must be from %d to %d\n", PROCESSES_LEAST, PROCESSES_MOST);
		return -EINVAL;
	}
	if (maxactive > MAXACTIVE_MOST) {
		pr_err("iowitness: maxactive must be at most %d\n", MAXACTIVE_MOST);
		return -EINVAL;
	}
	if (ratio < 1 || ratio > RATIO_MOST || heartbeat_ms > HEARTBEAT_MOST_MS || !valid_duty(duty_on_ms, duty_every_ms)) {
		pr_err("iowitness: ratio, heartbeat_ms, duty_on_ms or duty_every_ms is out of bounds\n");
		return -EINVAL;
	}
	if (!maxactive)
		maxactive = maxactive_default();
	return 0;
}

static void close_tables(void)
{
	waiting_close();
	table_close();
	free_percpu(counters);
}

static int open_tables(void)
{
	int err = counters_open();

	if (!err)
		err = table_open(roundup_pow_of_two(processes));
	if (!err)
		err = waiting_open(maxactive);
	return err;
}

static void configure(void)
{
	mutex_lock(&lock);
	gate_open_clock();
	rules.ratio = ratio;
	gate_set_heartbeat(heartbeat_ms);
	duty_set(duty_on_ms, duty_every_ms);
	gate_set(gate);
	mutex_unlock(&lock);
}

/* The gate opens last: until then handlers do nothing, and nothing is half there. */
static int __init iowitness_load(void)
{
	int err = check_parameters();

	if (!err)
		err = probes_choose(functions);
	if (err)
		return err;
	err = open_tables();
	if (!err)
		err = probes_open(maxactive);
	if (!err)
		err = files_open();
	if (err) {
		probes_close();
		close_tables();
		return err;
	}
	configure();
	return 0;
}

static void __exit iowitness_unload(void)
{
	files_close();
	duty_stop();
	probes_close();
	close_tables();
}

module_init(iowitness_load);
module_exit(iowitness_unload);

MODULE_DESCRIPTION("Who waits for I/O, seen by return probes");
MODULE_VERSION(SOURCE_DIGEST);
MODULE_LICENSE("GPL");
