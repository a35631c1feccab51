// SPDX-License-Identifier: Apache-2.0

package failure

import "github.com/iowitness/iowitness/diagnosis"

// DocumentFields are the keys of the JSON document.
var DocumentFields = []diagnosis.Field{
	{ID: "schema", Kind: diagnosis.Integer, Help: "Number of this format. It grows when a key changes its meaning or goes."},
	{ID: "version", Kind: diagnosis.Text, Help: "Version of iowitness."},
	{ID: "kernel", Kind: diagnosis.Text, Help: "Release of the kernel."},
	{ID: "means", Kind: diagnosis.Text, Help: "How functions are witnessed: kprobe_multi, fexit or kretprobe; raw_tp: none is, only system calls and signals."},
	{ID: "start", Kind: diagnosis.Text, Help: "Begin, RFC 3339."},
	{ID: "end", Kind: diagnosis.Text, Help: "Its end."},
	{ID: "wall_ns", Kind: diagnosis.Integer, Help: "Its length."},
	{ID: "scope", Kind: diagnosis.Text, Nullable: true, Help: "Whose calls, in words; null: everybody's."},
	{ID: "functions", Kind: diagnosis.Integer, Help: "Functions whose returns are witnessed."},
	{ID: "attach_ns", Kind: diagnosis.Integer, Help: "How long attaching to them took."},
	{ID: "failed", Kind: diagnosis.Integer, Help: "System calls that failed, without those that the kernel makes again after a signal."},
	{ID: "deaths", Kind: diagnosis.List, Help: "Processes that a signal ended, in their order."},
	{ID: "more_deaths", Kind: diagnosis.Integer, Help: "Processes beyond those."},
	{ID: "rows", Kind: diagnosis.List, Help: "Failed system calls by call and error, by falling number; those made again last."},
	{ID: "lost", Kind: diagnosis.Object, Help: "What went missing: for each id, count and ns."},
	{ID: "cost", Kind: diagnosis.Object, Help: "What iowitness cost: cpu_percent and rss_bytes of its process; of its probes probe_ns and probe_runs in probe_wall_ns, or null."},
	{ID: "notes", Kind: diagnosis.List, Help: "Sentences: what could not be witnessed."},
}

// RowFields are the keys of an element of rows.
var RowFields = []diagnosis.Field{
	{ID: "call", Kind: diagnosis.Text, Title: "CALL", Help: "Name of the system call."},
	{ID: "error", Kind: diagnosis.Text, Title: "ERROR", Help: "Name of the error, such as ENOENT."},
	{ID: "errno", Kind: diagnosis.Integer, Help: "Its number."},
	{ID: "restarts", Kind: diagnosis.Boolean, Help: "The program does not see it: the kernel makes the call again, or turns it into EINTR, once a signal was dealt with."},
	{ID: "count", Kind: diagnosis.Integer, Title: "COUNT", Help: "Calls, exact."},
	{ID: "told", Kind: diagnosis.Integer, Help: "Of them, those told one by one: origins are of these."},
	{ID: "total_ns", Kind: diagnosis.Integer, Help: "Time in these calls."},
	{ID: "origins", Kind: diagnosis.List, Help: "Where the error began, by falling number."},
}

// OriginFields are the keys of an element of origins.
var OriginFields = []diagnosis.Field{
	{ID: "function", Kind: diagnosis.Text, Nullable: true, Title: "FIRST RETURNED BY", Help: "The kernel function that returned it first, of those that are witnessed; null: none of them."},
	{ID: "count", Kind: diagnosis.Integer, Help: "Calls."},
	{ID: "example", Kind: diagnosis.Object, Title: "EXAMPLE", Help: "The last of them."},
	{ID: "paths", Kind: diagnosis.List, Help: "The paths with which: the first twenty different ones."},
	{ID: "other_paths", Kind: diagnosis.Integer, Help: "Calls with other paths."},
}

// PathFields are the keys of an element of paths.
var PathFields = []diagnosis.Field{
	{ID: "path", Kind: diagnosis.Text, Help: "As it was given, up to 255 bytes; of calls with two of them the first."},
	{ID: "count", Kind: diagnosis.Integer, Help: "Calls."},
}

// CallFields are the keys of a failed system call.
var CallFields = []diagnosis.Field{
	{ID: "call", Kind: diagnosis.Text, Help: "Name of the system call."},
	{ID: "arguments", Kind: diagnosis.Object, Help: "Its arguments by name, as text; paths as they were given, up to 255 bytes."},
	{ID: "error", Kind: diagnosis.Text, Help: "Name of the error."},
	{ID: "comm", Kind: diagnosis.Text, Help: "The thread's name when the call returned."},
	{ID: "pid", Kind: diagnosis.Integer, Help: "Its process."},
	{ID: "tid", Kind: diagnosis.Integer, Help: "The thread."},
	{ID: "latency_ns", Kind: diagnosis.Integer, Help: "From entry to return."},
	{ID: "steps", Kind: diagnosis.List, Help: "Functions that were seen to return the error, each within the next, the innermost first."},
	{ID: "callers", Kind: diagnosis.List, Help: "Callers of the first step up to the system call, innermost first, also those that are not witnessed; empty: not known."},
	{ID: "before", Kind: diagnosis.List, Help: "Another error, which was returned within the first step (or within the call, where there is none) directly before: it may have been changed. The innermost first."},
	{ID: "others", Kind: diagnosis.List, Help: "Errors that were returned too, but went no further, the last first; up to eight."},
	{ID: "cut", Kind: diagnosis.Integer, Help: "Returns that were not kept, as there were too many: the error may have begun further in."},
}

// StepFields are the keys of a function and what it returned.
var StepFields = []diagnosis.Field{
	{ID: "function", Kind: diagnosis.Text, Help: "The function."},
	{ID: "error", Kind: diagnosis.Text, Help: "Name of the error that it returned."},
}

// DeathFields are the keys of an element of deaths.
var DeathFields = []diagnosis.Field{
	{ID: "pid", Kind: diagnosis.Integer, Help: "The process."},
	{ID: "comm", Kind: diagnosis.Text, Help: "Name of its thread that ended first."},
	{ID: "signal", Kind: diagnosis.Text, Help: "Name of the signal."},
	{ID: "dumped", Kind: diagnosis.Boolean, Help: "It left a core."},
	{ID: "sender", Kind: diagnosis.Object, Nullable: true, Help: "Who sent it; null: not seen."},
	{ID: "during", Kind: diagnosis.Object, Nullable: true, Help: "The failed system call in which the process was sent it by what it did itself; null: none."},
}

// SenderFields are the keys of a sender.
var SenderFields = []diagnosis.Field{
	{ID: "kernel", Kind: diagnosis.Boolean, Help: "The kernel sent it by itself, else a program by kill(2) or the like."},
	{ID: "code", Kind: diagnosis.Text, Help: "Its si_code, such as SI_USER, SI_KERNEL or SEGV_MAPERR."},
	{ID: "address", Kind: diagnosis.Text, Nullable: true, Help: "Of a fault, hexadecimal; null: none."},
	{ID: "comm", Kind: diagnosis.Text, Help: "Name of the thread that ran then: the sender, or of what the kernel sends mostly the receiver."},
	{ID: "pid", Kind: diagnosis.Integer, Help: "Its process."},
	{ID: "tid", Kind: diagnosis.Integer, Help: "The thread."},
	{ID: "stack", Kind: diagnosis.List, Help: "Kernel functions in which it was sent, innermost first; empty: not known."},
}
