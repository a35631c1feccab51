// SPDX-License-Identifier: Apache-2.0

package scheduling

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/profile"
	"github.com/iowitness/iowitness/symbol"
)

// withCallers are so many functions: to find callers all stacks are gone through.
const withCallers = 50

// fewSamples are fewer than a share can be told by: of 20, a half may as well be a third.
const fewSamples = 20

// Options are how much of each list is told. 0 is all.
type Options struct {
	Top     int // rows
	Callers int // of each function
}

// Build makes a report of what was added up. What is not of single intervals is for the caller to fill in.
func (a *Accumulator) Build(kind profile.Kind, start, end time.Time, period time.Duration, o Options) *Report {
	r := &Report{Kind: kind, Start: start, End: end, Period: period, Single: a.single}
	if kind == profile.RunQ {
		a.buildQueues(r, o)
	} else {
		a.buildStacks(r, o)
	}
	a.renumber(r)
	if n := r.Total.Count; kind == profile.CPU && n > 0 && n < fewSamples {
		r.Notes = append(r.Notes, "too few samples to tell shares and times by: more come with --frequency, or in a longer time")
	}
	if a.folded > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%d rows were summed up with others: there are too many different ones", a.folded))
	}
	return r
}

func top[T any](rows []T, n int) []T {
	if n > 0 && len(rows) > n {
		return rows[:n]
	}
	return rows
}

// nameOf is a process's name, or that of the thread of it that was met first.
func (a *Accumulator) nameOf(pid uint32, met string) string {
	if pid == 0 {
		return met // nobody, or an idle CPU
	}
	if comm, _ := a.names.ProcessComm(pid); comm != "" {
		return comm
	}
	return met
}

func (a *Accumulator) buildStacks(r *Report, o Options) {
	r.Profile = &profile.Profile{Kind: r.Kind, Start: r.Start, Duration: r.End.Sub(r.Start), Period: r.Period}
	states := map[event.OffState]*State{}
	for _, s := range a.stacks {
		process, cgroup := a.names.ProcessComm(s.PID)
		if process == "" {
			process = s.Comm
		}
		s.Process = process
		r.Stacks = append(r.Stacks, *s)
		r.Total.Count += s.Count
		r.Total.Value += s.NS
		r.Profile.Samples = append(r.Profile.Samples, profile.Sample{
			PID: s.PID, TID: s.TID, Process: process, Thread: s.Comm, Cgroup: cgroup,
			Kernel: kernelOf(s), User: s.User, Truncated: s.Cut, Weight: profile.Weight{Count: s.Count, Value: s.NS},
		})
		if states[s.State] == nil {
			states[s.State] = &State{State: s.State}
		}
		states[s.State].Count += s.Count
		states[s.State].NS += s.NS
	}
	slices.SortFunc(r.Stacks, compareStacks)
	r.Stacks = top(r.Stacks, o.Top)
	slices.SortFunc(r.Profile.Samples, compareSamples)
	r.Processes, r.Threads = top(r.Profile.ByProcess(3), o.Top), top(r.Profile.ByThread(3), o.Top)
	for i, row := range r.Profile.Top(o.Top) {
		f := Function{Row: row}
		if i < withCallers {
			f.Callers = top(r.Profile.Callers(row.Function), o.Callers)
		}
		r.Functions = append(r.Functions, f)
	}
	if r.Kind == profile.OffCPU {
		for _, s := range states {
			r.States = append(r.States, *s)
		}
		slices.SortFunc(r.States, func(x, y State) int { return cmp.Or(cmp.Compare(y.NS, x.NS), cmp.Compare(x.State, y.State)) })
		return
	}
	for _, cpu := range slices.Sorted(maps.Keys(a.cpus)) {
		r.CPUs = append(r.CPUs, CPU{*a.cpus[cpu]})
	}
	for _, g := range a.gaps {
		r.Gaps = append(r.Gaps, *g)
	}
	slices.SortFunc(r.Gaps, func(x, y Gap) int {
		return cmp.Or(cmp.Compare(y.NS, x.NS), cmp.Compare(x.CPU, y.CPU), cmp.Compare(x.TID, y.TID), cmp.Compare(label(x.Kernel, x.User), label(y.Kernel, y.User)))
	})
	r.Gaps = top(r.Gaps, o.Top)
}

