// SPDX-License-Identifier: Apache-2.0

package request

import (
	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/snapshot"
)

// NamedRow is a row with what names it, and the summary whose time its rates are of.
type NamedRow struct {
	*Row
	Names   Names
	Summary *Summary
}

// named says that a field is of what the row is of, and not of many things.
func (r NamedRow) named(by By) bool { return r.By == by && !r.Rest && r.Others == 0 }

// phaseIDs are the phases as ids have them.
var phaseIDs = [event.Phases]string{"get", "insert", "dispatch", "device", "total"}

// PhaseTitles are the phases in the letters of block traces, with what they are.
var PhaseTitles = [event.Phases][2]string{
	{"Q→G", "waiting for a request"},
	{"G→I", "on the way to the I/O scheduler"},
	{"I→D", "queued"},
	{"D→C", "driver and device"},
	{"Q→C", "all of it"},
}

// RowFields are the fields of a row of a summary.
var RowFields = append(append(append(keyFields(), countFields()...), phaseFields()...), listFields()...)

func keyFields() []Field[NamedRow] {
	return []Field[NamedRow]{
		{
			Info{ID: "device", Kind: snapshot.Text, Nullable: true, Title: "DEVICE", Width: 8, Priority: 99, Help: "Whole disk, in rows by device; partition, in rows by partition."},
			func(r NamedRow) snapshot.Value {
				if !r.named(ByDevice) && !r.named(ByPartition) {
					return snapshot.Value{}
				}
				return DeviceValue(r.Names, r.Device)
			},
		},
		{
			Info{ID: "disk", Kind: snapshot.Text, Nullable: true, Title: "DISK", Width: 6, Priority: 98, Help: "Whole disk of a partition, in rows by partition."},
			func(r NamedRow) snapshot.Value { return DeviceValue(r.Names, r.Disk) },
		},
		{
			Info{ID: "stacked", Kind: snapshot.Boolean, Help: "The row is of bios on a stacked device; their requests below count in other rows, and these do not."},
			func(r NamedRow) snapshot.Value { return boolean(r.Stacked) },
		},
		{Info: Info{ID: "via", Kind: snapshot.List, Help: "Devices to which a stacked one passed on its bios as they were, as to the paths of a disk; empty of others."}},
		{
			Info{ID: "pid", Unit: snapshot.ID, Kind: snapshot.Integer, Nullable: true, Title: "PID", Right: true, Width: 5, Priority: 98, Help: "Process for which requests are, in rows by process; 0 is the kernel's idle one, or not known."},
			func(r NamedRow) snapshot.Value { return integerIf(r.named(ByProcess), uint64(r.PID)) },
		},
		{
			Info{ID: "comm", Kind: snapshot.Text, Nullable: true, Title: "COMM", Width: 7, Priority: 99, Help: "Command of most of the process's requests."},
			func(r NamedRow) snapshot.Value { return text(r.Comm) },
		},
		{
			Info{ID: "cgroup", Kind: snapshot.Text, Nullable: true, Title: "CGROUP", Width: 12, Flex: true, Priority: 99, Help: "Path of the control group that the kernel charges, in rows by cgroup."},
			func(r NamedRow) snapshot.Value {
				if !r.named(ByCgroup) || r.Cgroup == 0 {
					return snapshot.Value{}
				}
				return text(r.Names.Cgroup(r.Cgroup))
			},
		},
		{
			Info{ID: "cgroup_id", Unit: snapshot.ID, Kind: snapshot.Integer, Nullable: true, Help: "Id of this group."},
			func(r NamedRow) snapshot.Value { return integerIf(r.named(ByCgroup) && r.Cgroup != 0, r.Cgroup) },
		},
		{
			Info{ID: "file", Kind: snapshot.Text, Nullable: true, Title: "FILE", Width: 12, Flex: true, Priority: 99, Help: "Path of the file whose data is moved, in rows by file."},
			func(r NamedRow) snapshot.Value { return text(filePath(r.Names, r.File, 0)) },
		},
		{
			Info{ID: "inode", Unit: snapshot.ID, Kind: snapshot.Integer, Nullable: true, Help: "Inode number of this file."},
			func(r NamedRow) snapshot.Value { return integerIf(r.File.Ino != 0, r.File.Ino) },
		},
		{
			Info{ID: "op", Kind: snapshot.Text, Nullable: true, Title: "OP", Width: 7, Priority: 99, Help: "Kind of operation, in rows by operation."},
			func(r NamedRow) snapshot.Value {
				return snapshot.Value{Known: r.named(ByOp), Text: r.Op.String()}
			},
		},
		{
			Info{ID: "rest", Kind: snapshot.Boolean, Help: "The row is of all that was not told apart for want of room."},
			func(r NamedRow) snapshot.Value { return boolean(r.Rest) },
		},
		{
			Info{ID: "other_rows", Unit: snapshot.Count, Kind: snapshot.Integer, Help: "Not 0 in the row that sums up this many rows beyond the top ones."},
			func(r NamedRow) snapshot.Value { return integer(uint64(r.Others)) },
		},
	}
}

