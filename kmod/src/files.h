/* SPDX-License-Identifier: GPL-2.0-only */
/* The files in /proc/iowitness, for root alone. */
#ifndef IOWITNESS_FILES_H
#define IOWITNESS_FILES_H

#include <linux/module.h>
#include <linux/uaccess.h>

#include "summary.h"

/* Both lists have a head at position 0, then a line for each process, then a foot. */

struct reading {
	u32 head;	/* lines */
	u32 lines;	/* of processes */
};

static loff_t used_from(loff_t pos)
{
	while (pos >= 1 && pos <= table.size && !process_used(pos - 1))
		pos++;
	return pos;
}

static void *list_at(loff_t pos)
{
	return pos <= table.size + 1 ? (void *)(unsigned long)(pos + 1) : NULL;
}

static u32 list_process(void *at)
{
	return (unsigned long)at - 2;
}

static void *list_start(struct seq_file *m, loff_t *pos)
{
	mutex_lock(&lock);
	waiting_survey(NO_PROCESS);
	*pos = used_from(*pos);
	return list_at(*pos);
}

static void *list_next(struct seq_file *m, void *at, loff_t *pos)
{
	struct reading *r = m->private;

	if (list_process(at) < table.size)
		r->lines++;
	*pos = used_from(*pos + 1);
	return list_at(*pos);
}

static void list_stop(struct seq_file *m, void *at)
{
	mutex_unlock(&lock);
}

static int waits_show(struct seq_file *m, void *at)
{
	struct reading *r = m->private;

	if (at == list_at(0))
		*r = (struct reading){ .head = put_head(m) };
	else if (list_process(at) < table.size)
		put_process(m, list_process(at));
	else
		put_foot(m, r->head + r->lines);
	return 0;
}

static int summary_show(struct seq_file *m, void *at)
{
	if (at == list_at(0))
		summary_head(m);
	else if (list_process(at) < table.size)
		summary_process(m, list_process(at));
	else
		summary_foot(m);
	return 0;
}

static const struct seq_operations waits_list = {
	.start = list_start, .next = list_next, .stop = list_stop, .show = waits_show,
};

static const struct seq_operations summary_list = {
	.start = list_start, .next = list_next, .stop = list_stop, .show = summary_show,
};

static int waits_open(struct inode *inode, struct file *file)
{
	return seq_open_private(file, &waits_list, sizeof(struct reading));
}

static int summary_open(struct inode *inode, struct file *file)
{
	return seq_open_private(file, &summary_list, sizeof(struct reading));
}

static int control_show(struct seq_file *m, void *unused)
{
	mutex_lock(&lock);
	gate_account();
	seq_puts(m, "iowitness-control 1\n");
	seq_printf(m, "gate %s\n", state.gate ? "open" : "closed");
	seq_printf(m, "ratio %u\n", rules.ratio);
	seq_printf(m, "min_ns %llu\n", rules.min_ns);
	seq_printf(m, "duty_on_ms %u\nduty_every_ms %u\n", state.duty_on_ms, state.duty_every_ms);
	seq_printf(m, "heartbeat_ms %u\n", state.heartbeat_ms);
	seq_printf(m, "heartbeat_age_ns %llu\n", state.accounted - min(state.accounted, state.beat_ns));
	seq_printf(m, "lapses %u\n", state.lapses);
	seq_printf(m, "looking %s\n", gate_expired() ? "heartbeat" : closed_names[rules.closed]);
	seq_printf(m, "epoch %u\n", rules.epoch);
	seq_printf(m, "processes %u\nprocesses_used %u\n", table.size, processes_used());
	seq_printf(m, "loaded_ns %llu\n", state.accounted - state.loaded);
	mutex_unlock(&lock);
	return 0;
}

/* Forgets all that was counted; waits in progress are given up. */
static void reset_all(void)
{
	u32 i, closed;

	gate_account();
	closed = rules.closed;
	WRITE_ONCE(rules.closed, CLOSED_GATE);
	wait_for_handlers();
	rules.generation++;
	waiting_reset();
	for (i = 0; i < table.size; i++)
		process_clear(i);
	memset(&table.ended, 0, sizeof(table.ended));
	table.ended_processes = 0;
	counters_reset();
	for (i = 0; i < ARRAY_SIZE(probes); i++) {
		probes[i].rp.nmissed = 0;
		probes[i].rp.kp.nmissed = 0;
	}
	memset(state.time, 0, sizeof(state.time));
	gate_open_clock();
	smp_wmb();
	WRITE_ONCE(rules.closed, closed);
}

