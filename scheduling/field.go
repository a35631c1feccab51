// SPDX-License-Identifier: Apache-2.0

package scheduling

import (
	"slices"

	"github.com/iowitness/iowitness/diagnosis"
	"github.com/iowitness/iowitness/profile"
)

// number is a kind of values that a diagnosis does not have.
const number diagnosis.Kind = "number"

var headFields = []diagnosis.Field{
	{ID: "schema", Kind: diagnosis.Integer, Help: "Number of this format. It grows when a key changes its meaning or goes."},
	{ID: "profile", Kind: diagnosis.Text, Help: "What it is of: cpu, offcpu or runq."},
	{ID: "version", Kind: diagnosis.Text, Help: "Version of iowitness."},
	{ID: "kernel", Kind: diagnosis.Text, Help: "Release of the kernel."},
	{ID: "means", Kind: diagnosis.Text, Help: "How it is witnessed: perf_event, tp_btf, raw_tp or tp."},
	{ID: "start", Kind: diagnosis.Text, Help: "Begin of the interval, RFC 3339."},
	{ID: "end", Kind: diagnosis.Text, Help: "Its end."},
	{ID: "wall_ns", Kind: diagnosis.Integer, Help: "Its length."},
	{ID: "scope", Kind: diagnosis.Text, Nullable: true, Help: "What was asked for, in words; null: everything."},
	{ID: "count", Kind: diagnosis.Integer, Help: "Samples, times off the CPU that ended, or waits for a CPU."},
	{ID: "total_ns", Kind: diagnosis.Integer, Help: "The time in them; a sample stands for the time between two of its CPU."},
}

var profiledFields = []diagnosis.Field{
	{ID: "functions", Kind: diagnosis.List, Help: "Functions, by falling time of their own."},
	{ID: "processes", Kind: diagnosis.List, Help: "Processes, by falling time."},
	{ID: "threads", Kind: diagnosis.List, Help: "Threads, likewise."},
	{ID: "stacks", Kind: diagnosis.List, Help: "Single stacks of single threads, likewise."},
}

var tailFields = []diagnosis.Field{
	{ID: "lost", Kind: diagnosis.Object, Help: "What went missing: for each id, count and ns."},
	{ID: "cost", Kind: diagnosis.Object, Help: "What iowitness cost: cpu_percent and rss_bytes of its process; of its probes probe_ns and probe_runs in probe_wall_ns, or null."},
	{ID: "command", Kind: diagnosis.Object, Nullable: true, Help: "The command that was run; null: none was."},
	{ID: "notes", Kind: diagnosis.List, Help: "Sentences: what could not be witnessed."},
}

// DocumentFields are the keys of the JSON document of a kind.
func DocumentFields(kind profile.Kind) []diagnosis.Field {
	switch kind {
	case profile.CPU:
		return slices.Concat(headFields, []diagnosis.Field{
			{ID: "event", Kind: diagnosis.Text, Help: "What samples come by: cpu-clock or cycles."},
			{ID: "period_ns", Kind: diagnosis.Integer, Nullable: true, Help: "Time between two samples of one CPU; null: they do not come by time."},
			{ID: "cpus", Kind: diagnosis.List, Help: "CPUs, and what was sampled on each."},
			{ID: "gaps", Kind: diagnosis.List, Help: "Where samples came late though the CPU was not idle, by falling time: interrupts were off, or a hypervisor had the CPU."},
		}, profiledFields, tailFields)
	case profile.OffCPU:
		return slices.Concat(headFields, []diagnosis.Field{
			{ID: "states", Kind: diagnosis.List, Help: "How threads left their CPU, by falling time."},
		}, profiledFields, tailFields)
	}
	return slices.Concat(headFields, []diagnosis.Field{
		{ID: "processes", Kind: diagnosis.List, Help: "Waits for a CPU by process, by falling time."},
		{ID: "cpus", Kind: diagnosis.List, Help: "The same by CPU."},
		{ID: "pairs", Kind: diagnosis.List, Help: "Who woke whom, by falling time that the woken then waited."},
		{ID: "longest", Kind: diagnosis.List, Help: "Single waits for a CPU that took at least --slower, longest first."},
		{ID: "longest_total", Kind: diagnosis.Integer, Help: "So many there were, those not told included."},
	}, tailFields)
}

