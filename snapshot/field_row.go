// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"github.com/iowitness/iowitness/blame"
	"github.com/iowitness/iowitness/event"
)

// RowFields describes the fields of a row, in the order of JSON keys and columns.
var RowFields = []Field{
	{
		ID: "pid", Title: "PID", Unit: ID, Kind: Integer, Where: InJSON | AsKey, Right: true, Width: 5, Priority: 85,
		Help:  "Process id, as seen outside containers; unknown where a row is of several processes.",
		Value: func(r *Row) Value { return integerIf(r.PID != 0, uint64(r.PID)) },
	},
	{
		ID: "tid", Title: "TID", Unit: ID, Kind: Integer, Where: InJSON | AsKey, Right: true, Width: 5, Priority: 86,
		Help:  "Thread id, in rows by thread.",
		Value: func(r *Row) Value { return integerIf(r.TID != 0, uint64(r.TID)) },
	},
	{
		ID: "nspid", Title: "NSPID", Unit: ID, Kind: Integer, Where: InJSON, Right: true, Width: 5, Priority: 75,
		Help:  "Process id inside its innermost container.",
		Value: func(r *Row) Value { return integerIf(r.NSPID != 0, uint64(r.NSPID)) },
	},
	{
		ID: "comm", Title: "COMMAND", Kind: Text, Where: InJSON | AsKey, Width: 6, Priority: 100,
		Help:  "Command name that the kernel keeps, at most 15 bytes: of the thread in rows by thread, else of the process.",
		Value: func(r *Row) Value { return text(r.Comm) },
	},
	{
		ID: "exe", Title: "EXECUTABLE", Kind: Text, Where: InJSON, Width: 10, Flex: true, Priority: 75,
		Help:  "Path of the executable.",
		Value: func(r *Row) Value { return text(r.Exe) },
	},
	{
		ID: "cwd", Title: "DIRECTORY", Kind: Text, Where: InJSON, Width: 10, Flex: true, Priority: 74,
		Help:  "Working directory.",
		Value: func(r *Row) Value { return text(r.Cwd) },
	},
	{
		ID: "user", Title: "USER", Kind: Text, Where: InJSON | AsKey, Width: 4, Priority: 98,
		Help:  "Owner of the process; its number where it has no name.",
		Value: func(r *Row) Value { return text(r.User) },
	},
	{
		ID: "uid", Title: "UID", Unit: ID, Kind: Integer, Where: InJSON, Right: true, Width: 4, Priority: 73,
		Help:  "Number of the user.",
		Value: func(r *Row) Value { return integerIf(r.UIDKnown, uint64(r.UID)) },
	},
	{
		ID: "cgroup", Title: "CGROUP", Kind: Text, Where: InJSON | AsKey, Width: 10, Flex: true, Priority: 97,
		Help:  "Path of the control group.",
		Value: func(r *Row) Value { return text(r.Cgroup) },
	},
	{
		ID: "container", Title: "CONTAINER", Kind: Text, Where: InJSON | AsKey, Width: 12, Flex: true, Priority: 96,
		Help:  "Container id, told from the control group's path.",
		Value: func(r *Row) Value { return text(r.Container) },
	},
	{
		ID: "kernel_thread", Kind: Boolean, Where: InJSON,
		Help:  "All processes of the row are kernel threads.",
		Value: func(r *Row) Value { return boolean(r.Kernel) },
	},
	{
		ID: "other_rows", Unit: Count, Kind: Integer, Where: InJSON,
		Help:  "Not 0 in the last row where it sums up this many rows beyond the top ones.",
		Value: func(r *Row) Value { return integer(uint64(r.Others)) },
	},
	{
		ID: "processes", Title: "PROCS", Unit: Count, Kind: Integer, Where: InJSON, Right: true, Width: 5, Priority: 20,
		Help:  "Number of processes that waited.",
		Value: func(r *Row) Value { return integer(uint64(r.Processes)) },
	},
	{
		ID: "threads", Title: "THREADS", Unit: Count, Kind: Integer, Where: InJSON, Right: true, Width: 7, Priority: 21,
		Help:  "Number of threads that waited.",
		Value: func(r *Row) Value { return integer(uint64(r.Threads)) },
	},
	{
		ID: "cause", Title: "CAUSE", Kind: Text, Where: InJSON | AsKey, Width: 10, Flex: true, Priority: 99,
		Help:  "Id of the cause with the largest part of the waiting; see the list of causes.",
		Value: func(r *Row) Value { return Value{Known: len(r.Causes) > 0, Text: r.Top.Cause.ID()} },
	},
	{
		ID: "cause_ns", Unit: Nanoseconds, Kind: Integer, Where: InJSON,
		Help:  "Part of total_ns that has this cause.",
		Value: func(r *Row) Value { return integer(r.Top.CauseNS) },
	},
	{
		ID: "syscall", Title: "SYSCALL", Kind: Text, Where: InJSON, Width: 8, Priority: 72,
		Help:  "System call with the largest part of this cause; unknown in page faults and kernel threads.",
		Value: func(r *Row) Value { return text(r.Top.Syscall) },
	},
	{
		ID: "device", Title: "DEVICE", Kind: Text, Where: InJSON | AsKey, Width: 6, Priority: 98,
		Help:  "Device with the largest part of this cause.",
		Value: func(r *Row) Value { return text(r.Top.Device) },
	},
	{
		ID: "device_ns", Unit: Nanoseconds, Kind: Integer, Where: InJSON,
		Help:  "Part of cause_ns on this device.",
		Value: func(r *Row) Value { return integerIf(r.Top.Device != "", r.Top.DeviceNS) },
	},
	{
		ID: "device_source", Title: "BY", Kind: Text, Where: InJSON, Width: 10, Priority: 71,
		Help:  "How the device was found: request (its completion woke the thread), file (a block device) or superblock (the file system's).",
		Value: func(r *Row) Value { return text(DeviceSourceName(r.Top.DeviceSource)) },
	},
	{
		ID: "file", Title: "FILE", Kind: Text, Where: InJSON | AsKey, Width: 12, Flex: true, Priority: 98,
		Help:  "Path of the file with the largest part of this cause.",
		Value: func(r *Row) Value { return text(r.Top.File) },
	},
	{
		ID: "inode", Title: "INODE", Unit: ID, Kind: Integer, Where: InJSON, Right: true, Width: 6, Priority: 70,
		Help:  "Inode number of this file.",
		Value: func(r *Row) Value { return integerIf(r.Top.Inode != 0, r.Top.Inode) },
	},
	{
		ID: "file_ns", Unit: Nanoseconds, Kind: Integer, Where: InJSON,
		Help:  "Part of cause_ns on this file.",
		Value: func(r *Row) Value { return integerIf(r.Top.FileSource != event.NoFile, r.Top.FileNS) },
	},
	{
		ID: "file_source", Kind: Text, Where: InJSON,
		Help:  "How the file was found: fd (the system call's file descriptor), folio (the page waited for) or mapping (the one that faulted).",
		Value: func(r *Row) Value { return text(FileSourceName(r.Top.FileSource)) },
	},
	{
		ID: "count", Title: "WAITS", Unit: Count, Kind: Integer, Where: InJSON | InTable, Right: true, Width: 5, Priority: 65, Estimable: true,
		Help:  "Number of waits that ended.",
		Value: func(r *Row) Value { return integer(r.Count) },
	},
	{
		ID: "total_ns", Title: "TOTAL", Unit: Nanoseconds, Kind: Integer, Where: InJSON | InTable, Right: true, Width: 7, Priority: 95, Estimable: true,
		Help:  "Time waited in the interval, from falling asleep to being woken; waits still in progress included.",
		Value: func(r *Row) Value { return integer(r.Total) },
	},
	{
		ID: "wall_percent", Title: "%WALL", Unit: Percent, Kind: Number, Where: InJSON | InTable, Right: true, Width: 5, Priority: 60, Estimable: true,
		Help:  "Total as a share of wall time: 100 is one thread that waited all the time, so many threads may exceed it.",
		Value: func(r *Row) Value { return number(r.WallPercent) },
	},
	{
		ID: "max_ns", Title: "MAX", Unit: Nanoseconds, Kind: Integer, Where: InJSON | InTable, Right: true, Width: 7, Priority: 70, Estimable: true,
		Help:  "Longest wait, one in progress included; what lies before the interval counts. In estimated rows the longest that was recorded: all from the slow threshold on are.",
		Value: func(r *Row) Value { return integer(r.Max) },
	},
	{
		ID: "p50_ns", Title: "P50", Unit: Nanoseconds, Kind: Integer, Where: InJSON | InTable, Right: true, Width: 7, Priority: 30, Estimable: true,
		Help:  "Median wait, told as the upper bound of its histogram slot; the true value lies between p50_ge_ns and this.",
		Value: func(r *Row) Value { return integerIf(r.P50.Known, r.P50.Value) },
	},
	{
		ID: "p50_ge_ns", Unit: Nanoseconds, Kind: Integer, Where: InJSON,
		Help:  "The median is not below this.",
		Value: func(r *Row) Value { return integerIf(r.P50.Known, r.P50.AtLeast) },
	},
	{
		ID: "p99_ns", Title: "P99", Unit: Nanoseconds, Kind: Integer, Where: InJSON | InTable, Right: true, Width: 7, Priority: 45, Estimable: true,
		Help:  "99 of 100 waits took no longer, told as the upper bound of the histogram slot; the true value lies between p99_ge_ns and this.",
		Value: func(r *Row) Value { return integerIf(r.P99.Known, r.P99.Value) },
	},
	{
		ID: "p99_ge_ns", Unit: Nanoseconds, Kind: Integer, Where: InJSON,
		Help:  "The 99th percentile is not below this.",
		Value: func(r *Row) Value { return integerIf(r.P99.Known, r.P99.AtLeast) },
	},
	{
		ID: "runqueue_ns", Title: "RUNQ", Unit: Nanoseconds, Kind: Integer, Where: InJSON | InTable, Right: true, Width: 7, Priority: 40, Estimable: true,
		Help:  "Time from being woken to running again: waiting for a CPU, not for I/O, and not part of the total; unknown by some means.",
		Value: func(r *Row) Value { return integerIf(!r.RunQueueUnknown, r.RunQueue) },
	},
	{
		ID: "flagged", Title: "IOWAIT", Kind: Boolean, Where: InJSON | InTable, Width: 6, Priority: 62,
		Help:  "Whether the kernel calls the waiting iowait: yes, no or the share that is; in JSON, true if at least half of it is. Unknown where the means does not tell.",
		Value: func(r *Row) Value { return Value{Known: r.FlagKnown(), Bool: r.FlaggedMostly()} },
	},
	{
		ID: "flagged_ns", Unit: Nanoseconds, Kind: Integer, Where: InJSON, Estimable: true,
		Help:  "Part of total_ns that the kernel calls iowait; unknown where the means does not tell.",
		Value: func(r *Row) Value { return integerIf(!flagUnknown(r.FlagUnknownNS, r.Total), r.FlaggedNS) },
	},
	{
		ID: "exact", Kind: Boolean, Where: InJSON,
		Help:  "Count, total, run queue, flagged time and histogram are exact, not scaled up from a sample.",
		Value: func(r *Row) Value { return boolean(r.Exact) },
	},
	{
		ID: "sampled", Kind: Object, Where: InJSON,
		Help: "How many waits the causes rest on: seen of so many; null where all were seen.",
	},
	{
		ID: "in_progress", Title: "NOW", Unit: Count, Kind: Object, Where: InJSON, Right: true, Width: 3, Priority: 68,
		Help: "Waits that have not ended: their count and the age of the oldest.",
	},
	{
		ID: "histogram", Kind: List, Where: InJSON,
		Help: "Number of waits by time blocked, four slots an octave; empty slots are left out, the last has no upper bound.",
	},
	{
		ID: "bands", Kind: Object, Where: InJSON,
		Help: "Number of waits below 1 ms, 1 to 10, 10 to 100 and above 100 ms; told from the histogram, so approximate at the edges; null where single waits are not told.",
	},
	{
		ID: "causes", Kind: List, Where: InJSON,
		Help: "The whole split by cause, with the block requests behind it; its times add up to total_ns.",
	},
	{
		ID: "top_process", Kind: Object, Where: InJSON,
		Help: "The process with the largest part of the row.",
	},
	{
		ID: "stack", Kind: List, Where: InJSON,
		Help: "Kernel functions of the stack with the largest part, innermost first; empty where none was taken.",
	},
	{
		ID: "stacks", Kind: List, Where: InJSON,
		Help: "The largest distinct stacks with their cause and time; with --stacks more than one.",
	},
	{
		ID: "waited_by", Title: "WAITED BY", Kind: Text, Where: InTable, Width: 10, Flex: true, Priority: 55,
		Help: "The process with the largest part of the row, with its share where it is not alone.",
	},
	{
		ID: "waited_for", Title: "WAITED FOR", Kind: Text, Where: InTable, Width: 14, Flex: true, Priority: 80,
		Help: "The largest cause in words with its share of the total, its device and its file.",
	},
}

var deviceSources = map[blame.DeviceSource]string{blame.ByRequest: "request", blame.ByFile: "file", blame.BySuperblock: "superblock"}

// DeviceSourceName is the word for how a device was found; empty: it was not.
func DeviceSourceName(s blame.DeviceSource) string { return deviceSources[s] }

var fileSources = map[event.FileSource]string{event.ByFD: "fd", event.ByFolio: "folio", event.ByVMA: "mapping"}

// FileSourceName is the word for how a file was found; empty: it was not.
func FileSourceName(s event.FileSource) string { return fileSources[s] }
