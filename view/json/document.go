// SPDX-License-Identifier: Apache-2.0

// Package json writes snapshots for programs: one document each, described by
// schema.json. Keys come from the field table, durations are integer
// nanoseconds, what is not known is null, and strings are valid UTF-8.
package json

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"io"
	"math"
	"time"

	"github.com/iowitness/iowitness/identity"
	"github.com/iowitness/iowitness/snapshot"
)

// SchemaNumber is the number of the format.
const SchemaNumber = 1

//go:embed schema.json
var schema []byte

// Schema is the JSON Schema of the documents.
func Schema() []byte { return append([]byte(nil), schema...) }

// WriteSchema writes it.
func WriteSchema(w io.Writer) error {
	_, err := w.Write(schema)
	return err
}

// Options choose what is written beside the snapshot.
type Options struct {
	Command *snapshot.Usage // nil: none was run
	Indent  bool            // for reading; else a document is one line
}

// Write writes one document and a newline.
func Write(w io.Writer, s *snapshot.Snapshot, o Options) error {
	b, err := document(s, o.Command).append(nil)
	if err != nil {
		return err
	}
	if o.Indent {
		var indented bytes.Buffer
		if err := json.Indent(&indented, b, "", "  "); err != nil {
			return err
		}
		b = indented.Bytes()
	}
	_, err = w.Write(append(b, '\n'))
	return err
}

// quote makes a name valid UTF-8 without control characters: every name passes through here.
func quote(raw string) string { return identity.Quote(raw) }

// name is a quoted name, or null.
func name(raw string) any {
	if raw == "" {
		return nil
	}
	return quote(raw)
}

func numberIf(known bool, v float64) any {
	if !known {
		return nil
	}
	return rounded(v)
}

func countIf(known bool, n uint64) any {
	if !known {
		return nil
	}
	return n
}

// rounded keeps three digits after the point: more would claim a precision that is not there.
func rounded(v float64) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	return math.Round(v*1000) / 1000
}

// rows are made and written one after the other: there may be thousands.
func rows(rows []snapshot.Row) stream {
	return func(b []byte) (_ []byte, err error) {
		b = append(b, '[')
		for i := range rows {
			if i > 0 {
				b = append(b, ',')
			}
			if b, err = row(&rows[i]).append(b); err != nil {
				return nil, err
			}
		}
		return append(b, ']'), nil
	}
}

// list is never null.
func list[T any](in []T, convert func(*T) any) []any {
	out := make([]any, 0, len(in))
	for i := range in {
		out = append(out, convert(&in[i]))
	}
	return out
}

func quoted(in []string) []any { return list(in, func(s *string) any { return quote(*s) }) }

// document has exactly the keys of snapshot.DocumentFields, in their order.
func document(s *snapshot.Snapshot, u *snapshot.Usage) object {
	h := &s.Head
	values := map[string]any{
		"schema": SchemaNumber, "version": quote(s.Version), "kernel": quote(s.Kernel), "means": means(s.Means), "estimated": s.Estimated,
		"start": s.Start.UTC().Format(time.RFC3339Nano), "end": s.End.UTC().Format(time.RFC3339Nano), "wall_ns": max(int64(s.Wall), 0),
		"scope": name(s.Scope), "by": list(s.By, func(k *snapshot.Key) any { return k.String() }), "filtered": s.Filtered,
		"cpus": h.CPUs, "iowait_percent": numberIf(h.IOWaitKnown, h.IOWaitPercent), "pressure": pressure(h),
		"thread_seconds": rounded(h.ThreadSeconds()), "unflagged_percent": numberIf(h.FlagKnown(), h.UnflaggedPercent()),
		"other_thread_seconds": rounded(h.OtherSeconds()), "largest": largest(h.Largest),
		"waits":       rows(s.Rows),
		"below_min":   object{{"rows", s.Below.Rows}, {"total_ns", s.Below.Total}},
		"in_progress": list(s.InProgress, func(w *snapshot.InProgress) any { return inProgress(w) }), "in_progress_total": s.Hanging,
		"lost": lost(s.Lost), "sampling": sampling(s), "joined": joined(s), "coverage": coverage(s), "cost": cost(&s.Cost), "notes": quoted(s.Notes), "command": command(u),
	}
	return fromTable(snapshot.DocumentFields, values)
}

// fromTable puts values in the table's order; a key that is missing shows as null and fails the tests.
func fromTable(fields []snapshot.Field, values map[string]any) object {
	var o object
	for i := range fields {
		if fields[i].Where&snapshot.InJSON != 0 {
			o = append(o, member{fields[i].ID, values[fields[i].ID]})
		}
	}
	return o
}

func means(in map[string]string) map[string]string {
	out := make(map[string]string, len(in))
	for k, v := range in {
		out[quote(k)] = quote(v)
	}
	return out
}

func pressure(h *snapshot.Head) any {
	if !h.PressureKnown {
		return nil
	}
	return object{{"some_percent", rounded(h.PressureSome)}, {"full_percent", rounded(h.PressureFull)}}
}

func largest(l *snapshot.Largest) any {
	if l == nil {
		return nil
	}
	return object{
		{"pid", idOrNil(l.Top.PID)},
		{"comm", name(l.Top.Comm)},
		{"storage", l.Storage},
		{"total_ns", l.Total},
		{"not_storage_ns", l.OtherNS},
		{"threads", l.Threads},
		{"cause", l.Top.Cause.ID()},
		{"cause_ns", l.Top.CauseNS},
		{"device", name(l.Top.Device)},
		{"file", name(l.Top.File)},
	}
}

func idOrNil(id uint32) any {
	if id == 0 {
		return nil
	}
	return id
}

func lost(in []snapshot.Loss) object {
	o := object{}
	for _, l := range in {
		o = append(o, member{quote(l.ID), object{{"count", l.Count}, {"ns", l.NS}}})
	}
	return o
}

func sampling(s *snapshot.Snapshot) object {
	return object{
		{"slow_ns", s.SlowNS},
		{"sample_every", s.SampleEvery},
		{"estimated", s.Sampled.Any},
		{"seen", s.Sampled.Seen},
		{"of", s.Sampled.Of},
	}
}

func coverage(s *snapshot.Snapshot) object {
	c := &s.Coverage
	return object{
		{"measured_ns", max(int64(s.Wall), 0)},
		{"elapsed_ns", max(int64(c.Elapsed), 0)},
		{"ratio", max(c.Ratio, 1)},
		{"stacks", !c.Shed},
	}
}

func cost(c *snapshot.Cost) object {
	o := object{{"cpu_percent", rounded(c.CPUPercent)}, {"rss_bytes", c.RSSBytes}, {"probe_ns", nil}, {"probe_runs", nil}, {"probe_wall_ns", nil}}
	if c.ProbeWall > 0 {
		o[2].value, o[3].value, o[4].value = c.ProbeNS, c.ProbeRuns, uint64(c.ProbeWall)
	}
	return o
}

func command(u *snapshot.Usage) any {
	if u == nil {
		return nil
	}
	return object{
		{"argv", quoted(u.Command)},
		{"real_ns", int64(u.Real)},
		{"user_ns", int64(u.User)},
		{"sys_ns", int64(u.Sys)},
		{"minor_faults", u.MinorFaults},
		{"major_faults", u.MajorFaults},
		{"exit_code", u.ExitCode},
		{"signal", name(u.Signal)},
	}
}
