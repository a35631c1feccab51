// SPDX-License-Identifier: Apache-2.0

package filesystem

import "github.com/iowitness/iowitness/diagnosis"

// Kinds of values that a diagnosis does not have.
const number diagnosis.Kind = "number"

// DocumentFields are the keys of the JSON document.
var DocumentFields = []diagnosis.Field{
	{ID: "schema", Kind: diagnosis.Integer, Help: "Number of this format. It grows when a key changes its meaning or goes."},
	{ID: "version", Kind: diagnosis.Text, Help: "Version of iowitness."},
	{ID: "kernel", Kind: diagnosis.Text, Help: "Release of the kernel."},
	{ID: "means", Kind: diagnosis.Text, Help: "How calls are witnessed: tp_btf or raw_tp."},
	{ID: "start", Kind: diagnosis.Text, Help: "Begin of the interval, RFC 3339."},
	{ID: "end", Kind: diagnosis.Text, Help: "Its end."},
	{ID: "wall_ns", Kind: diagnosis.Integer, Help: "Its length."},
	{ID: "scope", Kind: diagnosis.Text, Nullable: true, Help: "What was asked for, in words; null: everything."},
	{ID: "mounts", Kind: diagnosis.List, Help: "File systems: those asked for in their order, then others on which calls returned, by falling time."},
	{ID: "files", Kind: diagnosis.List, Help: "Calls by file, process and operation, by falling time."},
	{ID: "under_way", Kind: diagnosis.List, Help: "Calls that have not returned after a second or more, oldest first; they are counted nowhere else. Opens are not among them."},
	{ID: "compared", Kind: diagnosis.Object, Nullable: true, Help: "The first two mounts side by side; null: not asked for."},
	{ID: "lost", Kind: diagnosis.Object, Help: "What went missing: for each id, count and ns."},
	{ID: "cost", Kind: diagnosis.Object, Help: "What iowitness cost: cpu_percent and rss_bytes of its process; of its probes probe_ns and probe_runs in probe_wall_ns, or null."},
	{ID: "notes", Kind: diagnosis.List, Help: "Sentences: what could not be witnessed."},
}

// MountFields are the keys of an element of mounts.
var MountFields = []diagnosis.Field{
	{ID: "mount", Kind: diagnosis.Text, Nullable: true, Help: "Where it is mounted; null: nowhere that we can see."},
	{ID: "fstype", Kind: diagnosis.Text, Nullable: true, Help: "Its type."},
	{ID: "device", Kind: diagnosis.Text, Nullable: true, Help: "The device that it is on."},
	{ID: "gone", Kind: diagnosis.Boolean, Help: "It was unmounted meanwhile."},
	{ID: "operations", Kind: diagnosis.List, Help: "Calls of each kind: read, write, open, fsync, fdatasync, sync_file_range, syncfs, msync."},
	{ID: "sync", Kind: diagnosis.Object, Nullable: true, Help: "Where the time of all calls that synchronize went, writes with O_SYNC or O_DSYNC included; null: there were none."},
	{ID: "journal", Kind: diagnosis.Object, Nullable: true, Help: "Commits of its journal (jbd2); null: none."},
	{ID: "flushes", Kind: diagnosis.Object, Nullable: true, Help: "Flushes of its device's write cache, whoever asked for them; null: none."},
}

// CallFields are what is told of calls: the keys of an element of operations.
var CallFields = []diagnosis.Field{
	{ID: "operation", Kind: diagnosis.Text, Title: "CALL", Help: "Kind of call."},
	{ID: "count", Kind: diagnosis.Integer, Title: "COUNT", Help: "Calls that returned."},
	{ID: "errors", Kind: diagnosis.Integer, Title: "ERRORS", Help: "Of them, those that returned an error. An open that fails has no file, and is not counted at all."},
	{ID: "bytes", Kind: diagnosis.Integer, Title: "BYTES", Help: "Bytes read or written, as the calls returned them."},
	{ID: "total_ns", Kind: diagnosis.Integer, Title: "TOTAL", Help: "Time from entry to return of the system call."},
	{ID: "mean_ns", Kind: diagnosis.Integer, Title: "MEAN", Help: "Its average."},
	{ID: "p50_ns", Kind: diagnosis.Integer, Nullable: true, Title: "P50", Help: "Median, as the upper bound of its slot: at most a quarter too high."},
	{ID: "p99_ns", Kind: diagnosis.Integer, Nullable: true, Title: "P99", Help: "99th percentile, likewise."},
	{ID: "max_ns", Kind: diagnosis.Integer, Title: "MAX", Help: "The longest."},
}

// FileFields are the keys of an element of files, before those of CallFields and "sync".
var FileFields = []diagnosis.Field{
	{ID: "file", Kind: diagnosis.Text, Nullable: true, Title: "FILE", Help: "Path as the process sees it; null: not known."},
	{ID: "inode", Kind: diagnosis.Integer, Nullable: true, Help: "Its number. On btrfs it is unique only within a subvolume."},
	{ID: "mount", Kind: diagnosis.Text, Nullable: true, Help: "Where its file system is mounted."},
	{ID: "pid", Kind: diagnosis.Integer, Nullable: true, Title: "PID", Help: "Process."},
	{ID: "comm", Kind: diagnosis.Text, Nullable: true, Title: "COMMAND", Help: "Its name."},
	{ID: "others", Kind: diagnosis.Integer, Help: "Not 0: the last element, which sums up so many that are not shown; its operation is empty."},
}

