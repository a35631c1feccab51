// SPDX-License-Identifier: Apache-2.0

package json

import (
	"fmt"
	"io"
	"time"

	"github.com/iowitness/iowitness/failure"
)

// FailuresSchemaNumber is the number of the format of WriteFailures.
const FailuresSchemaNumber = 1

// WriteFailures writes a report on what failed as one document on one line.
func WriteFailures(w io.Writer, r *failure.Report) error {
	return writeLine(w, byTable(failure.DocumentFields, map[string]any{
		"schema": FailuresSchemaNumber, "version": quote(r.Version), "kernel": quote(r.Kernel), "means": quote(r.Means),
		"start": r.Start.UTC().Format(time.RFC3339Nano), "end": r.End.UTC().Format(time.RFC3339Nano),
		"wall_ns": max(int64(r.End.Sub(r.Start)), 0), "scope": name(r.Scope), "functions": r.Functions, "attach_ns": int64(r.Attach),
		"failed": r.Failed(), "deaths": list(r.Deaths, death), "more_deaths": r.MoreDeaths, "rows": list(r.Rows, failureRow),
		"lost": lost(r.Lost), "cost": cost(&r.Cost), "notes": quoted(r.Notes),
	}))
}

func failureRow(r *failure.Row) any {
	return byTable(failure.RowFields, map[string]any{
		"call": quote(r.Call), "error": failure.ErrnoName(r.Errno), "errno": int(r.Errno), "restarts": failure.Restarts(r.Errno),
		"count": r.Count, "told": r.Told, "total_ns": r.NS, "origins": list(r.Origins, origin),
	})
}

func origin(o *failure.Origin) any {
	return byTable(failure.OriginFields, map[string]any{
		"function": name(o.Function), "count": o.Count, "example": failedCall(&o.Example), "other_paths": o.Others,
		"paths": list(o.Paths, func(p *failure.Path) any {
			return byTable(failure.PathFields, map[string]any{"path": quote(p.Text), "count": p.Count})
		}),
	})
}

func failedCall(c *failure.Call) any {
	arguments := object{}
	for _, a := range c.Arguments {
		arguments = append(arguments, member{quote(a.Name), quote(a.Text)})
	}
	return byTable(failure.CallFields, map[string]any{
		"call": quote(c.Name), "arguments": arguments, "error": failure.ErrnoName(c.Errno), "comm": quote(c.Comm), "pid": c.PID, "tid": c.TID,
		"latency_ns": c.NS, "steps": list(c.Chain.Steps, step), "before": list(c.Chain.Before, step), "others": list(c.Chain.Others, step),
		"callers": list(c.Chain.Callers, func(f *failure.Frame) any { return quote(f.Function) }), "cut": c.Chain.Cut,
	})
}

func step(s *failure.Step) any {
	return byTable(failure.StepFields, map[string]any{"function": quote(s.Function), "error": failure.ErrnoName(s.Errno)})
}

func death(d *failure.Death) any {
	values := map[string]any{"pid": d.PID, "comm": quote(d.Comm), "signal": d.Signal, "dumped": d.Dumped}
	if d.Sender != nil {
		values["sender"] = sender(d.Sender)
	}
	if d.During != nil {
		values["during"] = failedCall(d.During)
	}
	return byTable(failure.DeathFields, values)
}

func sender(s *failure.Sender) any {
	values := map[string]any{"kernel": s.Kernel, "code": s.Code, "comm": quote(s.Comm), "pid": s.PID, "tid": s.TID, "stack": quoted(s.Functions)}
	if s.IsFault {
		values["address"] = fmt.Sprintf("%#x", s.Address)
	}
	return byTable(failure.SenderFields, values)
}

// WriteFailuresSchema writes the JSON Schema of WriteFailures.
func WriteFailuresSchema(w io.Writer) error {
	steps := object{{"items", schemaOf(failure.StepFields, nil)}}
	call := schemaOf(failure.CallFields, map[string]object{"steps": steps, "before": steps, "others": steps})
	properties := func(o object) object { return o[1:] } // the type is the field's own: it may be null
	return writeSchema(w, "What failed", schemaOf(failure.DocumentFields, map[string]object{
		"rows": {{"items", schemaOf(failure.RowFields, map[string]object{
			"origins": {{"items", schemaOf(failure.OriginFields, map[string]object{
				"example": properties(call), "paths": {{"items", schemaOf(failure.PathFields, nil)}},
			})}},
		})}},
		"deaths": {{"items", schemaOf(failure.DeathFields, map[string]object{
			"sender": properties(schemaOf(failure.SenderFields, nil)), "during": properties(call),
		})}},
	}))
}
