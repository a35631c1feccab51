/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What both sides share of calls of functions, and of what fails: a part of abi.h. */
#ifndef IOWITNESS_ABI_CALL_H
#define IOWITNESS_ABI_CALL_H

/* What filters and fields of a function start from; expr/ reads it by these offsets. */
#define CALL_ARGS 6
struct call_input {
	__u64 arg[CALL_ARGS];
	__u64 ret;
	__u64 latency_ns;
	__u32 tgid;
	__u32 tid;
	__u32 cpu;
	__u16 result_bytes;	/* of ret that may be an error: 8 or 4; 0: it is none */
	__u16 function;		/* by registers: its number, where one program serves several */
	char comm[COMM_BYTES];
};

/* What calls are summed up by: what is not asked for is 0. */
#define CALL_KEY_WORDS 8
struct call_key {
	__u64 cgroup;
	__u64 stack;		/* a hash: the key of its frames */
	__u32 function;
	__u32 tgid;
	__u32 tid;
	__u32 cpu;
	char comm[COMM_BYTES];
	__u64 word[CALL_KEY_WORDS];	/* fields of the call */
};

/* Times are from entry to return, in ns. */
struct call_sum {
	__u64 count;
	__u64 ns;
	__u64 max_ns;		/* of two calls that end at the same time the shorter may win */
	__u64 inner_ns;		/* of it in other functions that are followed too */
	__u64 errors;		/* returned -1 to -4095 */
	__u32 hist[HIST_SLOTS];
};

/* Of one function. Entries are returns, missed, given up and calls under way. */
struct function_balance {
	__u64 entries;
	__u64 returns;
	__u64 missed;		/* returned unseen */
	__u64 given_up;		/* under way when the gate was closed */
	__u64 strays;		/* returns of calls that began before, or that a filter left out */
	__u64 unwanted;		/* left out by a filter at the return */
	__u64 unreadable;	/* left out as what the filter asks for could not be read */
	__u64 skipped;		/* not measured, as only one in a number is */
};

/* Followed by out_bytes of fields and then, if frames, by a stack. */
struct call_record {
	struct record_head head;
	__u64 start;		/* CLOCK_MONOTONIC */
	__u64 ns;
	__u64 inner_ns;
	__u64 root;		/* the start of the outermost open call of its thread, or its own */
	__u64 ret;
	__u64 cgroup;
	__u32 function;
	__u32 cpu;
	__u32 depth;		/* open calls around it */
	__u32 out_bytes;
	__u32 frames;
	__u32 missed;		/* calls within it that returned unseen */
};

/* A function that has returned within a system call. */
struct error_return {
	__u64 place;		/* of its call on the stack: a higher one is further out */
	__u64 ret;		/* as 64 bits */
	__u64 stack;		/* its callers: the key of the frames; 0: not known */
	__u64 called;		/* by the caller: the function, or one that jumped to it; or else the place of return; 0: not known */
	__u32 function;
	__u32 failed;		/* it returned -1 to -4095 */
};

#define ERROR_RETURNS 32
#define SYSCALL_PATH 256	/* longer ones are cut */

struct failed_record {
	struct record_head head;
	__u64 start;		/* CLOCK_MONOTONIC */
	__u64 end;
	__u64 ret;
	__u64 cgroup;
	__u64 arg[CALL_ARGS];
	__u32 number;
	__u32 compat;		/* a call of a 32-bit program, which has numbers of its own */
	__u32 returns;		/* noted in all; the last ERROR_RETURNS are told, at their number modulo that */
	__u32 cpu;
	__u32 has_path[2];
	char path[2][SYSCALL_PATH];
	struct error_return inner[ERROR_RETURNS];
};

struct signal_record {
	struct record_head head;
	__u64 time;		/* CLOCK_MONOTONIC */
	__u64 address;		/* of a fault; of other signals anything */
	__u64 stack;		/* of the sender; 0: not known */
	__u32 number;
	__s32 code;		/* si_code */
	__u32 target_tid;
	__u32 target_tgid;
	char target_comm[COMM_BYTES];
};

struct death_record {
	struct record_head head;
	__u64 time;		/* CLOCK_MONOTONIC */
	__u32 signal;
	__u32 dumped;		/* it left a core */
};

/* System calls that failed are summed up by: */
struct failed_key {
	__u32 number;
	__u32 compat;
	__u32 error;		/* errno */
	__u32 pad;
};

struct failed_sum {
	__u64 count;
	__u64 ns;
};

#endif
