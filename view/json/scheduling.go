// SPDX-License-Identifier: Apache-2.0

package json

import (
	"io"
	"time"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/profile"
	"github.com/iowitness/iowitness/scheduling"
	"github.com/iowitness/iowitness/snapshot"
	"github.com/iowitness/iowitness/symbol"
)

// SchedulingSchemaNumber is the number of the format of WriteScheduling.
const SchedulingSchemaNumber = 1

// WriteScheduling writes a report on threads and CPUs as one document on one line.
func WriteScheduling(w io.Writer, r *scheduling.Report) error {
	return writeLine(w, byTable(scheduling.DocumentFields(r.Kind), schedulingValues(r)))
}

func schedulingValues(r *scheduling.Report) map[string]any {
	values := map[string]any{
		"schema": SchedulingSchemaNumber, "profile": string(r.Kind), "version": quote(r.Version), "kernel": quote(r.Kernel), "means": quote(r.Means),
		"start": stamp(r.Start), "end": stamp(r.End), "wall_ns": max(int64(r.End.Sub(r.Start)), 0), "scope": name(r.Scope),
		"count": r.Total.Count, "total_ns": r.Total.Value,
		"lost": lost(r.Lost), "cost": cost(&r.Cost), "command": command(r.Command), "notes": quoted(r.Notes),
	}
	if r.Kind == profile.RunQ {
		values["processes"] = list(r.Queues, func(q *scheduling.Queue) any { return queueObject(q, false) })
		values["cpus"] = list(r.OnCPUs, func(q *scheduling.Queue) any { return queueObject(q, true) })
		values["pairs"] = list(r.Pairs, pairWoken)
		values["longest"], values["longest_total"] = list(r.Longest, longObject), r.Single
		return values
	}
	values["event"], values["period_ns"] = r.Event, durationOrNil(r.Period)
	values["cpus"], values["gaps"] = list(r.CPUs, sampledCPU), list(r.Gaps, gapObject)
	values["states"] = list(r.States, func(s *scheduling.State) any {
		return byTable(scheduling.StateFields, map[string]any{"state": s.State.String(), "count": s.Count, "ns": s.NS})
	})
	values["functions"] = list(r.Functions, calledObject)
	values["processes"], values["threads"] = list(r.Processes, profiledProcess), list(r.Threads, profiledProcess)
	values["stacks"] = list(r.Stacks, stackObject)
	return values
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

func durationOrNil(d time.Duration) any {
	if d == 0 {
		return nil
	}
	return int64(d)
}

func calledObject(f *scheduling.Function) any {
	return byTable(scheduling.FunctionFields, map[string]any{
		"function": name(f.Name), "module": name(f.Module), "build_id": name(f.BuildID),
		"self_count": f.Self.Count, "self_ns": f.Self.Value, "total_count": f.Total.Count, "total_ns": f.Total.Value,
		"callers": list(f.Callers, func(c *profile.Row) any { return weighted(c, c.Total) }),
	})
}

func weighted(r *profile.Row, w profile.Weight) any {
	return byTable(scheduling.CallerFields, map[string]any{"function": name(r.Name), "module": name(r.Module), "count": w.Count, "ns": w.Value})
}

func profiledProcess(p *profile.ProcessRow) any {
	return byTable(scheduling.ProcessFields, map[string]any{
		"pid": p.PID, "nspid": idOrNil(p.NSPID), "tid": idOrNil(p.TID), "comm": name(p.Process), "thread": name(p.Thread), "count": p.Weight.Count, "ns": p.Weight.Value,
		"top": list(p.Top, func(row *profile.Row) any { return weighted(row, row.Self) }),
	})
}

func stackObject(s *scheduling.Stack) any {
	return byTable(scheduling.StackFields, map[string]any{
		"pid": s.PID, "tid": s.TID, "comm": name(s.Process), "thread": name(s.Comm), "state": s.State.String(),
		"waker": s.WakerIs.String(), "waker_pid": idOrNil(s.Waker), "waker_comm": name(s.WakerComm),
		"count": s.Count, "ns": s.NS, "max_ns": s.Max, "kernel": frames(s.Kernel), "user": frames(s.User), "cut": s.Cut,
		"missing": s.Missing != event.StackAbsent,
	})
}

func frames(stack []symbol.Frame) []any {
	return list(stack, func(f *symbol.Frame) any {
		if f.Kind == symbol.Kernel && f.Module != "[kernel]" && f.Name != "" {
			return quote(f.Name + " " + f.Module)
		}
		return quote(f.Label())
	})
}

func sampledCPU(c *scheduling.CPU) any {
	busy, of := c.Busy()
	accounted := c.PassedNS > 0
	return byTable(scheduling.CPUFields, map[string]any{
		"cpu": c.CPU, "samples": c.Samples, "idle": c.Idle, "left_out": c.LeftOut, "gaps": c.Gaps, "missed": c.Missed, "gap_ns": c.GapNS,
		"busy_percent": numberIf(of > 0, 100*float64(busy)/float64(max(of, 1))), "rested": c.Rested,
		"idle_ns": countIf(accounted, c.IdleNS), "stolen_ns": countIf(accounted, c.StolenNS),
	})
}

func gapObject(g *scheduling.Gap) any {
	return byTable(scheduling.GapFields, map[string]any{
		"cpu": g.CPU, "pid": idOrNil(g.PID), "tid": idOrNil(g.TID), "comm": name(g.Comm), "gaps": g.Count, "missed": g.Missed,
		"ns": g.NS, "max_ns": g.Max, "kernel": frames(g.Kernel), "user": frames(g.User),
	})
}

func queueObject(q *scheduling.Queue, cpu bool) any {
	values := map[string]any{"woken": queuePart(&q.Parts[event.RunQWoken]), "preempted": queuePart(&q.Parts[event.RunQPreempted])}
	if cpu {
		values["cpu"] = q.CPU
	} else {
		values["pid"], values["nspid"], values["comm"] = q.PID, idOrNil(q.NSPID), name(q.Comm)
	}
	return byTable(scheduling.QueueFields, values)
}

func queuePart(p *scheduling.Part) any {
	values := map[string]any{"count": p.Count, "total_ns": p.NS, "mean_ns": p.Mean(), "max_ns": p.Max}
	if p.Count > 0 {
		p50, p99 := snapshot.EstimateQuantile(&p.Hist, 0.5, p.Max), snapshot.EstimateQuantile(&p.Hist, 0.99, p.Max)
		values["p50_ns"], values["p99_ns"] = p50.Value, p99.Value
		values["max_at"], values["max_cpu"], values["max_tid"] = stamp(p.MaxAt), p.MaxCPU, p.MaxTID
	}
	return byTable(scheduling.PartFields, values)
}

func pairWoken(p *scheduling.Pair) any {
	return byTable(scheduling.PairFields, map[string]any{
		"waker": p.WakerIs.String(), "waker_pid": idOrNil(p.Waker), "waker_comm": name(p.WakerComm),
		"woken_pid": p.Woken, "woken_comm": name(p.WokenComm), "count": p.Count, "ns": p.NS, "max_ns": p.Max,
	})
}

func longObject(l *scheduling.Long) any {
	return byTable(scheduling.LongFields, map[string]any{
		"at": stamp(l.At), "ns": l.NS, "kind": l.Kind.String(), "cpu": l.CPU, "pid": l.PID, "tid": l.TID, "comm": name(l.Comm),
		"waker": l.WakerIs.String(), "waker_pid": idOrNil(l.Waker), "waker_comm": name(l.WakerComm),
		"ran": list(l.Ran, func(r *scheduling.Ran) any {
			return byTable(scheduling.RanFields, map[string]any{"pid": r.PID, "tid": r.TID, "comm": name(r.Comm), "ns": r.NS})
		}),
		"ran_ns": l.RanNS, "kernel": frames(l.Where),
	})
}
