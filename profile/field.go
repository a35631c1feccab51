// SPDX-License-Identifier: Apache-2.0

package profile

import "github.com/iowitness/iowitness/diagnosis"

const number diagnosis.Kind = "number"

// DocumentFields are the keys of the JSON document.
var DocumentFields = []diagnosis.Field{
	{ID: "schema", Kind: diagnosis.Integer, Help: "Number of this format. It grows when a key changes its meaning or goes."},
	{ID: "version", Kind: diagnosis.Text, Help: "Version of iowitness."},
	{ID: "kernel", Kind: diagnosis.Text, Help: "Release of the kernel."},
	{ID: "kind", Kind: diagnosis.Text, Help: "What the stacks did: cpu (ran), offcpu (had given up the CPU), runq (waited for a CPU), wait (waited for I/O)."},
	{ID: "means", Kind: diagnosis.Text, Nullable: true, Help: "How that was witnessed."},
	{ID: "start", Kind: diagnosis.Text, Nullable: true, Help: "Begin, RFC 3339."},
	{ID: "wall_ns", Kind: diagnosis.Integer, Help: "Length."},
	{ID: "period_ns", Kind: diagnosis.Integer, Nullable: true, Help: "Time between two samples of one CPU; null: every event is counted."},
	{ID: "scope", Kind: diagnosis.Text, Nullable: true, Help: "What was asked for, in words; null: everything."},
	{ID: "total_count", Kind: diagnosis.Integer, Help: "Samples or events in all."},
	{ID: "total_ns", Kind: diagnosis.Integer, Help: "Time in them, of all threads together; of samples it is an estimate."},
	{ID: "functions", Kind: diagnosis.List, Help: "Functions, most own time first."},
	{ID: "processes", Kind: diagnosis.List, Help: "Processes, most time first."},
	{ID: "threads", Kind: diagnosis.List, Help: "Threads, most time first."},
	{ID: "stacks", Kind: diagnosis.List, Help: "Stacks of threads, most time first; empty if not asked for."},
	{ID: "lost", Kind: diagnosis.Object, Help: "What went missing."},
	{ID: "notes", Kind: diagnosis.List, Help: "Sentences: what could not be witnessed."},
}

// FunctionFields are the keys of an element of functions, also of processes and threads.
var FunctionFields = []diagnosis.Field{
	{ID: "function", Kind: diagnosis.Text, Nullable: true, Title: "FUNCTION", Help: "Name; null: all of the module that no symbol covers."},
	{ID: "module", Kind: diagnosis.Text, Nullable: true, Title: "MODULE", Help: "File that it is in, without folder, [kernel], [vdso], [jit], [anon] or a kernel module; null: not known."},
	{ID: "build_id", Kind: diagnosis.Text, Nullable: true, Help: "Of the module, where the function has no name."},
	{ID: "code", Kind: diagnosis.Text, Help: "kernel, user, jit (compiled at run time) or unknown."},
	{ID: "self_count", Kind: diagnosis.Integer, Title: "COUNT", Help: "Samples or events with it as the innermost function."},
	{ID: "self_ns", Kind: diagnosis.Integer, Title: "OWN", Help: "Time in them."},
	{ID: "self_percent", Kind: number, Title: "OWN%", Help: "Their share of the whole: of time, or of the count where there is no time."},
	{ID: "total_count", Kind: diagnosis.Integer, Help: "Samples or events with it anywhere in the stack, each once."},
	{ID: "total_ns", Kind: diagnosis.Integer, Title: "ALL", Help: "Time in them."},
	{ID: "total_percent", Kind: number, Title: "ALL%", Help: "Their share."},
}

// ProcessFields are the keys of an element of processes and threads.
var ProcessFields = []diagnosis.Field{
	{ID: "pid", Kind: diagnosis.Integer, Title: "PID", Help: "Process."},
	{ID: "tid", Kind: diagnosis.Integer, Nullable: true, Title: "TID", Help: "Thread; null: all of the process."},
	{ID: "comm", Kind: diagnosis.Text, Nullable: true, Title: "PROCESS", Help: "Name of the process."},
	{ID: "thread", Kind: diagnosis.Text, Nullable: true, Title: "THREAD", Help: "The thread's own name."},
	{ID: "cgroup", Kind: diagnosis.Text, Nullable: true, Help: "Its cgroup."},
	{ID: "count", Kind: diagnosis.Integer, Title: "COUNT", Help: "Samples or events."},
	{ID: "total_ns", Kind: diagnosis.Integer, Title: "TIME", Help: "Time in them."},
	{ID: "percent", Kind: number, Title: "SHARE", Help: "Share of the whole."},
	{ID: "functions", Kind: diagnosis.List, Help: "Functions that have most of it; percentages are of the whole."},
}

// StackFields are the keys of an element of stacks.
var StackFields = []diagnosis.Field{
	{ID: "pid", Kind: diagnosis.Integer, Help: "Process."},
	{ID: "tid", Kind: diagnosis.Integer, Help: "Thread."},
	{ID: "comm", Kind: diagnosis.Text, Nullable: true, Help: "Name of the process."},
	{ID: "thread", Kind: diagnosis.Text, Nullable: true, Help: "The thread's own name."},
	{ID: "count", Kind: diagnosis.Integer, Help: "Samples or events."},
	{ID: "total_ns", Kind: diagnosis.Integer, Help: "Time in them."},
	{ID: "truncated", Kind: diagnosis.Boolean, Help: "The stack goes on beyond its last frame."},
	{ID: "frames", Kind: diagnosis.List, Help: "Frames from the innermost out, the kernel's first."},
}

// FrameFields are the keys of an element of frames.
var FrameFields = []diagnosis.Field{
	{ID: "function", Kind: diagnosis.Text, Nullable: true, Help: "Name; null: no symbol covers the address."},
	{ID: "offset_bytes", Kind: diagnosis.Integer, Help: "Into the function."},
	{ID: "module", Kind: diagnosis.Text, Nullable: true, Help: "As in functions."},
	{ID: "path", Kind: diagnosis.Text, Nullable: true, Help: "Of the file, as the process sees it."},
	{ID: "build_id", Kind: diagnosis.Text, Nullable: true, Help: "Of the module."},
	{ID: "address", Kind: diagnosis.Text, Help: "In the process, in hexadecimal."},
	{ID: "file_address", Kind: diagnosis.Text, Nullable: true, Help: "As the file numbers addresses, which is what addr2line takes."},
	{ID: "code", Kind: diagnosis.Text, Help: "kernel, user, jit or unknown."},
}

// LostFields are the keys of lost.
var LostFields = []diagnosis.Field{
	{ID: "samples", Kind: diagnosis.Integer, Help: "Samples or events that are in no stack: a buffer or table was full."},
	{ID: "samples_ns", Kind: diagnosis.Integer, Help: "Time behind them, as far as it is known."},
	{ID: "kernel_stacks", Kind: diagnosis.Integer, Help: "Samples without the kernel's part of their stack."},
	{ID: "user_stacks", Kind: diagnosis.Integer, Help: "Samples without the process's part."},
	{ID: "frames", Kind: diagnosis.Integer, Help: "Frames not named for lack of memory or of certainty."},
}
