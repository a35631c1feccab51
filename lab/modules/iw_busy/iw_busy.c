// SPDX-License-Identifier: GPL-2.0-only
/*
 * A thread that keeps its CPU busy in the kernel for some time of each cycle, with
 * preemption or with interrupts off: for tests of what finds it.
 */
#include <linux/err.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/module.h>

static unsigned int busy_ms = 300;
module_param(busy_ms, uint, 0444);
MODULE_PARM_DESC(busy_ms, "busy for so long");
static unsigned int rest_ms = 700;
module_param(rest_ms, uint, 0444);
MODULE_PARM_DESC(rest_ms, "and then asleep");
static unsigned int cpu = 1;
module_param(cpu, uint, 0444);
MODULE_PARM_DESC(cpu, "on this CPU");
static bool irqs_off;
module_param(irqs_off, bool, 0444);
MODULE_PARM_DESC(irqs_off, "with interrupts off, else only preemption");

static struct task_struct *worker;

static noinline void iw_busy_spin(u64 ns)
{
	/* Not local_clock(): where the TSC is unstable it stops a tick after interrupts went off. */
	u64 until = ktime_get_ns() + ns;

	while (ktime_get_ns() < until)
		cpu_relax();
}

static noinline void iw_busy_once(void)
{
	u64 ns = (u64)busy_ms * NSEC_PER_MSEC;

	if (irqs_off) {
		local_irq_disable();
		iw_busy_spin(ns);
		local_irq_enable();
	} else {
		preempt_disable();
		iw_busy_spin(ns);
		preempt_enable();
	}
}

static int iw_busy_thread(void *unused)
{
	while (!kthread_should_stop()) {
		iw_busy_once();
		msleep_interruptible(rest_ms);
	}
	return 0;
}

static int __init iw_busy_init(void)
{
	worker = kthread_create(iw_busy_thread, NULL, "iw_busy");
	if (IS_ERR(worker))
		return PTR_ERR(worker);
	kthread_bind(worker, cpu);
	wake_up_process(worker);
	return 0;
}

static void __exit iw_busy_exit(void)
{
	kthread_stop(worker);
}

module_init(iw_busy_init);
module_exit(iw_busy_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("keeps a CPU busy, for tests");