// FunctionFields are the keys of an element of functions.
var FunctionFields = []diagnosis.Field{
	{ID: "function", Kind: diagnosis.Text, Nullable: true, Title: "FUNCTION", Help: "Its name; null: frames of the module that no symbol covers."},
	{ID: "module", Kind: diagnosis.Text, Nullable: true, Title: "MODULE", Help: "Base name of the file that it is in, [kernel], [vdso], [anon] or [jit]."},
	{ID: "build_id", Kind: diagnosis.Text, Nullable: true, Help: "Of the module, where the function has no name."},
	{ID: "self_count", Kind: diagnosis.Integer, Help: "Samples or events with it innermost."},
	{ID: "self_ns", Kind: diagnosis.Integer, Title: "SELF", Help: "The time in them."},
	{ID: "total_count", Kind: diagnosis.Integer, Help: "Those with it anywhere in their stack."},
	{ID: "total_ns", Kind: diagnosis.Integer, Title: "TOTAL", Help: "The time in them."},
	{ID: "callers", Kind: diagnosis.List, Help: "Functions that call it, by falling time; of the first 50 functions only."},
}

// CallerFields are the keys of an element of callers, and of top.
var CallerFields = []diagnosis.Field{
	{ID: "function", Kind: diagnosis.Text, Nullable: true, Help: "As in functions."},
	{ID: "module", Kind: diagnosis.Text, Nullable: true, Help: "As in functions."},
	{ID: "count", Kind: diagnosis.Integer, Help: "Samples or events."},
	{ID: "ns", Kind: diagnosis.Integer, Help: "The time in them."},
}

// ProcessFields are the keys of an element of processes and threads of cpu and offcpu.
var ProcessFields = []diagnosis.Field{
	{ID: "pid", Kind: diagnosis.Integer, Title: "PID", Help: "Process, as the caller's pid namespace numbers it; 0: it is outside. So are all others numbered."},
	{ID: "nspid", Kind: diagnosis.Integer, Nullable: true, Help: "Its pid in a pid namespace of its own, as in a container; null: it has none, or it is not known."},
	{ID: "tid", Kind: diagnosis.Integer, Nullable: true, Title: "TID", Help: "Thread; null: all of the process."},
	{ID: "comm", Kind: diagnosis.Text, Nullable: true, Title: "COMMAND", Help: "The process's name."},
	{ID: "thread", Kind: diagnosis.Text, Nullable: true, Title: "THREAD", Help: "The thread's own."},
	{ID: "count", Kind: diagnosis.Integer, Title: "COUNT", Help: "Samples or events."},
	{ID: "ns", Kind: diagnosis.Integer, Title: "TIME", Help: "The time in them."},
	{ID: "top", Kind: diagnosis.List, Help: "Functions with most time of their own: function, module, count and ns."},
}

// StackFields are the keys of an element of stacks.
var StackFields = []diagnosis.Field{
	{ID: "pid", Kind: diagnosis.Integer, Help: "Process."},
	{ID: "tid", Kind: diagnosis.Integer, Help: "Thread."},
	{ID: "comm", Kind: diagnosis.Text, Nullable: true, Help: "The process's name."},
	{ID: "thread", Kind: diagnosis.Text, Nullable: true, Help: "The thread's own."},
	{ID: "state", Kind: diagnosis.Text, Help: "running, sleeping (can be interrupted), blocked (cannot), stopped, idle (a kernel thread without work) or preempted."},
	{ID: "waker", Kind: diagnosis.Text, Help: "Who ended it: thread, interrupt, new (it was made), unsure (a thread, or an interrupt that came upon it) or unseen."},
	{ID: "waker_pid", Kind: diagnosis.Integer, Nullable: true, Help: "Process that did; null: none, or not known."},
	{ID: "waker_comm", Kind: diagnosis.Text, Nullable: true, Help: "The name of its thread."},
	{ID: "count", Kind: diagnosis.Integer, Help: "Samples, or times that ended."},
	{ID: "ns", Kind: diagnosis.Integer, Help: "The time in them, and in those that have not ended."},
	{ID: "max_ns", Kind: diagnosis.Integer, Help: "The longest, so far if it has not ended."},
	{ID: "kernel", Kind: diagnosis.List, Help: "Functions of the kernel, innermost first, with their module if they are in one."},
	{ID: "user", Kind: diagnosis.List, Help: "Functions of the program, innermost first, with their modules where they have no name."},
	{ID: "cut", Kind: diagnosis.Boolean, Help: "The stack goes on beyond its last frame."},
	{ID: "missing", Kind: diagnosis.Boolean, Help: "A stack is missing that should be there; see lost."},
}