// UnderWayFields are the keys of an element of under_way.
var UnderWayFields = []diagnosis.Field{
	{ID: "operation", Kind: diagnosis.Text, Help: "Kind of call."},
	{ID: "file", Kind: diagnosis.Text, Nullable: true, Help: "Path as the process sees it; null: not known."},
	{ID: "inode", Kind: diagnosis.Integer, Nullable: true, Help: "Its number."},
	{ID: "mount", Kind: diagnosis.Text, Nullable: true, Help: "Where its file system is mounted."},
	{ID: "pid", Kind: diagnosis.Integer, Nullable: true, Help: "Process."},
	{ID: "tid", Kind: diagnosis.Integer, Help: "Thread."},
	{ID: "comm", Kind: diagnosis.Text, Nullable: true, Help: "The process's name."},
	{ID: "age_ns", Kind: diagnosis.Integer, Help: "Time since it began."},
	{ID: "cause", Kind: diagnosis.Text, Help: "For what it sleeps; unattributed: it does not, or is none that synchronizes."},
}

// DivisionFields are the keys of "sync": all but the first two add up to total_ns.
var DivisionFields = []diagnosis.Field{
	{ID: "calls", Kind: diagnosis.Integer, Help: "Calls that synchronize."},
	{ID: "total_ns", Kind: diagnosis.Integer, Help: "Their time."},
	{ID: "causes", Kind: diagnosis.List, Help: "Asleep until woken, by cause; see docs/CAUSES.md."},
	{ID: "run_queue_ns", Kind: diagnosis.Integer, Help: "Ready, but waiting for a CPU."},
	{ID: "on_cpu_ns", Kind: diagnosis.Integer, Help: "Running."},
	{ID: "unattributed_ns", Kind: diagnosis.Integer, Help: "Asleep, but where was not noted; see lost."},
}

// CauseFields are the keys of an element of causes.
var CauseFields = []diagnosis.Field{
	{ID: "cause", Kind: diagnosis.Text, Help: "Id of the cause."},
	{ID: "sleeps", Kind: diagnosis.Integer, Help: "How often a thread slept for it."},
	{ID: "ns", Kind: diagnosis.Integer, Help: "How long."},
}

// JournalFields are the keys of journal: sums over all commits.
var JournalFields = []diagnosis.Field{
	{ID: "commits", Kind: diagnosis.Integer, Help: "Transactions that were committed."},
	{ID: "handles", Kind: diagnosis.Integer, Help: "Changes in them."},
	{ID: "blocks", Kind: diagnosis.Integer, Help: "Blocks changed."},
	{ID: "blocks_logged", Kind: diagnosis.Integer, Help: "Blocks written to the journal."},
	{ID: "wait_ns", Kind: diagnosis.Integer, Help: "For each commit the longest that a change waited to join; by jbd2 itself, in ticks of its timer."},
	{ID: "request_delay_ns", Kind: diagnosis.Integer, Help: "From the request for a commit to its begin; likewise."},
	{ID: "running_ns", Kind: diagnosis.Integer, Help: "While the transaction took changes; likewise."},
	{ID: "locked_ns", Kind: diagnosis.Integer, Help: "The commit has begun, and waits for changes under way."},
	{ID: "flushing_ns", Kind: diagnosis.Integer, Help: "Data that must be on the device first is written."},
	{ID: "logging_ns", Kind: diagnosis.Integer, Help: "The journal's blocks are written, with the flushes and the commit block."},
	{ID: "max_ns", Kind: diagnosis.Integer, Help: "The longest of the last three together; since the begin of the run."},
}

// FlushFields are the keys of flushes.
var FlushFields = []diagnosis.Field{
	{ID: "device", Kind: diagnosis.Text, Help: "The whole device."},
	{ID: "count", Kind: diagnosis.Integer, Help: "Flush requests that the device completed."},
	{ID: "total_ns", Kind: diagnosis.Integer, Help: "Their time at the device."},
	{ID: "max_ns", Kind: diagnosis.Integer, Help: "The longest; since the begin of the run."},
	{ID: "unseen", Kind: diagnosis.Integer, Help: "Others, whose begin was not seen."},
}

// ComparedFields are the keys of compared.
var ComparedFields = []diagnosis.Field{
	{ID: "operations", Kind: diagnosis.List, Help: "For each kind of call both sides."},
	{ID: "sync_parts", Kind: diagnosis.List, Help: "Parts of the average call that synchronizes: total first, then by falling difference."},
}

// PairFields are the keys of an element of compared.operations.
var PairFields = []diagnosis.Field{
	{ID: "operation", Kind: diagnosis.Text, Help: "Kind of call."},
	{ID: "a_count", Kind: diagnosis.Integer, Help: "Calls on the first."},
	{ID: "a_mean_ns", Kind: diagnosis.Integer, Nullable: true, Help: "Their average time."},
	{ID: "b_count", Kind: diagnosis.Integer, Help: "Calls on the second."},
	{ID: "b_mean_ns", Kind: diagnosis.Integer, Nullable: true, Help: "Their average time."},
	{ID: "ratio", Kind: number, Nullable: true, Help: "The second's average by the first's."},
}

// PartFields are the keys of an element of compared.sync_parts.
var PartFields = []diagnosis.Field{
	{ID: "part", Kind: diagnosis.Text, Help: "total, run_queue, on_cpu, unattributed, or the id of a cause."},
	{ID: "a_ns", Kind: diagnosis.Integer, Help: "Of the first's average call."},
	{ID: "b_ns", Kind: diagnosis.Integer, Help: "Of the second's."},
}
