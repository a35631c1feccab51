/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * All that the kernel side and the Go side share: record layouts, counters and
 * limits. bpf2go turns these types into Go; event/ decodes them. Every record
 * starts with struct record_head, so a reader can refuse what it does not know.
 */
#ifndef IOWITNESS_ABI_H
#define IOWITNESS_ABI_H

#define ABI_VERSION 1

#define COMM_BYTES 16
#define STACK_DEPTH 48
#define SCHED_DEPTH 8	/* frames of the scheduler's own functions, which the kernel's unwinder leaves out */
#define PATH_BYTES 256	/* components of a file's path, innermost first, NUL between */
#define CGROUP_BYTES 512
#define NAME_BYTES 128	/* one component; longer names are cut and counted */
#define PATH_LEVELS 20
#define HIST_SLOTS 128
#define STACK_SCAN_WORDS 128	/* of a sleeping stack, in search of its wait entry */

enum record_kind {
	RECORD_WAIT = 1,	/* one wait that ended, with stack, file and request */
	RECORD_IDENTITY = 2,	/* who a thread is: sent at its first recorded wait and when it changes */
	RECORD_EXIT = 3,	/* the last tally of a thread that has ended */
	RECORD_TALLY = 4,	/* a thread's tally, from the walk over all threads */
	RECORD_FILE = 5,	/* the path of a file, before the first call or request for it is told */
	RECORD_IO = 6,		/* a block request that was completed; its head names the owner */
	RECORD_IO_WAIT = 7,	/* the thread that such a completion woke */
	RECORD_PROCESS = 8,	/* a process is seen for the first time, is made, or begins another program */
	RECORD_RUNQ = 9,	/* a long wait for a CPU, and what ran there meanwhile */
	RECORD_CALL = 10,	/* a call of a kernel function that has returned */
	RECORD_FAILED = 11,	/* a system call that has failed, with the errors within it */
	RECORD_SIGNAL = 12,	/* a signal that ends its receiver; its head names the sender */
	RECORD_DEATH = 13,	/* a thread that has ended by a signal */
};

struct record_head {
	__u16 kind;
	__u16 version;
	__u32 size;
	__u32 tid;
	__u32 tgid;
	char comm[COMM_BYTES];
};

enum wait_flag {
	WAIT_SLOW = 1 << 0,		/* blocked for at least the slow threshold */
	WAIT_FLAGGED = 1 << 1,		/* the kernel had in_iowait set: /proc/stat may call it iowait */
	WAIT_ADOPTED = 1 << 2,		/* began before iowitness did; its start is an estimate */
	WAIT_EARLY_WAKE = 1 << 3,	/* woken while still switching out: blocked time is zero */
	WAIT_NO_WAKE = 1 << 4,		/* no wake-up seen: blocked time includes run-queue delay */
	WAIT_JOINED = 1 << 5,		/* woken by the handler of a request's completion */
	WAIT_INTERRUPTIBLE = 1 << 6,	/* state S with in_iowait: an application may wait here for work */
	WAIT_FIRST = 1 << 7,		/* recorded as one of the first of its thread and interval */
};

/* The request whose completion woke a thread. */
struct request_ref {
	__u64 sector;
	__u32 dev;		/* kernel encoding: major << 20 | minor */
	__u32 bytes;
	__u32 op;		/* REQ_OP_* with flags */
	__u32 pad;
	__u64 queue_ns;		/* from its making until the driver had it; 0: not known */
	__u64 device_ns;	/* from then until its completion; 0: not known */
};

/* Sums are kept apart by two flags, whose bits are the index. */
enum sum_index {
	SUM_UNFLAGGED_SHORT = 0,
	SUM_UNFLAGGED_SLOW = 1,
	SUM_FLAGGED_SHORT = 2,
	SUM_FLAGGED_SLOW = 3,
	SUMS = 4,
};

struct wait_sum {
	__u64 count;
	__u64 blocked_ns;
	__u64 runqueue_ns;
};

struct wait_max {
	__u64 ns;
	__u32 epoch;
	__u32 pad;
};

/* Identity as last told, compared by address only. */
struct told_identity {
	__u64 cset;
	__u64 mm;
	__u64 cred;
};

/*
 * One per thread, in task-local storage or in a hash by thread id. Instants are by
 * the witness's clock: the scheduler's or CLOCK_MONOTONIC, in ns. Written only
 * on the CPU that switches the thread, but for woken (the waker's).
 */
