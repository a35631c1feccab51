// SPDX-License-Identifier: Apache-2.0

package json

import (
	"io"
	"math"
	"time"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/request"
	"github.com/iowitness/iowitness/snapshot"
)

// RequestsSchemaNumber is the number of the format of summaries of requests.
const RequestsSchemaNumber = 1

// WriteRequests writes a summary of block requests as one document and a newline; indented for
// reading, else as one line.
func WriteRequests(w io.Writer, s *request.Summary, names request.Names, indent bool) error {
	o := requests(s, names)
	if indent {
		return writeIndented(w, o)
	}
	return writeLine(w, o)
}

// requests has exactly the keys of request.SummaryFields, in their order.
func requests(s *request.Summary, names request.Names) object {
	rows := func(in []request.Row) []any {
		return list(in, func(r *request.Row) any { return requestRow(r, s, names) })
	}
	return inOrder(request.SummaryFields, map[string]any{
		"schema": RequestsSchemaNumber, "version": quote(s.Version), "kernel": name(s.Kernel), "source": name(s.Source),
		"start": timeOrNil(s.Start), "end": timeOrNil(s.End), "wall_ns": max(int64(s.Wall), 0),
		"total": requestRow(&s.Total, s, names), "devices": rows(s.Devices), "partitions": rows(s.Partitions), "processes": rows(s.Processes),
		"cgroups": rows(s.Cgroups), "files": rows(s.Files), "ops": rows(s.Ops),
		"issuers": list(s.Issuers, func(i *request.Sharing) any {
			return object{{"device", deviceOrNumber(names, i.Device)}, {"processes", rows(i.Issuers)}}
		}),
		"heatmap":  heatMap(s.Heat),
		"findings": list(s.Findings, func(f *request.Finding) any { return finding(f, names) }),
		"victim":   victim(s.Victim, names), "repeats": repeats(s.Repeats, names), "repeats_missed": s.Missed, "folded": s.Folded, "losses": requestLosses(&s.Losses), "notes": quoted(s.Notes),
	})
}

// inOrder puts values in the table's order; a key that is missing shows as null and fails the tests.
func inOrder(infos []request.Info, values map[string]any) object {
	return byTable(described(infos), values)
}

func timeOrNil(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Format(time.RFC3339Nano)
}

func deviceOrNumber(names request.Names, dev event.Dev) any {
	return scalarOf(snapshot.Text, request.DeviceValue(names, dev))
}

func requestRow(r *request.Row, s *request.Summary, names request.Names) object {
	return valuesOf(request.RowFields, request.NamedRow{Row: r, Names: names, Summary: s}, map[string]any{
		"via":              list(r.Via, func(d *event.Dev) any { return deviceOrNumber(names, *d) }),
		"device_histogram": slots(&r.DeviceTimes), "total_histogram": slots(&r.TotalTimes), "size_histogram": sizes(&r.Sizes),
		"device_peaks": list(snapshot.Peaks(&r.DeviceTimes), peak), "total_peaks": list(snapshot.Peaks(&r.TotalTimes), peak),
	})
}

func peak(p *snapshot.Peak) any {
	return object{{"ns", p.NS}, {"count", p.Count}, {"percent", rounded(p.Percent)}}
}

func sizes(s *request.Sizes) []any {
	out := []any{}
	for i, n := range s {
		if n == 0 {
			continue
		}
		var from uint64
		if i > 0 {
			from = request.SizeLimit(i - 1)
		}
		var to any = request.SizeLimit(i)
		if i == request.SizeSlots-1 {
			to = nil
		}
		out = append(out, object{{"gt_bytes", from}, {"le_bytes", to}, {"count", n}})
	}
	return out
}

// heatMap has all columns there are.
func heatMap(h *request.Heat) any {
	grid := h.Grid(0)
	if len(grid.Rows) == 0 {
		return nil
	}
	return object{{"column_ns", grid.StepNS}, {"rows", list(grid.Rows, func(r *request.HeatRow) any {
		return object{{"ge_ns", r.Lo}, {"lt_ns", limitOrNil(r.Hi)}, {"counts", list(r.Counts, func(n *uint64) any { return *n })}}
	})}}
}

func limitOrNil(hi uint64) any {
	if hi == math.MaxUint64 {
		return nil
	}
	return hi
}

func finding(f *request.Finding, names request.Names) object {
	var before any
	if f.Before != nil {
		before = pace(f.Before)
	}
	return inOrder(request.FindingFields, map[string]any{
		"id": string(f.ID), "device": deviceOrNumber(names, f.Device), "op": f.Op.String(), "before": before, "now": pace(&f.Now), "even": f.Even,
	})
}

func pace(p *request.Pace) object {
	return inOrder(request.PaceFields, map[string]any{
		"wall_ns": p.NS, "requests": p.Count, "requests_per_second": rounded(p.PerSecond), "device_mean_ns": p.MeanNS,
		"mean_bytes": p.MeanBytes, "depth_mean": rounded(p.Depth),
	})
}

func requestLosses(l *request.Losses) object {
	return inOrder(request.LossFields, map[string]any{
		"started": l.Started, "completed": l.Completed, "in_flight": l.InFlight, "unmatched": l.Unmatched, "dropped": l.Dropped,
	})
}
