// SPDX-License-Identifier: Apache-2.0

package request

import "github.com/iowitness/iowitness/snapshot"

// SummaryFields are the keys of a summary's document.
var SummaryFields = []Info{
	{ID: "schema", Unit: snapshot.ID, Kind: snapshot.Integer, Help: "Number of this format. It grows when a key changes its meaning or goes."},
	{ID: "version", Kind: snapshot.Text, Help: "Version of iowitness."},
	{ID: "kernel", Kind: snapshot.Text, Nullable: true, Help: "Release of the kernel."},
	{ID: "source", Kind: snapshot.Text, Nullable: true, Help: "Where the requests come from, such as a trace's name; null: they were witnessed live."},
	{ID: "start", Kind: snapshot.Text, Nullable: true, Help: "Begin of the span of time (RFC 3339, UTC); null: not known."},
	{ID: "end", Kind: snapshot.Text, Nullable: true, Help: "End of it."},
	{ID: "wall_ns", Unit: snapshot.Nanoseconds, Kind: snapshot.Integer, Help: "How long it is; rates are of it."},
	{ID: "total", Kind: snapshot.Object, Help: "All requests, as a row. Bios on stacked devices are not among them: their requests below are."},
	{ID: "devices", Kind: snapshot.List, Help: "Rows by whole disk, those of stacked devices among them. In each list those come first whose requests took longest together."},
	{ID: "partitions", Kind: snapshot.List, Help: "Rows by partition, of what was submitted to one; empty: nothing was."},
	{ID: "processes", Kind: snapshot.List, Help: "Rows by process."},
	{ID: "cgroups", Kind: snapshot.List, Help: "Rows by control group."},
	{ID: "files", Kind: snapshot.List, Help: "Rows by file."},
	{ID: "ops", Kind: snapshot.List, Help: "Rows by operation."},
	{ID: "issuers", Kind: snapshot.List, Help: "Who shared each disk, and then each partition: its name and rows by process."},
	{ID: "heatmap", Kind: snapshot.Object, Nullable: true, Help: "Whole times of requests over time: width of a column, and rows of counts by column, the shortest times first; null: no request has a time."},
	{ID: "findings", Kind: snapshot.List, Help: "What the figures of a device speak for. It is evidence and no verdict."},
	{ID: "victim", Kind: snapshot.Object, Nullable: true, Help: "Who shared disks with a process while it was slow, and only then; null: --victim was not given."},
	{ID: "repeats", Kind: snapshot.List, Nullable: true, Help: "Who used the same blocks again and again, by falling requests; null: requests were not looked at one by one, see --repeats."},
	{ID: "repeats_missed", Unit: snapshot.Count, Kind: snapshot.Integer, Help: "By so much each count of repeats may be too low, for want of room or because requests were lost."},
	{ID: "folded", Unit: snapshot.Count, Kind: snapshot.Integer, Help: "Requests whose process, cgroup and file are not told apart for want of room."},
	{ID: "losses", Kind: snapshot.Object, Help: "Requests as they came and went."},
	{ID: "notes", Kind: snapshot.List, Help: "Sentences about what could not be witnessed."},
}

// FindingFields are the keys of a finding.
var FindingFields = []Info{
	{ID: "id", Kind: snapshot.Text, Help: "device_slower: requests take far longer in the device than before, though no more is asked of it; device_slow: they take long all the time, though little is in flight."},
	{ID: "device", Kind: snapshot.Text, Nullable: true, Help: "The disk."},
	{ID: "op", Kind: snapshot.Text, Help: "Of which requests: read or write."},
	{ID: "before", Kind: snapshot.Object, Nullable: true, Help: "How the disk did before; null: there is nothing to compare with."},
	{ID: "now", Kind: snapshot.Object, Help: "How it did from then on, or all the time."},
	{ID: "even", Kind: snapshot.Boolean, Help: "Requests completed at a rate that hardly varied, as by a limit on it."},
}

// PaceFields are the keys of before and now.
var PaceFields = []Info{
	{ID: "wall_ns", Unit: snapshot.Nanoseconds, Kind: snapshot.Integer, Help: "How long it is."},
	{ID: "requests", Unit: snapshot.Count, Kind: snapshot.Integer, Help: "Requests that completed."},
	{ID: "requests_per_second", Kind: snapshot.Number, Help: "Requests a second."},
	{ID: "device_mean_ns", Unit: snapshot.Nanoseconds, Kind: snapshot.Integer, Help: "Mean time in driver and device."},
	{ID: "mean_bytes", Unit: Bytes, Kind: snapshot.Integer, Help: "Mean size."},
	{ID: "depth_mean", Kind: snapshot.Number, Help: "Requests of the disk that the driver had at an issue, on average."},
}

// RepeatFields are the keys of an element of repeats.
var RepeatFields = []Info{
	{ID: "device", Kind: snapshot.Text, Nullable: true, Help: "The disk."},
	{ID: "op", Kind: snapshot.Text, Help: "read or write."},
	{ID: "pid", Unit: snapshot.ID, Kind: snapshot.Integer, Help: "Process for which the requests are."},
	{ID: "comm", Kind: snapshot.Text, Nullable: true, Help: "Its command."},
	{ID: "file", Kind: snapshot.Text, Nullable: true, Help: "File that they are of."},
	{ID: "extents", Unit: snapshot.Count, Kind: snapshot.Integer, Help: "Different places, each with a length, that were used ten times or more."},
	{ID: "bytes", Unit: Bytes, Kind: snapshot.Integer, Help: "Of all of them, once."},
	{ID: "requests", Unit: snapshot.Count, Kind: snapshot.Integer, Help: "Requests to them."},
	{ID: "times_min", Unit: snapshot.Count, Kind: snapshot.Integer, Help: "How often that of them was used that was used least."},
	{ID: "times_max", Unit: snapshot.Count, Kind: snapshot.Integer, Help: "And that which was used most."},
	{ID: "of", Unit: snapshot.Count, Kind: snapshot.Integer, Help: "Requests of this kind that the process had for the file, to whatever place."},
	{ID: "disk_percent", Unit: snapshot.Percent, Kind: snapshot.Number, Help: "Share of requests in those of this kind to the disk."},
}

// LossFields are the keys of losses.
var LossFields = []Info{
	{ID: "started", Unit: snapshot.Count, Kind: snapshot.Integer, Help: "Requests that were seen to begin."},
	{ID: "completed", Unit: snapshot.Count, Kind: snapshot.Integer, Help: "Of these, those that completed."},
	{ID: "in_flight", Unit: snapshot.Count, Kind: snapshot.Integer, Help: "Of these, those that had not at the end."},
	{ID: "unmatched", Unit: snapshot.Count, Kind: snapshot.Integer, Help: "Completions whose beginning was not seen, or beginnings that were given up."},
	{ID: "dropped", Unit: snapshot.Count, Kind: snapshot.Integer, Help: "Requests of which no more is known than that they were lost."},
}
