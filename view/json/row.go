// SPDX-License-Identifier: Apache-2.0

package json

import "github.com/iowitness/iowitness/snapshot"

// composed makes the values that are more than a number or a name.
var composed = map[string]func(*snapshot.Row) any{
	"sampled":     sampled,
	"in_progress": func(r *snapshot.Row) any { return object{{"count", r.Pending.Count}, {"oldest_ns", r.Pending.Oldest}} },
	"histogram":   histogram,
	"bands":       bands,
	"causes":      causes,
	"top_process": topProcess,
	"stack":       stack,
	"stacks":      stacks,
}

// row has exactly the keys of snapshot.RowFields that are in JSON, in their order.
func row(r *snapshot.Row) object {
	var o object
	for i := range snapshot.RowFields {
		f := &snapshot.RowFields[i]
		switch {
		case f.Where&snapshot.InJSON == 0:
		case f.Value != nil:
			o = append(o, member{f.ID, scalar(f, f.Value(r))})
		default:
			o = append(o, member{f.ID, composed[f.ID](r)})
		}
	}
	return o
}

func scalar(f *snapshot.Field, v snapshot.Value) any {
	if !v.Known {
		return nil
	}
	switch f.Kind {
	case snapshot.Integer:
		return v.Int
	case snapshot.Number:
		return rounded(v.Num)
	case snapshot.Boolean:
		return v.Bool
	}
	return quote(v.Text)
}

func sampled(r *snapshot.Row) any {
	if !r.Sampled.Any {
		return nil
	}
	return object{{"seen", r.Sampled.Seen}, {"of", r.Sampled.Of}}
}

func histogram(r *snapshot.Row) any { return slots(&r.Hist) }

func slots(h *snapshot.Histogram) []any {
	slots := []any{}
	for slot, n := range h {
		if n == 0 {
			continue
		}
		lo, hi := snapshot.Bounds(slot)
		slots = append(slots, object{{"ge_ns", lo}, {"lt_ns", limitOrNil(hi)}, {"count", n}})
	}
	return slots
}

func bands(r *snapshot.Row) any {
	if r.Count > 0 && r.Hist.Count() == 0 {
		return nil // how long each was is not known
	}
	b := snapshot.Bands(&r.Hist)
	return object{{"lt_1ms", b[0]}, {"1_to_10ms", b[1]}, {"10_to_100ms", b[2]}, {"ge_100ms", b[3]}}
}

func causes(r *snapshot.Row) any {
	return list(r.Causes, func(c *snapshot.CauseShare) any {
		return append(
			object{{"cause", c.Cause.ID()}, {"total_ns", c.Total}, {"percent", rounded(c.Share)}, {"count", c.Count}, {"recorded", c.Recorded}},
			joins(c)...)
	})
}

func topProcess(r *snapshot.Row) any {
	return object{{"pid", idOrNil(r.Top.PID)}, {"comm", name(r.Top.Comm)}, {"total_ns", r.Top.ProcessNS}}
}

func stack(r *snapshot.Row) any {
	if len(r.Stacks) == 0 {
		return []any{}
	}
	return quoted(r.Stacks[0].Frames)
}

func stacks(r *snapshot.Row) any {
	return list(r.Stacks, func(s *snapshot.StackShare) any {
		return object{{"cause", s.Cause.ID()}, {"total_ns", s.Total}, {"frames", quoted(s.Frames)}}
	})
}

// inProgress has exactly the keys of snapshot.InProgressFields, in their order.
func inProgress(w *snapshot.InProgress) object {
	var inode, flagged any
	if w.Inode != 0 {
		inode = w.Inode
	}
	if flagged = w.Flagged; w.FlagUnknown {
		flagged = nil
	}
	return fromTable(snapshot.InProgressFields, map[string]any{
		"pid": w.PID, "tid": w.TID, "comm": name(w.Comm), "exe": name(w.Exe), "user": name(w.User), "cgroup": name(w.Cgroup),
		"container": name(w.Container), "age_ns": w.Age, "adopted": w.Adopted, "flagged": flagged, "woken": w.Woken,
		"cause": w.Cause.ID(), "syscall": name(w.Syscall), "device": name(w.Device),
		"device_source": name(snapshot.DeviceSourceName(w.DeviceSource)), "file": name(w.File), "inode": inode,
		"file_source": name(snapshot.FileSourceName(w.FileSource)), "stack": quoted(w.Stack),
	})
}
