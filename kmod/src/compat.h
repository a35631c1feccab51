/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One accessor for each difference between kernels. Kbuild finds out which form
 * the headers have.
 */
#ifndef IOWITNESS_COMPAT_H
#define IOWITNESS_COMPAT_H

#include <linux/kprobes.h>
#include <linux/proc_fs.h>
#include <linux/rcupdate.h>

#if !IS_ENABLED(CONFIG_KRETPROBES)
#error "this kernel has no return probes (CONFIG_KRETPROBES)"
#endif

/*
 * The pointer to the probe left the instance in 5.11 (d741bf41d7c7, "kprobes:
 * Remove kretprobe hash"), so that the probe can go while threads still sleep.
 */
static __always_inline struct kretprobe *instance_probe(struct kretprobe_instance *ri)
{
#ifdef HAVE_GET_KRETPROBE
	return get_kretprobe(ri);
#else
	return ri->rp;
#endif
}

/* proc files have a table of operations of their own since 5.6 (d56c0d45f0e2). */
#ifdef HAVE_PROC_OPS
#define PROC_FILE(name, open_, release_, write_)		\
	static const struct proc_ops name = {			\
		.proc_open = open_, .proc_release = release_,	\
		.proc_read = seq_read, .proc_lseek = seq_lseek,	\
		.proc_write = write_,				\
	}
typedef const struct proc_ops proc_file_ops;
#else
#define PROC_FILE(name, open_, release_, write_)		\
	static const struct file_operations name = {		\
		.open = open_, .release = release_,		\
		.read = seq_read, .llseek = seq_lseek,		\
		.write = write_,				\
	}
typedef const struct file_operations proc_file_ops;
#endif

/*
 * Waits until every handler that was running has ended. Handlers run with
 * preemption off, for which synchronize_rcu() waits since 4.20; before that
 * it took another function.
 */
static inline void wait_for_handlers(void)
{
#ifdef HAVE_SYNCHRONIZE_SCHED
	synchronize_sched();
#else
	synchronize_rcu();
#endif
}

#endif