// CPUFields are the keys of an element of cpus of cpu.
var CPUFields = []diagnosis.Field{
	{ID: "cpu", Kind: diagnosis.Integer, Title: "CPU", Help: "Its number."},
	{ID: "samples", Kind: diagnosis.Integer, Title: "SAMPLES", Help: "Taken on it."},
	{ID: "busy_percent", Kind: number, Nullable: true, Title: "BUSY", Help: "The part of the time in which something ran: what is not idle_ns, or of the samples where that is not known. Null: not known."},
	{ID: "idle", Kind: diagnosis.Integer, Title: "IDLE", Help: "Samples in which nothing ran."},
	{ID: "rested", Kind: diagnosis.Integer, Title: "RESTED", Help: "Samples that did not come while nothing ran, since the CPU then stops what they come by. Nothing is missed by that."},
	{ID: "idle_ns", Kind: diagnosis.Integer, Nullable: true, Title: "IDLE TIME", Help: "The time in which nothing ran, to 10 ms, by the kernel's own account (idle and iowait of /proc/stat). Null: it cannot be read."},
	{ID: "stolen_ns", Kind: diagnosis.Integer, Nullable: true, Title: "STOLEN", Help: "The time that a hypervisor says it had the CPU for others (steal of /proc/stat). Null: it cannot be read."},
	{ID: "left_out", Kind: diagnosis.Integer, Title: "LEFT OUT", Help: "What ran was not asked for."},
	{ID: "gaps", Kind: diagnosis.Integer, Title: "GAPS", Help: "Times that it took no sample for a period or more, in one stretch of time: those of gaps."},
	{ID: "missed", Kind: diagnosis.Integer, Title: "MISSED", Help: "Samples that should have been taken while it was busy, in gaps or in times too short for one."},
	{ID: "gap_ns", Kind: diagnosis.Integer, Title: "TIME", Help: "The time that those would have stood for."},
}

// GapFields are the keys of an element of gaps.
var GapFields = []diagnosis.Field{
	{ID: "cpu", Kind: diagnosis.Integer, Help: "CPU that could not be interrupted."},
	{ID: "pid", Kind: diagnosis.Integer, Nullable: true, Help: "Process that was on it when it could be again; null: none."},
	{ID: "tid", Kind: diagnosis.Integer, Nullable: true, Help: "Its thread."},
	{ID: "comm", Kind: diagnosis.Text, Nullable: true, Help: "The thread's name."},
	{ID: "gaps", Kind: diagnosis.Integer, Help: "How often."},
	{ID: "missed", Kind: diagnosis.Integer, Help: "Samples that should have been taken."},
	{ID: "ns", Kind: diagnosis.Integer, Help: "The time that those would have stood for."},
	{ID: "max_ns", Kind: diagnosis.Integer, Help: "Of the longest."},
	{ID: "kernel", Kind: diagnosis.List, Help: "Where it then was: functions of the kernel, innermost first."},
	{ID: "user", Kind: diagnosis.List, Help: "And of the program."},
}

// StateFields are the keys of an element of states.
var StateFields = []diagnosis.Field{
	{ID: "state", Kind: diagnosis.Text, Title: "STATE", Help: "As in stacks."},
	{ID: "count", Kind: diagnosis.Integer, Title: "COUNT", Help: "Times that ended."},
	{ID: "ns", Kind: diagnosis.Integer, Title: "TIME", Help: "The time in all."},
}

// QueueFields are the keys of an element of processes and cpus of runq. One of pid and cpu is null.
var QueueFields = []diagnosis.Field{
	{ID: "pid", Kind: diagnosis.Integer, Nullable: true, Title: "PID", Help: "Process that waited; null: all on a CPU; 0: it is outside of the caller's pid namespace."},
	{ID: "nspid", Kind: diagnosis.Integer, Nullable: true, Help: "Its pid in a pid namespace of its own, as in a container; null: it has none, or it is not known."},
	{ID: "cpu", Kind: diagnosis.Integer, Nullable: true, Title: "CPU", Help: "CPU that was waited for, where the wait ended; null: any."},
	{ID: "comm", Kind: diagnosis.Text, Nullable: true, Title: "COMMAND", Help: "The process's name."},
	{ID: "woken", Kind: diagnosis.Object, Help: "Waits from a wake-up on."},
	{ID: "preempted", Kind: diagnosis.Object, Help: "Waits from when a thread that could have gone on was taken off its CPU."},
}