struct thread_wait {
	__u64 start;		/* when it was switched out; 0 while it runs */
	__u64 woken;		/* by the clock CLOCK_MONOTONIC only; the scheduler keeps it itself */
	__u64 run_delay;	/* the scheduler's sum of run-queue delays, as of start */
	__u64 ended;		/* when its last wait ended */
	__u64 born;		/* start of its first wait: tells a reused thread id apart */
	__u32 flags;		/* enum wait_flag of the wait under way */
	__u32 epoch;		/* of in_epoch */
	__u32 in_epoch[2];	/* waits ended in this epoch: unflagged, flagged */
	__u32 next_sample[2];	/* the number of the next to be recorded */
	__u32 tid;
	__u32 tgid;
	__u32 history;		/* a bit for each of its last waits: slow or not */
	__u32 generation;	/* of start: it counts only if the gate has been open since */
	struct told_identity told;
	__u64 count;		/* waits ended, all sums together */
	struct wait_sum sums[SUMS];
	struct wait_max max[2];	/* by epoch & 1 */
	__u64 walked;		/* waits told by the last walk */
	__u64 walked_ns;
	__u64 told_start;	/* start of the wait whose stack a walk has told */
	__u32 hist[HIST_SLOTS];
};

enum file_source {
	FILE_NONE = 0,
	FILE_FD = 1,		/* the system call's file descriptor */
	FILE_FOLIO = 2,		/* the folio the thread waits for */
	FILE_VMA = 3,		/* the mapping that faulted */
};

struct file_ref {
	__u64 ino;
	__u32 dev;		/* the superblock's; a block device's own if the file is one */
	__u16 source;		/* enum file_source */
	__u16 path_bytes;
	__u32 is_bdev;
	__u32 backing_dev;	/* superblock of the folio's inode: under overlayfs the real one */
	char path[PATH_BYTES + NAME_BYTES];
};

/* Where a thread sleeps or slept, and for what. */
struct wait_site {
	__s32 syscall;		/* -1: a page fault or no system call */
	__u32 frames;
	__u64 cgroup;		/* kernfs id */
	__u32 sched_frames;
	__u32 pad;
	__u64 sched[SCHED_DEPTH];	/* inner to stack */
	__u64 stack[STACK_DEPTH];
	struct file_ref file;
};

struct wait_record {
	struct record_head head;
	__u64 start;
	__u64 woken;
	__u64 runs;
	__u64 seq;		/* this thread's ended waits, this one included */
	__u64 born;		/* the thread's, as in struct thread_wait */
	struct request_ref request;
	__u32 flags;
	__u32 cpu;
	__u32 weight;		/* of a short wait: it was chosen from about so many */
	__u32 pad;
	struct wait_site site;
};

struct identity_record {
	struct record_head head;
	__u64 cgroup;
	__u64 start_boottime;	/* ns; tells a reused pid apart */
	__u32 uid;
	__u32 ppid;
	__u32 ns_pid;		/* in the innermost pid namespace */
	__u32 ns_level;
	__u32 kthread;
	__u16 cgroup_bytes;
	__u16 cgroup_v1;	/* 0: unified hierarchy; else 1 + the controller's subsystem id */
	char leader_comm[COMM_BYTES];
	struct file_ref exe;
	char cgroup_path[CGROUP_BYTES + NAME_BYTES];
};

struct tally_record {
	struct record_head head;
	__u64 now;
	struct thread_wait wait;
	__u32 has_site;
	__u32 state;
	struct wait_site site;	/* of the wait in progress, if has_site */
};

struct resolve_record {
	__u32 tid;
	__u32 tgid;
	__u32 ns_tid;
	__u32 pad;
};

/* A thread and its process. */
struct task_id {
	__u32 tid;
	__u32 tgid;
	char comm[COMM_BYTES];
};

enum io_flag {
	IO_BIO = 1 << 0,	/* a bio on a device that has no requests: those below are told too */
	IO_SEQUENTIAL = 1 << 1,	/* begins where the one before ended */
	IO_SPLIT = 1 << 2,	/* a part of a bio that was too large */
	IO_DIRTIED = 1 << 3,	/* the owner dirtied the pages, the carrier writes them */
	IO_INHERITED = 1 << 5,	/* the owner is that of the bio that it was made from, on the device above */
	IO_STARTED = 1 << 6,	/* counted as started */
	IO_PASSED = 1 << 7,	/* the bio itself came down from top, which has none of its own */
	IO_DEV_ABOVE = 1 << 8,	/* dev is of top, and not of disk */
	IO_UNCHARGED = 1 << 9,	/* written back for others, but the cgroup is not theirs */
};

enum io_phase {
	PHASE_GET = 0,		/* until it has a request */
	PHASE_INSERT,		/* until the I/O scheduler has it */
	PHASE_QUEUE,		/* until the driver has it */
	PHASE_DEVICE,		/* until it is complete */
	PHASE_TOTAL,
	PHASES,
};

