// SPDX-License-Identifier: Apache-2.0

package snapshot

// DocumentFields describes what a snapshot holds beside its rows: the keys of a JSON document.
var DocumentFields = []Field{
	{ID: "schema", Unit: ID, Kind: Integer, Where: InJSON, Help: "Number of this format. It grows when a key changes its meaning or goes."},
	{ID: "version", Kind: Text, Where: InJSON, Help: "Version of iowitness."},
	{ID: "kernel", Kind: Text, Where: InJSON, Help: "Release of the kernel witnessed."},
	{ID: "means", Kind: Object, Where: InJSON, Help: "How it was witnessed: the choice made for each part of the work."},
	{ID: "estimated", Kind: Boolean, Where: InJSON, Help: "Every figure of waits is an estimate, counts included: the means does not see each wait."},
	{ID: "start", Kind: Text, Where: InJSON, Help: "Start of the interval, RFC 3339 with nanoseconds."},
	{ID: "end", Kind: Text, Where: InJSON, Help: "End of the interval."},
	{ID: "wall_ns", Unit: Nanoseconds, Kind: Integer, Where: InJSON, Help: "Length of the interval by the monotonic clock."},
	{ID: "scope", Kind: Text, Where: InJSON, Help: "What was witnessed, such as one process; null: everything."},
	{ID: "by", Kind: List, Where: InJSON, Help: "What the rows are grouped by."},
	{ID: "filtered", Kind: Boolean, Where: InJSON, Help: "A filter left waits out of waits, largest and in_progress."},
	{ID: "cpus", Unit: Count, Kind: Integer, Where: InJSON, Help: "Number of CPUs that iowait_percent is of."},
	{ID: "iowait_percent", Unit: Percent, Kind: Number, Where: InJSON, Help: "What /proc/stat calls iowait, of the time of all CPUs; null: not known. It is idle time, and says little about threads."},
	{ID: "pressure", Kind: Object, Where: InJSON, Help: "PSI io in the interval: percent of wall time in which some or all busy threads were stalled; null: the kernel does not say."},
	{ID: "thread_seconds", Unit: Count, Kind: Number, Where: InJSON, Help: "Seconds that threads waited for storage in each second: the average number of waiting threads."},
	{ID: "unflagged_percent", Unit: Percent, Kind: Number, Where: InJSON, Help: "Share of that which the kernel does not call iowait; null: nobody waited, or the means does not tell."},
	{ID: "other_thread_seconds", Unit: Count, Kind: Number, Where: InJSON, Help: "The same for waits that look like I/O and are not: io_uring waiting for work, sleeps without storage behind them."},
	{ID: "largest", Kind: Object, Where: InJSON, Help: "The process that waited most for storage or, if none did, that waited most; null: nobody waited."},
	{ID: "waits", Kind: List, Where: InJSON, Help: "The rows."},
	{ID: "below_min", Kind: Object, Where: InJSON, Help: "Rows left out because their longest wait was shorter than asked for."},
	{ID: "in_progress", Kind: List, Where: InJSON, Help: "Waits that have not ended: storage first, then the oldest; a bounded list."},
	{ID: "in_progress_total", Unit: Count, Kind: Integer, Where: InJSON, Help: "Number of waits that have not ended, those beyond the list included."},
	{ID: "lost", Kind: Object, Where: InJSON, Help: "What went missing, by kind: how often, and the waiting time behind it where known."},
	{ID: "sampling", Kind: Object, Where: InJSON, Help: "Which waits had their cause looked for, and how many did."},
	{ID: "coverage", Kind: Object, Where: InJSON, Help: "How much was witnessed: measured_ns of elapsed_ns; of the waits one in ratio was measured at all; stacks is false if for some of the time no stacks were taken."},
	{ID: "cost", Kind: Object, Where: InJSON, Help: "What iowitness itself used; the probes' run time is of the last stretch in which it was measured (one interval in ten), null if never."},
	{ID: "notes", Kind: List, Where: InJSON, Help: "Sentences: what could not be witnessed here, and the way out."},
	{ID: "command", Kind: Object, Where: InJSON, Help: "The command that was run, its times and its end; null without a command."},
}

// InProgressFields describes a wait in progress.
var InProgressFields = []Field{
	{ID: "pid", Title: "PID", Unit: ID, Kind: Integer, Where: InJSON | InTable, Right: true, Width: 5, Priority: 85, Help: "Process id."},
	{ID: "tid", Title: "TID", Unit: ID, Kind: Integer, Where: InJSON | InTable, Right: true, Width: 5, Priority: 60, Help: "Thread id."},
	{ID: "comm", Title: "COMMAND", Kind: Text, Where: InJSON | InTable, Width: 6, Priority: 100, Help: "Command name of the thread."},
	{ID: "exe", Kind: Text, Where: InJSON, Help: "Path of the executable."},
	{ID: "user", Kind: Text, Where: InJSON, Help: "Owner of the process."},
	{ID: "cgroup", Kind: Text, Where: InJSON, Help: "Path of the control group."},
	{ID: "container", Kind: Text, Where: InJSON, Help: "Container id."},
	{ID: "age_ns", Title: "AGE", Unit: Nanoseconds, Kind: Integer, Where: InJSON | InTable, Right: true, Width: 7, Estimable: true, Priority: 95, Help: "Time since it fell asleep."},
	{ID: "adopted", Kind: Boolean, Where: InJSON, Help: "It slept before iowitness began: the age is an estimate."},
	{ID: "flagged", Title: "IOWAIT", Kind: Boolean, Where: InJSON | InTable, Width: 6, Priority: 62, Help: "The kernel calls it iowait; unknown where the means does not tell."},
	{ID: "woken", Kind: Boolean, Where: InJSON, Help: "It was woken and waits for a CPU."},
	{ID: "cause", Kind: Text, Where: InJSON, Help: "Id of the cause."},
	{ID: "syscall", Kind: Text, Where: InJSON, Help: "System call it sleeps in."},
	{ID: "device", Kind: Text, Where: InJSON, Help: "Device waited for."},
	{ID: "device_source", Kind: Text, Where: InJSON, Help: "How the device was found."},
	{ID: "file", Kind: Text, Where: InJSON, Help: "Path of the file."},
	{ID: "inode", Unit: ID, Kind: Integer, Where: InJSON, Help: "Inode number of the file."},
	{ID: "file_source", Kind: Text, Where: InJSON, Help: "How the file was found."},
	{ID: "stack", Kind: List, Where: InJSON, Help: "Kernel functions, innermost first."},
	{ID: "waits_for", Title: "WAITS FOR", Kind: Text, Where: InTable, Width: 14, Flex: true, Priority: 80, Help: "The cause in words, the device and the file."},
}
