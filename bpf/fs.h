/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A call on a file from entry to return, counted by file, process and operation. */
#ifndef IOWITNESS_FS_H
#define IOWITNESS_FS_H

#include "filter.h"
#include "gate.h"
#include "hist.h"

/* Keep the layouts in the object's type information, for the user side. */
const struct file_record *file_record_layout __attribute__((unused));

/* By system call number: its operation; and whether its first argument is the descriptor. */
const volatile __u8 call_op[SYSCALLS] = {};

/* Which file systems are watched: by the magic numbers of their kinds, and by device if asked. */
#define FS_KINDS 4
const volatile __u64 wanted_magic[FS_KINDS] = {};
const volatile bool filter_dev = false;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256);
	__type(key, __u32);
	__type(value, __u8);
} wanted_devs SEC(".maps");

/* Sleeps of one call by as many different stacks. */
#define FS_SLOTS 8
struct fs_slot {
	__u64 stack;
	__u64 count;
	__u64 ns;
};

/* A thread's call, under way or the last. */
struct fs_call {
	__u64 start;		/* CLOCK_MONOTONIC; 0: none */
	struct fs_key key;
	struct told_identity told;
	__u32 generation;	/* of the file */
	__u32 pad;
	__u32 divided;		/* its sleeps are watched */
	__u32 hinted;
	__u64 off;		/* switched out; 0 while it runs */
	__u64 woken;		/* since; for a thread that was preempted: off */
	__u64 stack;
	__u64 blocked_ns;
	__u64 runqueue_ns;
	struct fs_slot slots[FS_SLOTS];
};

static const struct fs_call no_call = {};
static const struct fs_sum no_sum = {};
static const struct fs_part no_part = {};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct fs_call);
} fs_calls SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, __u32);
	__type(value, struct fs_call);
} fs_calls_hash SEC(".maps");

/*
 * Counters of an interval, by the parity of its number: when the interval is over
 * and no program still runs that may have seen its number, they stand still.
 */
struct fs_sums {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct fs_key);
	__type(value, struct fs_sum);
} fs_sums_even SEC(".maps"), fs_sums_odd SEC(".maps");

struct fs_parts {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct fs_part_key);
	__type(value, struct fs_part);
} fs_parts_even SEC(".maps"), fs_parts_odd SEC(".maps");

/* Files whose paths were told. A number may be used again: the generation tells. */
struct fs_file_key {
	__u64 ino;
	__u32 dev;
	__u32 generation;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, struct fs_file_key);
	__type(value, __u8);
} fs_known SEC(".maps");

/* Threads in a call whose sleeps are watched, counted by a hash of their ids. */
#define HINTS 4096
__u32 hints[HINTS];

INLINE struct fs_call *find_call(struct task_struct *task, __u32 tid)
{
	if (storage_by_hash)
		return bpf_map_lookup_elem(&fs_calls_hash, &tid);
	return task ? bpf_task_storage_get(&fs_calls, task, 0, 0) : NULL;
}