#define RATIO_MOST 1000000
#define HEARTBEAT_MOST_MS 3600000
#define DUTY_MOST_MS 3600000
#define DUTY_LEAST_MS 10

static bool valid_duty(u32 on_ms, u32 every_ms)
{
	return (!on_ms && !every_ms) || (on_ms >= DUTY_LEAST_MS && every_ms <= DUTY_MOST_MS && every_ms > on_ms &&
					 every_ms - on_ms >= DUTY_LEAST_MS);
}

static int obey(char *line)
{
	u32 a, b;
	u64 ns;
	char end;

	if (!strcmp(line, "heartbeat"))
		gate_beat();
	else if (sscanf(line, "heartbeat %u%c", &a, &end) == 1) {
		gate_beat();
		WRITE_ONCE(rules.epoch, a);
	} else if (!strcmp(line, "gate open"))
		gate_set(true);
	else if (!strcmp(line, "gate closed"))
		gate_set(false);
	else if (sscanf(line, "ratio %u%c", &a, &end) == 1 && a >= 1 && a <= RATIO_MOST)
		WRITE_ONCE(rules.ratio, a);
	else if (sscanf(line, "min %llu%c", &ns, &end) == 1)
		WRITE_ONCE(rules.min_ns, ns);
	else if (sscanf(line, "duty %u %u%c", &a, &b, &end) == 2 && valid_duty(a, b))
		duty_set(a, b);
	else if (sscanf(line, "heartbeat_ms %u%c", &a, &end) == 1 && a <= HEARTBEAT_MOST_MS)
		gate_set_heartbeat(a);
	else if (!strcmp(line, "reap"))
		processes_reap();
	else if (!strcmp(line, "reset"))
		reset_all();
	else
		return -EINVAL;
	return 0;
}

static ssize_t control_write(struct file *file, const char __user *from, size_t size, loff_t *pos)
{
	char line[64];
	int err;

	if (size == 0 || size >= sizeof(line))
		return -EINVAL;
	if (copy_from_user(line, from, size))
		return -EFAULT;
	line[size] = '\0';
	if (line[size - 1] == '\n')
		line[size - 1] = '\0';
	mutex_lock(&lock);
	err = obey(line);
	mutex_unlock(&lock);
	return err ? err : size;
}

static unsigned long steered;

/*
 * One at a time may steer. It keeps the module as long as it holds the file, so that
 * a program that reads is not left without. Taking the module from within is
 * safe here, as removing the file waits for this call.
 */
static int control_open(struct inode *inode, struct file *file)
{
	bool steers = file->f_mode & FMODE_WRITE;
	int err;

	if (steers && test_and_set_bit(0, &steered))
		return -EBUSY;
	if (steers && !try_module_get(THIS_MODULE)) {
		clear_bit(0, &steered);
		return -ENODEV;
	}
	err = single_open(file, control_show, NULL);
	if (err && steers) {
		module_put(THIS_MODULE);
		clear_bit(0, &steered);
	}
	return err;
}

static int control_release(struct inode *inode, struct file *file)
{
	if (file->f_mode & FMODE_WRITE) {
		clear_bit(0, &steered);
		module_put(THIS_MODULE);
	}
	return single_release(inode, file);
}

PROC_FILE(waits_file, waits_open, seq_release_private, NULL);
PROC_FILE(summary_file, summary_open, seq_release_private, NULL);
PROC_FILE(control_file, control_open, control_release, control_write);

#define DIRECTORY "iowitness"

static struct proc_dir_entry *directory;

/* Waits for readers and writers that are on their way. */
static void files_close(void)
{
	proc_remove(directory);
}

static int files_open(void)
{
	directory = proc_mkdir_mode(DIRECTORY, 0500, NULL);
	if (!directory)
		return -ENOMEM;
	if (!proc_create("waits", 0400, directory, &waits_file) ||
	    !proc_create("summary", 0400, directory, &summary_file) ||
	    !proc_create("control", 0600, directory, &control_file)) {
		files_close();
		return -ENOMEM;
	}
	return 0;
}

#endif
