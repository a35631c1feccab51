// SPDX-License-Identifier: GPL-2.0-only
/*
 * Threads that read a disk all the time, through the page cache, of which they take back what
 * they have read: for tests of a load that is high for waits alone.
 */
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/pagemap.h>
#include <linux/slab.h>

#define MOST 64

static char *disk = "";
module_param(disk, charp, 0444);
MODULE_PARM_DESC(disk, "node of the block device");
static unsigned int threads = 8;
module_param(threads, uint, 0444);
MODULE_PARM_DESC(threads, "that read, 64 at most");

static struct task_struct *readers[MOST];
static struct file *file;
static bool ending; /* so that all end at once, not one after the other */

static int iw_reader_thread(void *number)
{
	/* Each has 4 MiB of its own, so that none waits for what another one reads. */
	loff_t begin = (loff_t)(unsigned long)number << 22, at = begin;
	char *buffer = kmalloc(PAGE_SIZE, GFP_KERNEL);

	msleep_interruptible(40 * (unsigned long)number); /* not all at the same time */
	while (!kthread_should_stop()) {
		loff_t pos = at;

		if (READ_ONCE(ending)) {
			msleep_interruptible(10);
			continue;
		}
		if (!buffer || kernel_read(file, buffer, PAGE_SIZE, &pos) <= 0)
			msleep_interruptible(100);
		invalidate_mapping_pages(file->f_mapping, at >> PAGE_SHIFT, at >> PAGE_SHIFT);
		at += PAGE_SIZE;
		if (at == begin + (1 << 22))
			at = begin;
	}
	kfree(buffer);
	return 0;
}

static void iw_reader_end(void)
{
	unsigned int i;

	WRITE_ONCE(ending, true);
	for (i = 0; i < MOST; i++)
		if (readers[i])
			kthread_stop(readers[i]);
	filp_close(file, NULL);
}

static int __init iw_reader_init(void)
{
	unsigned long i;

	if (threads > MOST)
		return -EINVAL;
	file = filp_open(disk, O_RDONLY | O_LARGEFILE, 0);
	if (IS_ERR(file))
		return PTR_ERR(file);
	file->f_mode |= FMODE_RANDOM; /* no read-ahead */
	for (i = 0; i < threads; i++) {
		struct task_struct *reader = kthread_run(iw_reader_thread, (void *)i, "iw_reader/%lu", i);

		if (IS_ERR(reader)) {
			iw_reader_end();
			return PTR_ERR(reader);
		}
		readers[i] = reader;
	}
	return 0;
}

static void __exit iw_reader_exit(void)
{
	iw_reader_end();
}

module_init(iw_reader_init);
module_exit(iw_reader_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("reads a disk all the time, for tests");