/* A request's life so far. Instants are CLOCK_MONOTONIC in ns; 0: not seen. */
struct io_life {
	__u64 queued, got, inserted, issued, completed;
	__u64 sector;
	__u64 cgroup;
	__u64 ino;
	__u32 file_dev;
	__u16 file_source;	/* enum file_source */
	__u16 file_is_bdev;
	__u32 dev, disk, top;
	__u32 bytes;
	__u32 op;
	__u32 depth;
	__u32 error;		/* as the kernel tells it: errno, or blk_status_t */
	__u16 merged, requeues;
	__u16 flags;		/* enum io_flag */
	__u16 known;		/* for the sums: here and not in a register, where the verifier would try every number */
	__u32 cpu;
	struct task_id owner;
	struct task_id carrier;	/* who submitted it, if not the owner */
};

struct io_record {
	struct record_head head;
	struct io_life life;
};

struct io_wait_record {
	struct record_head head;	/* of the thread that is woken */
	__u64 completed;	/* tells which request it is, with the next two */
	__u64 sector;
	__u32 disk;
	__u32 pad;
	__u64 wait_ns;		/* since the thread went to sleep */
};

/* What requests are summed up by. */
struct io_key {
	__u64 cgroup;
	__u64 ino;
	__u32 file_dev;
	__u32 dev, disk;
	__u32 tgid;
	__u16 op;
	__u16 flags;		/* of IO_BIO, IO_PASSED, IO_DEV_ABOVE and IO_UNCHARGED */
	__u32 top;		/* of what was passed on */
};

struct phase_sum {
	__u64 ns;
	__u64 max;
};

/* What is known of a request: its phases but the whole, and whether it is sequential. */
#define KNOWN_PLACE (1 << PHASE_TOTAL)
#define KNOWN_SETS (1 << PHASES)

#define SIZE_SLOTS 24		/* of bytes: up to 512, up to 1,024 and so forth */

struct io_sum {
	struct task_id owner;	/* the first thread's */
	__u64 with[KNOWN_SETS];	/* requests by what is known of them: one count instead of one for each */
	__u64 untimed;		/* those without a begin, or that seem to end before it: in no time */
	__u64 bytes, errors, merged, requeues, split, sequential;
	__u64 depths, depth_max;
	__u64 depth_no_data;	/* of those without data the depth may be known, but no place */
	__u64 carried;		/* submitted by others than the owner */
	struct phase_sum phases[PHASES];
	__u32 device_hist[HIST_SLOTS];
	__u32 total_hist[HIST_SLOTS];
	__u32 sizes[SIZE_SLOTS];
};

/* Of a run, each counted per CPU. */
struct io_count {
	__u64 started;		/* requests that got their place in the device's queue, and bios of stacked devices */
	__u64 completed;
	__u64 unmatched;	/* completions of requests that began before, or found no memory */
	__u64 flush_ends;	/* second completions, which close a flush */
	__u64 absorbed;		/* requests that became a part of another one */
	__u64 other_context;	/* completed, and submitted by somebody else than the owner */
};