// PartFields are the keys of woken and preempted.
var PartFields = []diagnosis.Field{
	{ID: "count", Kind: diagnosis.Integer, Help: "Waits."},
	{ID: "total_ns", Kind: diagnosis.Integer, Help: "Their time."},
	{ID: "mean_ns", Kind: diagnosis.Integer, Help: "Their average."},
	{ID: "p50_ns", Kind: diagnosis.Integer, Nullable: true, Help: "Median, as the upper bound of its slot: at most a quarter too high."},
	{ID: "p99_ns", Kind: diagnosis.Integer, Nullable: true, Help: "99th percentile, likewise."},
	{ID: "max_ns", Kind: diagnosis.Integer, Help: "The longest."},
	{ID: "max_at", Kind: diagnosis.Text, Nullable: true, Help: "When that ended, RFC 3339."},
	{ID: "max_cpu", Kind: diagnosis.Integer, Nullable: true, Help: "On which CPU."},
	{ID: "max_tid", Kind: diagnosis.Integer, Nullable: true, Help: "Of which thread."},
}

// PairFields are the keys of an element of pairs.
var PairFields = []diagnosis.Field{
	{ID: "waker", Kind: diagnosis.Text, Title: "BY", Help: "As in stacks of offcpu."},
	{ID: "waker_pid", Kind: diagnosis.Integer, Nullable: true, Title: "PID", Help: "Process that woke; null: an interrupt."},
	{ID: "waker_comm", Kind: diagnosis.Text, Nullable: true, Title: "WAKER", Help: "The name of its thread."},
	{ID: "woken_pid", Kind: diagnosis.Integer, Title: "PID", Help: "Process that was woken."},
	{ID: "woken_comm", Kind: diagnosis.Text, Nullable: true, Title: "WOKEN", Help: "The name of its thread."},
	{ID: "count", Kind: diagnosis.Integer, Title: "COUNT", Help: "Wake-ups."},
	{ID: "ns", Kind: diagnosis.Integer, Title: "TIME", Help: "Time from them until the thread ran."},
	{ID: "max_ns", Kind: diagnosis.Integer, Title: "MAX", Help: "The longest."},
}

// LongFields are the keys of an element of longest.
var LongFields = []diagnosis.Field{
	{ID: "at", Kind: diagnosis.Text, Help: "When the wait began, RFC 3339."},
	{ID: "ns", Kind: diagnosis.Integer, Help: "How long it was."},
	{ID: "kind", Kind: diagnosis.Text, Help: "woken or preempted."},
	{ID: "cpu", Kind: diagnosis.Integer, Help: "CPU on which it ended."},
	{ID: "pid", Kind: diagnosis.Integer, Help: "Process that waited."},
	{ID: "tid", Kind: diagnosis.Integer, Help: "Its thread."},
	{ID: "comm", Kind: diagnosis.Text, Nullable: true, Help: "The thread's name."},
	{ID: "waker", Kind: diagnosis.Text, Help: "As in stacks of offcpu."},
	{ID: "waker_pid", Kind: diagnosis.Integer, Nullable: true, Help: "Process that woke it; null: an interrupt, or it was not woken."},
	{ID: "waker_comm", Kind: diagnosis.Text, Nullable: true, Help: "The name of its thread."},
	{ID: "ran", Kind: diagnosis.List, Help: "What ran on that CPU meanwhile, by falling time; tid 0 and no name but swapper: nothing, the CPU was idle."},
	{ID: "ran_ns", Kind: diagnosis.Integer, Help: "Their time; less than ns if more than the last 32 turns were in it, or the thread came from another CPU."},
	{ID: "kernel", Kind: diagnosis.List, Help: "Where the last of them gave up the CPU: functions of the kernel, innermost first."},
}

// RanFields are the keys of an element of ran.
var RanFields = []diagnosis.Field{
	{ID: "pid", Kind: diagnosis.Integer, Help: "Process."},
	{ID: "tid", Kind: diagnosis.Integer, Help: "Thread."},
	{ID: "comm", Kind: diagnosis.Text, Nullable: true, Help: "The thread's name."},
	{ID: "ns", Kind: diagnosis.Integer, Help: "How long it ran within the wait."},
}
