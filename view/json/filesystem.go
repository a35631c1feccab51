// SPDX-License-Identifier: Apache-2.0

package json

import (
	"io"
	"time"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/filesystem"
)

// FilesystemSchemaNumber is the number of the format of WriteFilesystem.
const FilesystemSchemaNumber = 1

// WriteFilesystem writes a report on file systems as one document on one line.
func WriteFilesystem(w io.Writer, r *filesystem.Report) error {
	return writeLine(w, filesystemDocument(r))
}

func filesystemDocument(r *filesystem.Report) object {
	points := map[event.Dev]string{}
	for i := range r.Mounts {
		points[r.Mounts[i].Dev] = r.Mounts[i].Point
	}
	return byTable(filesystem.DocumentFields, map[string]any{
		"schema": FilesystemSchemaNumber, "version": quote(r.Version), "kernel": quote(r.Kernel), "means": quote(r.Means),
		"start": r.Start.UTC().Format(time.RFC3339Nano), "end": r.End.UTC().Format(time.RFC3339Nano),
		"wall_ns": max(int64(r.End.Sub(r.Start)), 0), "scope": name(r.Scope),
		"mounts":    list(r.Mounts, func(m *filesystem.Mount) any { return mountObject(m) }),
		"files":     list(r.Rows, func(row *filesystem.Row) any { return fileObject(row, points[row.Dev]) }),
		"under_way": list(r.UnderWay, func(c *filesystem.Call) any { return underWayObject(c, points[c.Dev]) }),
		"compared":  comparedObject(r.Compared), "lost": lost(r.Lost), "cost": cost(&r.Cost), "notes": quoted(r.Notes),
	})
}

func mountObject(m *filesystem.Mount) object {
	return byTable(filesystem.MountFields, map[string]any{
		"mount": name(m.Point), "fstype": name(m.FSType), "device": name(m.Device), "gone": m.Gone,
		"operations": list(m.Operations, func(row *filesystem.Row) any { return byTable(filesystem.CallFields, callValues(row)) }),
		"sync":       divisionObject(&m.Division), "journal": journalObject(m.Journal), "flushes": flushesObject(m),
	})
}

func callValues(r *filesystem.Row) map[string]any {
	values := map[string]any{
		"operation": r.Op.String(), "count": r.Count, "errors": r.Errors, "bytes": r.Bytes,
		"total_ns": r.Total, "mean_ns": r.Mean(), "max_ns": r.Max,
	}
	if r.P50.Known {
		values["p50_ns"], values["p99_ns"] = r.P50.Value, r.P99.Value
	}
	return values
}

func fileObject(r *filesystem.Row, point string) object {
	o := byTable(filesystem.FileFields, map[string]any{
		"file": name(r.File), "inode": numberOrNil(r.Inode), "mount": name(point),
		"pid": idOrNil(r.PID), "comm": name(r.Comm), "others": r.Others,
	})
	o = append(o, byTable(filesystem.CallFields, callValues(r))...)
	return append(o, member{"sync", divisionObject(&r.Division)})
}

func underWayObject(c *filesystem.Call, point string) object {
	return byTable(filesystem.UnderWayFields, map[string]any{
		"operation": c.Op.String(), "file": name(c.File), "inode": numberOrNil(c.Inode), "mount": name(point),
		"pid": idOrNil(c.PID), "tid": c.TID, "comm": name(c.Comm), "age_ns": c.Age, "cause": c.Cause.ID(),
	})
}

func numberOrNil(n uint64) any {
	if n == 0 {
		return nil
	}
	return n
}

func divisionObject(d *filesystem.Division) any {
	if d.Calls == 0 {
		return nil
	}
	return byTable(filesystem.DivisionFields, map[string]any{
		"calls": d.Calls, "total_ns": d.Total, "run_queue_ns": d.RunQueue, "on_cpu_ns": d.OnCPU, "unattributed_ns": d.Unattributed,
		"causes": list(d.Causes, func(p *filesystem.Part) any {
			return byTable(filesystem.CauseFields, map[string]any{"cause": p.Cause.ID(), "sleeps": p.Sleeps, "ns": p.NS})
		}),
	})
}

func journalObject(j *event.JournalSum) any {
	if j == nil {
		return nil
	}
	return byTable(filesystem.JournalFields, map[string]any{
		"commits": j.Commits, "handles": j.Handles, "blocks": j.Blocks, "blocks_logged": j.Logged,
		"wait_ns": j.Wait, "request_delay_ns": j.Delay, "running_ns": j.Running,
		"locked_ns": j.Locked, "flushing_ns": j.Flushing, "logging_ns": j.Logging, "max_ns": j.Max,
	})
}

func flushesObject(m *filesystem.Mount) any {
	f := m.Flushes
	if f == nil {
		return nil
	}
	return byTable(filesystem.FlushFields, map[string]any{
		"device": quote(m.DiskName), "count": f.Count, "total_ns": f.NS, "max_ns": f.Max, "unseen": f.Unseen,
	})
}

func comparedObject(c *filesystem.Compared) any {
	if c == nil {
		return nil
	}
	return byTable(filesystem.ComparedFields, map[string]any{
		"operations": list(c.Operations, func(p *filesystem.Pair) any {
			ratio, known := p.Ratio()
			return byTable(filesystem.PairFields, map[string]any{
				"operation": p.Op.String(), "a_count": p.A.Count, "a_mean_ns": meanOrNil(&p.A),
				"b_count": p.B.Count, "b_mean_ns": meanOrNil(&p.B), "ratio": numberIf(known, ratio),
			})
		}),
		"sync_parts": list(c.Parts, func(p *filesystem.PartPair) any {
			return byTable(filesystem.PartFields, map[string]any{"part": p.ID, "a_ns": p.A, "b_ns": p.B})
		}),
	})
}

func meanOrNil(r *filesystem.Row) any {
	if r.Count == 0 {
		return nil
	}
	return r.Mean()
}