func countFields() []Field[NamedRow] {
	fields := []Field[NamedRow]{
		count("requests", "REQUESTS", 97, "Requests that completed.", func(r *Row) uint64 { return r.Count }),
		rate("requests_per_second", "IOPS", snapshot.NoUnit, 90, "Requests a second.", func(r *Row) uint64 { return r.Count }),
		bytesField("bytes", "BYTES", 89, "Bytes read and written; in rows by operation, of what the operation is.", bytesOf),
		rate("bytes_per_second", "RATE", Bytes, 91, "The same a second.", bytesOf),
		{
			Info{ID: "share_percent", Unit: snapshot.Percent, Kind: snapshot.Number, Nullable: true, Title: "%DEV", Right: true, Width: 5, Priority: 88, Help: "Share of the time that requests of the list spent in the device: who had it most."},
			func(r NamedRow) snapshot.Value { return numberIf(r.Phases[event.PhaseDevice].Count > 0, r.Share) },
		},
	}
	for k := range event.OpKinds {
		id := map[event.OpKind]string{event.KindRead: "reads", event.KindWrite: "writes", event.KindFlush: "flushes", event.KindDiscard: "discards", event.KindOther: "others"}[k]
		title := map[event.OpKind]string{event.KindRead: "READS", event.KindWrite: "WRITES", event.KindFlush: "FLUSHES", event.KindDiscard: "DISCARDS"}[k]
		fields = append(fields, count(id, title, 60-int(k), "Requests of this kind: "+k.String()+".", func(r *Row) uint64 { return r.Kinds[k] }))
	}
	return append(fields,
		Field[NamedRow]{
			Info{ID: "sequential_percent", Unit: snapshot.Percent, Kind: snapshot.Number, Nullable: true, Title: "%SEQ", Right: true, Width: 5, Priority: 70, Help: "Share of requests that begin where the one before ended on the disk, of those that move data."},
			func(r NamedRow) snapshot.Value { p, ok := r.SequentialPercent(); return numberIf(ok, p) },
		},
		count("sequential_of", "", 0, "Requests of which it is known whether they are.", func(r *Row) uint64 { return r.Placed }),
		Field[NamedRow]{
			Info{ID: "depth_mean", Kind: snapshot.Number, Nullable: true, Title: "DEPTH", Right: true, Width: 5, Priority: 69, Help: "Requests of the disk that the driver had at an issue, itself included, on average."},
			func(r NamedRow) snapshot.Value { d, ok := r.MeanDepth(); return numberIf(ok, d) },
		},
		Field[NamedRow]{
			Info{ID: "depth_max", Unit: snapshot.Count, Kind: snapshot.Integer, Nullable: true, Title: "MOST", Right: true, Width: 4, Priority: 40, Help: "The most of them."},
			func(r NamedRow) snapshot.Value { return integerIf(r.DepthCount > 0, r.DepthMax) },
		},
		count("merged", "", 0, "Bios beyond the first of each request.", func(r *Row) uint64 { return r.Merged }),
		count("requeues", "", 0, "Times a driver gave a request back to be issued again.", func(r *Row) uint64 { return r.Requeues }),
		Field[NamedRow]{
			Info{ID: "requeue_ns", Unit: snapshot.Nanoseconds, Kind: snapshot.Integer, Nullable: true, Help: "Part of the time in driver and device until the last issue of requests that were given back, of all of them: without it that is btt's D2C. Unknown where none was, and of live requests, whose last issue is not kept."},
			func(r NamedRow) snapshot.Value { return integerIf(r.Requeued.Count > 0, r.Requeued.NS) },
		},
		count("splits", "", 0, "Requests that are a part of a bio that was too large.", func(r *Row) uint64 { return r.Splits }),
		count("uncharged", "UNCHARGED", 86, "Requests that write back what others dirtied, of a file system or under a version of cgroups that cannot charge that to theirs: the cgroup is that of the thread that writes, the process is who dirtied it.", func(r *Row) uint64 { return r.Uncharged }),
		count("errors", "ERRORS", 87, "Requests that failed.", func(r *Row) uint64 { return r.Errors }),
		count("backwards", "", 0, "Requests of which an instant lies before one that it must follow; they are in no time and no histogram.", func(r *Row) uint64 { return r.Backwards }),
		count("unfinished", "", 0, "Requests whose completion was not seen; they are in no other figure.", func(r *Row) uint64 { return r.Unfinished }),
		Field[NamedRow]{
			Info{ID: "waits", Unit: snapshot.Count, Kind: snapshot.Integer, Nullable: true, Help: "Waits of threads that completions ended; unknown where none was seen, as by sums that are made in the kernel."},
			func(r NamedRow) snapshot.Value { return integerIf(r.Waits.Count > 0, r.Waits.Count) },
		},
		Field[NamedRow]{
			Info{ID: "waits_ns", Unit: snapshot.Nanoseconds, Kind: snapshot.Integer, Nullable: true, Title: "WAITED", Right: true, Width: 7, Priority: 55, Help: "Time of these waits."},
			func(r NamedRow) snapshot.Value { return integerIf(r.Waits.Count > 0, r.Waits.NS) },
		},
	)
}