INLINE struct fs_call *make_call(struct task_struct *task, __u32 tid)
{
	struct fs_call *call;

	if (!storage_by_hash)
		return bpf_task_storage_get(&fs_calls, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	call = bpf_map_lookup_elem(&fs_calls_hash, &tid);
	if (call)
		return call;
	bpf_map_update_elem(&fs_calls_hash, &tid, &no_call, BPF_NOEXIST);
	return bpf_map_lookup_elem(&fs_calls_hash, &tid);
}

INLINE bool is_wanted_kind(__u64 magic)
{
	int i;

	for (i = 0; i < FS_KINDS; i++)
		if (magic == wanted_magic[i])
			return magic != 0;
	return false;
}

/* Regular files of the wanted file systems, and directories for what synchronizes them. */
INLINE bool is_wanted_file(struct file *file, struct fs_key *key)
{
	struct inode *inode = file ? BPF_CORE_READ(file, f_inode) : NULL;
	struct super_block *sb;
	__u16 type;

	if (!inode)
		return false;
	type = BPF_CORE_READ(inode, i_mode) & S_IFMT;
	if (type != S_IFREG && !(type == S_IFDIR && key->op >= FS_FSYNC))
		return false;
	sb = BPF_CORE_READ(inode, i_sb);
	if (!is_wanted_kind(BPF_CORE_READ(sb, s_magic)))
		return false;
	key->dev = BPF_CORE_READ(sb, s_dev);
	if (filter_dev && !bpf_map_lookup_elem(&wanted_devs, &key->dev))
		return false;
	key->ino = BPF_CORE_READ(inode, i_ino);
	return true;
}

SUBPROGRAM int tell_file(struct task_struct *task, struct file *file, struct fs_file_key *known)
{
	struct file_record *record = bpf_ringbuf_reserve(&records, sizeof(*record), 0);
	__u8 yes = 1;

	if (!record) {
		lose(LOSS_RING_FILE, 1, 0);
		return 0;
	}
	put_head(&record->head, RECORD_FILE, sizeof(*record), task);
	record->file.backing_dev = 0;
	record->file.source = FILE_NONE;
	put_file(&record->file, file, FILE_FD);
	bpf_ringbuf_submit(record, ring_wakeup());
	bpf_map_update_elem(&fs_known, known, &yes, BPF_ANY);
	return 0;
}

/* last: the thread's last call, whose file is known. */
INLINE void tell_file_once(struct task_struct *task, struct file *file, struct fs_key *key, struct fs_call *last)
{
	struct fs_file_key known = {
		.ino = key->ino, .dev = key->dev, .generation = BPF_CORE_READ(file, f_inode, i_generation),
	};

	if (known.ino == last->key.ino && known.dev == last->key.dev && known.generation == last->generation)
		return;
	last->generation = known.generation;
	if (!bpf_map_lookup_elem(&fs_known, &known))
		tell_file(task, file, &known);
}

INLINE void watch_sleeps(struct fs_call *call, __u32 tid)
{
	call->blocked_ns = call->runqueue_ns = call->off = 0;
	__builtin_memset(call->slots, 0, sizeof(call->slots));
	if (!call->hinted)
		__sync_fetch_and_add(&hints[tid & (HINTS - 1)], 1);
	call->hinted = 1;
}

INLINE __u32 op_of(long number)
{
	return number >= 0 && number < SYSCALLS ? call_op[number & (SYSCALLS - 1)] : FS_NONE;
}

/* file: if it is not the one of the descriptor fd, the first argument. */
INLINE void begin_call(__u32 op, __u32 fd, struct file *file)
{
	struct task_struct *task;
	struct fs_key key = {};
	struct fs_call *call;
	__u64 id;

	if (!op || !epoch)
		return;
	task = this_task();
	key.op = op;
	if (op != FS_OPEN) {
		if (op != FS_MSYNC)
			file = own_file_by_fd(task, fd);
		if (!is_wanted_file(file, &key))
			return;
	}
	id = bpf_get_current_pid_tgid();
	key.tgid = id >> 32;
	if (is_compat_call(task) || !is_wanted(task, id, key.tgid))
		return;
	call = make_call(task, id);
	if (!call) {
		lose(LOSS_CALLS, 1, 0);
		return;
	}
	if (file)
		tell_file_once(task, file, &key, call);
	call->key = key;
	call->divided = 0;
	if (file)
		call->divided = op >= FS_FSYNC || (op == FS_WRITE && BPF_CORE_READ(file, f_flags) & O_DSYNC);
	if (call->divided)
		watch_sleeps(call, id);
	call->start = bpf_ktime_get_ns();
	if (!is_heard(call->start))
		call->start = 0;
}

INLINE struct fs_sum *sum_of(void *sums, struct fs_key *key)
{
	struct fs_sum *sum = bpf_map_lookup_elem(sums, key);

	if (sum)
		return sum;
	bpf_map_update_elem(sums, key, &no_sum, BPF_NOEXIST);
	return bpf_map_lookup_elem(sums, key);
}

INLINE void add(__u64 *to, __u64 n)
{
	__sync_fetch_and_add(to, n);
}

INLINE void add_part(void *parts, struct fs_key *key, struct fs_slot *slot)
{
	struct fs_part_key part_key = { .call = *key, .stack = slot->stack };
	struct fs_part *part = bpf_map_lookup_elem(parts, &part_key);

	if (!part) {
		bpf_map_update_elem(parts, &part_key, &no_part, BPF_NOEXIST);
		part = bpf_map_lookup_elem(parts, &part_key);
	}
	if (!part) {
		lose(LOSS_PARTS, slot->count, slot->ns);
		return;
	}
	add(&part->count, slot->count);
	add(&part->ns, slot->ns);
}

INLINE void add_parts(void *parts, struct fs_call *call)
{
	int i;

	for (i = 0; i < FS_SLOTS && call->slots[i].stack; i++)
		add_part(parts, &call->key, &call->slots[i]);
}

INLINE void add_call(struct fs_sum *sum, struct fs_call *call, __u64 ns, long returned)
{
	add(&sum->count, 1);
	add(&sum->ns, ns);
	if (returned < 0)
		add(&sum->errors, 1);
	else if (call->key.op <= FS_WRITE)
		add(&sum->bytes, returned);
	if (ns > sum->max_ns)
		sum->max_ns = ns;
	__sync_fetch_and_add(&sum->hist[hist_slot(ns) & (HIST_SLOTS - 1)], 1);
	if (!call->divided)
		return;
	add(&sum->divided, 1);
	add(&sum->divided_ns, ns);
	add(&sum->blocked_ns, call->blocked_ns);
	add(&sum->runqueue_ns, call->runqueue_ns);
}

/* A file that is opened is known by the descriptor that is returned. */
INLINE bool find_opened(struct task_struct *task, struct fs_call *call, struct fs_key *key, long returned)
{
	struct file *file;

	if (returned < 0)
		return false;
	file = own_file_by_fd(task, returned);
	if (!is_wanted_file(file, key))
		return false;
	tell_file_once(task, file, key, call);
	call->key = *key;
	return true;
}

INLINE void count_call(struct task_struct *task, struct fs_call *call, __u64 ns, long returned)
{
	struct fs_key key = call->key;
	bool odd = epoch & 1;
	struct fs_sum *sum;

	if (key.op == FS_OPEN && !find_opened(task, call, &key, returned))
		return;
	sum = sum_of(odd ? (void *)&fs_sums_odd : (void *)&fs_sums_even, &key);
	if (!sum) {
		lose(LOSS_SUMS, 1, ns);
		return;
	}
	tell_identity_once(&call->told, task);
	add_call(sum, call, ns, returned);
	if (call->divided)
		add_parts(odd ? (void *)&fs_parts_odd : (void *)&fs_parts_even, call);
}

INLINE void end_call(long number, long returned)
{
	struct task_struct *task;
	struct fs_call *call;
	__u64 start, now;
	__u32 tid, op = op_of(number);

	if (!op)
		return;
	task = this_task();
	tid = bpf_get_current_pid_tgid();
	call = find_call(task, tid);
	if (!call || !call->start)
		return;
	now = bpf_ktime_get_ns();
	start = call->start;
	call->start = 0;
	if (call->hinted)
		__sync_fetch_and_add(&hints[tid & (HINTS - 1)], -1);
	call->hinted = 0;
	if (!epoch || call->key.op != op)
		return;
	if (now < start) {
		lose(LOSS_CLOCK, 1, 0);
		return;
	}
	count_call(task, call, now - start, returned);
}

#endif