/* Everything that can go missing, each with its number and the waiting time behind it. */
enum loss {
	LOSS_STATE_FULL = 0,	/* no memory for a thread's state: its waits are not counted */
	LOSS_RING_WAIT,		/* wait records that found the ring full */
	LOSS_RING_IDENTITY,
	LOSS_RING_EXIT,		/* final tallies that found the ring full: waits and time lost with them */
	LOSS_BUDGET,		/* wait records not made: the interval's budget was used up */
	LOSS_NO_WAKE,		/* waits without a wake-up seen */
	LOSS_EARLY_WAKE,	/* woken before they were switched out (counted, with zero blocked time) */
	LOSS_STACK,		/* stacks that could not be unwound */
	LOSS_NAME_CUT,		/* path components cut at NAME_BYTES, or paths at PATH_BYTES or PATH_LEVELS */
	LOSS_CLOCK,		/* instants out of order: not counted as waits */
	LOSS_FOLLOW_FULL,	/* children that could not be followed */
	LOSS_RATIO,		/* waits not measured, as only one in a number is */
	LOSS_SHED,		/* waits without a record, as detail was shed */
	LOSS_NO_END,		/* waits whose end was not seen: not counted; ns, of profiles: at most */
	WAIT_LOSSES,
	/* Of calls to file systems: */
	LOSS_CALLS = WAIT_LOSSES,	/* not counted: no memory for their thread's state */
	LOSS_SUMS,		/* not counted: no room for another file, process and operation */
	LOSS_PARTS,		/* sleeps not attributed: no room for another cause */
	LOSS_SLOTS,		/* sleeps not attributed: too many different ones in one call */
	LOSS_RING_FILE,		/* paths lost: the ring was full */
	/* Of block requests: */
	LOSS_LIFE_FULL,		/* not told: no memory for another one under way */
	LOSS_SUM_FULL,		/* summed up with others: no memory for another sum */
	LOSS_RING_IO,		/* records that found the ring full */
	LOSS_IO_BUDGET,		/* records not made: the interval's budget was used up */
	LOSS_BACKWARDS,		/* phases with instants out of order: left out of sums */
	LOSS_IO_RATIO,		/* records not made, as only one in a number is */
	LOSS_IO_NO_END,		/* not told: their completion was not seen */
	/* Of calls of functions: */
	LOSS_FRAMES,		/* not counted: no memory for their thread's state, or too deeply nested */
	LOSS_CALL_OUT,		/* not counted: no memory for what was read at entry */
	LOSS_CALL_SUM,		/* not counted: no memory for another sum */
	LOSS_RING_CALL,		/* single calls that found the ring full */
	LOSS_CALL_BUDGET,	/* single calls not told: more than asked for in a second */
	/* Of profiles; ns is the time behind them, of samples that of their periods: */
	LOSS_PROF_THREADS,	/* not counted: no memory for their thread's state */
	LOSS_PROF_SUMS,		/* not counted: no room for another stack and thread */
	LOSS_PROF_KERNEL,	/* counted without the kernel's stack: it could not be taken */
	LOSS_PROF_USER,		/* counted without the program's */
	LOSS_PROF_ROOM,		/* counted without a stack: no room for another one */
	LOSS_PROF_COLLISION,	/* counted without a stack: another one has its number */
	LOSS_PROF_SHED,		/* counted without stacks, as detail was shed */
	LOSS_PROF_PAIRS,	/* of wakers and woken: no room for another pair */
	LOSS_PROF_BUDGET,	/* long waits for a CPU not told one by one: the budget was used up */
	LOSS_RING_PROCESS,	/* processes not told: the ring was full */
	LOSS_RING_RUNQ,		/* long waits for a CPU not told: the ring was full */
	LOSS_PROF_GAPS,		/* gaps between samples not told: no room for another one */
	LOSSES,
};

struct loss_count {
	__u64 count;
	__u64 ns;
};

enum fs_op {
	FS_NONE = 0,
	FS_READ,
	FS_WRITE,
	FS_OPEN,
	FS_FSYNC,
	FS_FDATASYNC,
	FS_SYNC_RANGE,
	FS_SYNCFS,
	FS_MSYNC,
	FS_OPS,
};

/* A process's calls of one kind on one file. */
struct fs_key {
	__u64 ino;
	__u32 dev;		/* the superblock's */
	__u32 tgid;
	__u32 op;		/* enum fs_op */
	__u32 pad;
};

/* Times are from entry to return of the system call, in ns. */
struct fs_sum {
	__u64 count;
	__u64 ns;
	__u64 max_ns;		/* of two calls that end at the same time the shorter may win */
	__u64 bytes;		/* as read and write return them */
	__u64 errors;
	__u64 divided;		/* calls whose sleeps were watched: those that synchronize */
	__u64 divided_ns;
	__u64 blocked_ns;	/* of it: asleep until woken, */
	__u64 runqueue_ns;	/* and ready, but waiting for a CPU */
	__u32 hist[HIST_SLOTS];
};

/* Of a call's sleeps those by one stack. */
struct fs_part_key {
	struct fs_key call;
	__u64 stack;		/* a hash: the key of its frames */
};

struct fs_part {
	__u64 count;
	__u64 ns;
};

struct kept_stack {
	__u32 frames;
	__u32 flagged;		/* in_iowait was set */
	__u64 frame[STACK_DEPTH];
};

/* A call that has not returned. */
struct fs_call_record {
	struct fs_key key;
	__u64 age_ns;
	__u64 stack;		/* as in fs_part_key, while it sleeps; 0: none */
	__u32 tid;
	__u32 pad;
};

struct file_record {
	struct record_head head;
	struct file_ref file;
};

/* Commits of a journal. What jbd2 keeps in jiffies stays in them. */
struct journal_sum {
	__u64 commits;
	__u64 handles;
	__u64 blocks;
	__u64 logged;		/* blocks with the journal's own */
	__u64 wait_jiffies;	/* the longest that a handle waited to begin, of each commit */
	__u64 delay_jiffies;	/* from the request for a commit to its begin */
	__u64 running_jiffies;
	__u64 locked_ns;	/* until the last handle was closed */
	__u64 flushing_ns;	/* data of ordered mode */
	__u64 logging_ns;	/* the journal's blocks, with flushes and commit block */
	__u64 max_ns;		/* of the three together */
};

/* Flushes of a device's write cache. */
struct flush_sum {
	__u64 count;
	__u64 ns;
	__u64 max_ns;
	__u64 unseen;		/* their issue was not seen: not counted */
};

#include "abi_call.h"
#include "abi_profile.h"

#endif