// phaseFields tell count, mean and maximum of each phase, and quantiles where there are histograms.
func phaseFields() []Field[NamedRow] {
	var fields []Field[NamedRow]
	for p := range event.Phases {
		what := PhaseTitles[p][0] + ", " + PhaseTitles[p][1]
		mean, longest := "", ""
		switch p {
		case event.PhaseDevice:
			mean = "DEV"
		case event.PhaseTotal:
			mean, longest = "MEAN", "MAX"
		}
		fields = append(fields,
			count(phaseIDs[p]+"_count", "", 0, "Requests of which this time is known: "+what+".", func(r *Row) uint64 { return r.Phases[p].Count }),
			span(phaseIDs[p]+"_mean_ns", mean, 80-int(p), "Mean of it.", func(r *Row) (uint64, bool) { return r.Phases[p].Mean() }),
			span(phaseIDs[p]+"_max_ns", longest, 76, "Maximum of it.", func(r *Row) (uint64, bool) { return r.Phases[p].Max, r.Phases[p].Count > 0 }),
		)
	}
	for _, q := range []struct {
		id, title string
		q         float64
		priority  int
	}{{"p50", "P50", .5, 75}, {"p99", "P99", .99, 78}} {
		fields = append(fields,
			span("device_"+q.id+"_ns", "", 0, q.id+" of the time in driver and device, as the upper bound of its histogram slot: at most a quarter too high.", func(r *Row) (uint64, bool) {
				e := snapshot.EstimateQuantile(&r.DeviceTimes, q.q, r.Phases[event.PhaseDevice].Max)
				return e.Value, e.Known
			}),
			span("total_"+q.id+"_ns", q.title, q.priority, q.id+" of the whole time, in the same way.", func(r *Row) (uint64, bool) {
				e := snapshot.EstimateQuantile(&r.TotalTimes, q.q, r.Phases[event.PhaseTotal].Max)
				return e.Value, e.Known
			}),
		)
	}
	return fields
}

// listFields have no single value: views compose them.
func listFields() []Field[NamedRow] {
	return []Field[NamedRow]{
		{Info: Info{ID: "device_histogram", Kind: snapshot.List, Help: "Number of requests by time in driver and device, four slots an octave; empty slots are left out, the last has no upper bound."}},
		{Info: Info{ID: "total_histogram", Kind: snapshot.List, Help: "The same by the whole time."}},
		{Info: Info{ID: "size_histogram", Kind: snapshot.List, Help: "Number of requests that move data, by size: more than gt_bytes, up to le_bytes."}},
		{Info: Info{ID: "device_peaks", Kind: snapshot.List, Help: "Peaks of device_histogram where there are two or more for sure, with their share of the requests; empty: one, or not certain."}},
		{Info: Info{ID: "total_peaks", Kind: snapshot.List, Help: "Those of total_histogram."}},
	}
}

// bytesOf leaves discards out of what is moved: they would hide the rest.
func bytesOf(r *Row) uint64 {
	if r.By == ByOp {
		return r.Bytes
	}
	return r.Moved
}

func count(id, title string, priority int, help string, of func(*Row) uint64) Field[NamedRow] {
	return Field[NamedRow]{
		Info{ID: id, Title: title, Unit: snapshot.Count, Kind: snapshot.Integer, Right: true, Width: len(title), Priority: priority, Help: help},
		func(r NamedRow) snapshot.Value { return integer(of(r.Row)) },
	}
}

func bytesField(id, title string, priority int, help string, of func(*Row) uint64) Field[NamedRow] {
	f := count(id, title, priority, help, of)
	f.Unit = Bytes
	return f
}

func rate(id, title string, unit snapshot.Unit, priority int, help string, of func(*Row) uint64) Field[NamedRow] {
	return Field[NamedRow]{
		Info{ID: id, Title: title, Unit: unit, Kind: snapshot.Number, Nullable: true, Right: true, Width: 6, Priority: priority, Help: help},
		func(r NamedRow) snapshot.Value { v, ok := r.Summary.Rate(of(r.Row)); return numberIf(ok, v) },
	}
}

func span(id, title string, priority int, help string, of func(*Row) (uint64, bool)) Field[NamedRow] {
	return Field[NamedRow]{
		Info{ID: id, Title: title, Unit: snapshot.Nanoseconds, Kind: snapshot.Integer, Nullable: true, Right: true, Width: 7, Priority: priority, Help: help},
		func(r NamedRow) snapshot.Value { return duration(of(r.Row)) },
	}
}

// RowFieldByID finds a field of rows; nil if there is none.
func RowFieldByID(id string) *Field[NamedRow] {
	for i := range RowFields {
		if RowFields[i].ID == id {
			return &RowFields[i]
		}
	}
	return nil
}