// kernelOf are the kernel's frames; one that was preempted has none of its own, which is said.
func kernelOf(s *Stack) []symbol.Frame {
	if len(s.Kernel)+len(s.User) > 0 {
		return s.Kernel
	}
	switch {
	case s.State == event.OffPreempted:
		return []symbol.Frame{symbol.KernelFrame("[preempted]", 0, 0)}
	case s.Missing != event.StackAbsent:
		return []symbol.Frame{symbol.KernelFrame("[stack missing]", 0, 0)}
	}
	return nil
}

func label(kernel, user []symbol.Frame) string {
	for _, frames := range [][]symbol.Frame{kernel, user} {
		if len(frames) > 0 {
			return frames[0].Label()
		}
	}
	return ""
}

func compareStacks(x, y Stack) int {
	return cmp.Or(cmp.Compare(y.NS, x.NS), cmp.Compare(y.Count, x.Count), cmp.Compare(x.TID, y.TID), cmp.Compare(x.State, y.State),
		cmp.Compare(x.Waker, y.Waker), cmp.Compare(label(x.Kernel, x.User), label(y.Kernel, y.User)))
}

func compareSamples(x, y profile.Sample) int {
	return cmp.Or(cmp.Compare(y.Value, x.Value), cmp.Compare(y.Count, x.Count), cmp.Compare(x.TID, y.TID), cmp.Compare(label(x.Kernel, x.User), label(y.Kernel, y.User)))
}

func (a *Accumulator) buildQueues(r *Report, o Options) {
	for _, q := range a.byPID {
		q.Comm = a.nameOf(q.PID, q.Comm)
		r.Queues = append(r.Queues, *q)
		for i := range q.Parts {
			r.Total.Count += q.Parts[i].Count
			r.Total.Value += q.Parts[i].NS
		}
	}
	slices.SortFunc(r.Queues, func(x, y Queue) int { return cmp.Or(cmp.Compare(y.NS(), x.NS()), cmp.Compare(x.PID, y.PID)) })
	r.Queues = top(r.Queues, o.Top)
	for _, cpu := range slices.Sorted(maps.Keys(a.byCPU)) {
		r.OnCPUs = append(r.OnCPUs, *a.byCPU[cpu])
	}
	for _, p := range a.pairs {
		p.WokenComm, p.WakerComm = a.nameOf(p.Woken, p.WokenComm), a.nameOf(p.Waker, p.WakerComm)
		r.Pairs = append(r.Pairs, *p)
	}
	slices.SortFunc(r.Pairs, func(x, y Pair) int {
		return cmp.Or(cmp.Compare(y.NS, x.NS), cmp.Compare(y.Count, x.Count), cmp.Compare(x.Waker, y.Waker), cmp.Compare(x.Woken, y.Woken), cmp.Compare(x.WakerIs, y.WakerIs))
	})
	r.Pairs = top(r.Pairs, o.Top)
	r.Profile = a.queueProfile(r)
	a.sortLong()
	r.Longest = slices.Clone(top(a.long, o.Top))
}

// queueProfile has waits for a CPU as stacks of two: the process, and what made it wait.
func (a *Accumulator) queueProfile(r *Report) *profile.Profile {
	p := &profile.Profile{Kind: r.Kind, Start: r.Start, Duration: r.End.Sub(r.Start)}
	add := func(pid uint32, why string, count, ns uint64) {
		if count == 0 {
			return
		}
		comm, cgroup := a.names.ProcessComm(pid)
		if q := a.byPID[pid]; comm == "" && q != nil {
			comm = q.Comm
		}
		p.Samples = append(p.Samples, profile.Sample{
			PID: pid, TID: pid, Process: comm, Thread: comm, Cgroup: cgroup,
			Kernel: []symbol.Frame{symbol.KernelFrame(why, 0, 0)}, Weight: profile.Weight{Count: count, Value: ns},
		})
	}
	told := map[uint32]profile.Weight{}
	for _, pair := range a.pairs {
		why := "[woken by an interrupt]"
		if pair.Waker != 0 {
			why = fmt.Sprintf("[woken by %s %d]", pair.WakerComm, a.names.Number(pair.Waker))
		}
		add(pair.Woken, why, pair.Count, pair.NS)
		w := told[pair.Woken]
		told[pair.Woken] = profile.Weight{Count: w.Count + pair.Count, Value: w.Value + pair.NS}
	}
	for pid, q := range a.byPID {
		woken, preempted, w := &q.Parts[event.RunQWoken], &q.Parts[event.RunQPreempted], told[pid]
		add(pid, "[woken]", woken.Count-min(w.Count, woken.Count), woken.NS-min(w.Value, woken.NS))
		add(pid, "[preempted]", preempted.Count, preempted.NS)
	}
	slices.SortFunc(p.Samples, compareSamples)
	return p
}
