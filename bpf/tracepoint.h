/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Plain tracepoints: an event's fields, and of threads no more than their ids. What is read often lies
 * at a fixed place, which the user side compares with the event's format file; of the
 * others it tells the place.
 */
#ifndef IOWITNESS_TRACEPOINT_H
#define IOWITNESS_TRACEPOINT_H

#include "compat.h"
#include "abi.h"

struct trace_entry {
	__u16 type;
	__u8 flags;
	__u8 preempt_count;
	int pid;
};

struct trace_sched_switch {
	struct trace_entry entry;
	char prev_comm[COMM_BYTES];
	int prev_pid;
	int prev_prio;
	long prev_state;
	char next_comm[COMM_BYTES];
	int next_pid;
	int next_prio;
};

/* sched_waking and sched_wakeup_new */
struct trace_sched_wakeup {
	struct trace_entry entry;
	char comm[COMM_BYTES];
	int pid;
};

struct trace_sys_enter {
	struct trace_entry entry;
	long id;
	unsigned long args[6];
};

struct trace_sys_exit {
	struct trace_entry entry;
	long id;
	long ret;
};

const volatile __u32 newtask_pid_at = 0, newtask_flags_at = 0, exec_old_pid_at = 0, free_pid_at = 0;

#define EVENT_FIELD(type, event, at) ({ \
	type __field = 0; \
	bpf_probe_read_kernel(&__field, sizeof(__field), (void *)(event) + (at)); \
	__field; \
})

#define CLONE_THREAD 0x10000

/* The thread that the current one makes, by task:task_newtask; its process is *tgid. */
INLINE __u32 made_thread(void *event, __u32 *tgid)
{
	__u32 tid = EVENT_FIELD(__u32, event, newtask_pid_at);

	*tgid = EVENT_FIELD(__u64, event, newtask_flags_at) & CLONE_THREAD ? bpf_get_current_pid_tgid() >> 32 : tid;
	return tid;
}

/* What sched_switch tells of a thread's state, which is less than there is to it: but what it was. */
#define TASK_REPORT_ENDS	0x30	/* it is a zombie, or less */
#define TASK_REPORT_IDLE	0x80
#define TASK_REPORT_MAX		0x100	/* it was preempted: "R+" */

/* In the bits of the state itself; 0: it could have gone on. */
INLINE __u32 state_of_event(struct trace_sched_switch *event)
{
	__u32 reported = event->prev_state;

	if (reported & TASK_REPORT_MAX)
		return 0;
	if (reported & TASK_REPORT_ENDS) /* it may still sleep a last time: this state nobody changes */
		return task_state(this_task());
	return reported & TASK_REPORT_IDLE ? TASK_UNINTERRUPTIBLE | TASK_NOLOAD : reported;
}

#endif
