// SPDX-License-Identifier: Apache-2.0

package json

import (
	"io"
	"time"

	"golang.org/x/sys/unix"

	"github.com/iowitness/iowitness/call"
	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/snapshot"
)

// CallsSchemaNumber is the number of the format of WriteCalls.
const CallsSchemaNumber = 1

// WriteCalls writes a report on calls of functions as one document on one line.
func WriteCalls(w io.Writer, r *call.Report) error {
	keys := make([]any, len(r.Keys))
	for i, k := range r.Keys {
		keys[i] = quote(string(k))
	}
	return writeLine(w, byTable(call.DocumentFields, map[string]any{
		"schema": CallsSchemaNumber, "version": quote(r.Version), "kernel": quote(r.Kernel), "means": quote(r.Means),
		"start": r.Start.UTC().Format(time.RFC3339Nano), "end": r.End.UTC().Format(time.RFC3339Nano),
		"wall_ns": max(int64(r.End.Sub(r.Start)), 0), "scope": name(r.Scope), "where": name(r.Where),
		"functions": r.Functions, "ratio": r.Ratio, "keys": keys, "under_way": r.UnderWay,
		"rows": list(r.Rows, func(row *call.Row) any { return callRow(row, r.Keys) }),
		"lost": lost(r.Lost), "cost": cost(&r.Cost), "notes": quoted(r.Notes),
	}))
}

func callRow(r *call.Row, by []call.Key) object {
	keys := object{}
	for i, k := range by {
		if k != call.ByStack {
			keys = append(keys, member{quote(string(k)), quote(r.Keys[i])})
		}
	}
	values := map[string]any{
		"function": quote(r.Function), "module": name(r.Module), "keys": keys, "count": r.Count, "errors": r.Errors,
		"total_ns": r.Total, "own_ns": r.Own, "mean_ns": r.Mean(), "max_ns": r.Max,
		"peaks": list(r.Peaks, peak), "histogram": callSlots(r.Hist), "others": r.Others,
	}
	if r.P50.Known {
		values["p50_ns"], values["p99_ns"] = r.P50.Value, r.P99.Value
	}
	if r.Stack != nil {
		values["stack"] = quoted(r.Stack)
	}
	return byTable(call.RowFields, values)
}

func callSlots(h event.Hist) []any {
	slots := make([]any, 0, len(h))
	for _, c := range h {
		from, to := snapshot.Bounds(int(c.Slot))
		var end any
		if int(c.Slot) < event.HistSlots-1 {
			end = to
		}
		slots = append(slots, object{{"from_ns", from}, {"to_ns", end}, {"count", c.N}})
	}
	return slots
}

// WriteCall writes a single call on one line.
func WriteCall(w io.Writer, l *call.Line, began time.Time) error {
	return writeLine(w, callLine(l, began, nil))
}

// WriteCallTree writes a call with those within it on one line; at tells when a call began.
func WriteCallTree(w io.Writer, n *call.Node, of func(*event.Call) call.Line, at func(*event.Call) time.Time) error {
	return writeLine(w, callTree(n, of, at))
}

func callTree(n *call.Node, of func(*event.Call) call.Line, at func(*event.Call) time.Time) object {
	l := of(n.Call)
	within := make([]any, 0, len(n.Children))
	for _, c := range n.Children {
		within = append(within, callTree(c, of, at))
	}
	return callLine(&l, at(n.Call), within)
}

func callLine(l *call.Line, began time.Time, within []any) object {
	c := l.Call
	fields := object{}
	for _, v := range l.Values {
		var text any
		if v.Read {
			text = quote(v.Text)
		}
		fields = append(fields, member{quote(v.Name), text})
	}
	values := map[string]any{
		"time": began.UTC().Format(time.RFC3339Nano), "function": quote(l.Function.Name), "module": name(l.Function.Module),
		"comm": quote(c.Comm), "pid": c.PID, "tid": c.TID, "cpu": c.CPU, "latency_ns": c.NS, "own_ns": c.NS - min(c.Inner, c.NS),
		"result": name(l.Result), "fields": fields, "missed": c.Missed,
	}
	if errno := l.Function.Error(c.Ret); errno != 0 {
		values["error"] = name(unix.ErrnoName(errno))
	}
	if l.Stack != nil {
		values["stack"] = quoted(l.Stack)
	}
	if within != nil {
		values["calls"] = within
	}
	return byTable(call.LineFields, values)
}

// anyObjects are lists of objects whose keys the page of documents tells.
var anyObjects = object{{"items", object{{"type", "object"}}}}

// WriteCallsSchema writes the JSON Schema of WriteCalls.
func WriteCallsSchema(w io.Writer) error {
	return writeSchema(w, "Calls of kernel functions", schemaOf(call.DocumentFields, map[string]object{
		"rows": {{"items", schemaOf(call.RowFields, map[string]object{
			"peaks": anyObjects, "histogram": anyObjects,
		})}},
	}))
}

// WriteCallSchema writes the JSON Schema of WriteCall.
func WriteCallSchema(w io.Writer) error {
	return writeSchema(w, "A call of a kernel function", schemaOf(call.LineFields, map[string]object{"calls": anyObjects}))
}
