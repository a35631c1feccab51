// SPDX-License-Identifier: Apache-2.0

// Package schedulingtest has reports on threads and CPUs for tests of views.
package schedulingtest

import (
	"fmt"
	"time"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/profile"
	"github.com/iowitness/iowitness/scheduling"
	"github.com/iowitness/iowitness/snapshot"
	"github.com/iowitness/iowitness/symbol"
)

// names are those of a machine whose addresses are small numbers.
type names struct{ process string }

func (n names) KernelFrames(addresses []uint64) (frames []symbol.Frame) {
	for _, a := range addresses {
		frames = append(frames, symbol.KernelFrame([]string{"futex_wait", "do_syscall_64", "busy_loop\t[busy]"}[a%3], 4, a))
	}
	return frames
}

func (n names) UserFrames(_ uint32, _ uint64, addresses []uint64) (frames []symbol.Frame) {
	for _, a := range addresses {
		frames = append(frames, symbol.Frame{Name: fmt.Sprintf("%s_%d", n.process, a), Module: n.process, Address: a, Virtual: a, BuildID: "6a1f", Kind: symbol.User})
	}
	return frames
}

func (names) Number(id uint32) uint32 { return id }

// NSPID: one process is in a container.
func (names) NSPID(pid uint32) uint32 {
	if pid == 100 {
		return 7
	}
	return pid
}

func (n names) ProcessComm(pid uint32) (comm, cgroup string) {
	if pid >= 100 {
		return "", ""
	}
	return n.process, "/" + n.process
}

var start = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

func build(kind profile.Kind, process string, iv *event.ProfileInterval, long ...*event.RunQWait) *scheduling.Report {
	a := scheduling.NewAccumulator(names{process}, start, 1_000_000)
	a.Add(iv)
	for _, w := range long {
		a.AddLong(w)
	}
	period := time.Duration(0)
	if kind == profile.CPU {
		period = 10 * time.Millisecond
	}
	r := a.Build(kind, start, start.Add(10*time.Second), period, scheduling.Options{Callers: 3})
	r.Version, r.Kernel, r.Means, r.Scope = "1.2.3", "6.12.1", "tp_btf", ""
	if kind == profile.CPU {
		r.Means, r.Event = "perf_event", "cpu-clock"
	}
	r.Lost = []snapshot.Loss{{ID: "prof_sums", Title: "not counted: no room for another stack and thread", Count: 2, NS: 3_000_000}}
	r.Cost = snapshot.Cost{CPUPercent: 0.7, RSSBytes: 30 << 20, ProbeNS: 4_000_000, ProbeRuns: 2000, ProbeWall: time.Second}
	return r
}

// CPU is a report of samples: two threads of one process, a thread of another, and a CPU that
// took no sample for 1.2 s, nor most of the time that it was idle.
func CPU(process string) *scheduling.Report {
	ms := func(n uint64) uint64 { return n * 1_000_000 }
	return build(profile.CPU, process, &event.ProfileInterval{
		Stacked: []event.Stacked{
			{PID: 10, TID: 10, Comm: process, User: []uint64{1, 2, 3}, Count: 60, NS: ms(600), Max: ms(10)},
			{PID: 10, TID: 11, Comm: "worker", Kernel: []uint64{0, 1}, User: []uint64{2, 3}, Count: 20, NS: ms(200), Max: ms(10)},
			{PID: 100, TID: 100, Comm: "other", User: []uint64{7}, NoKernel: event.StackNoRoom, Count: 20, NS: ms(200), Max: ms(10)},
		},
		Gaps: []event.Gap{{CPU: 1, PID: 50, TID: 50, Comm: process, Kernel: []uint64{2, 1}, Count: 1, NS: ms(1200), Max: ms(1200), Missed: 120}},
		CPUs: []event.CPUSamples{
			{CPU: 0, Samples: 1000, Idle: 950, PassedNS: ms(10_000), IdleNS: ms(9500)},
			{CPU: 1, Samples: 180, Idle: 120, LeftOut: 10, Rested: 700, Gaps: 1, Missed: 120, GapNS: ms(1200), PassedNS: ms(10_000), IdleNS: ms(8200), StolenNS: ms(300)},
		},
	})
}

// OffCPU is a report of times off the CPU, one of which has not ended.
func OffCPU(process string) *scheduling.Report {
	return build(profile.OffCPU, process, &event.ProfileInterval{Stacked: []event.Stacked{
		{
			PID: 10, TID: 11, Comm: "worker", State: event.OffSleeps, WakerIs: event.WakerThread, Waker: 12, WakerComm: process,
			Kernel: []uint64{0, 1}, User: []uint64{1, 2}, Count: 30, NS: 4_000_000_000, Max: 500_000_000,
		},
		{PID: 10, TID: 10, Comm: process, State: event.OffBlocked, WakerIs: event.WakerInterrupt, Kernel: []uint64{0}, Count: 3, NS: 30_000_000, Max: 20_000_000},
		{PID: 100, TID: 100, Comm: "other", State: event.OffSleeps, Kernel: []uint64{1}, NoUser: event.StackUnseen, NS: 10_000_000_000, Max: 10_000_000_000},
		{PID: 10, TID: 10, Comm: process, State: event.OffPreempted, Count: 9, NS: 9_000_000, Max: 3_000_000},
	}})
}

// RunQ is a report of waits for a CPU.
func RunQ(process string) *scheduling.Report {
	hist := func(ns uint64, n uint32) event.Hist { return event.Hist{{Slot: uint8(event.HistSlot(ns)), N: n}} }
	parts := [event.RunQKinds]event.RunQPart{
		{Count: 100, NS: 2_000_000, Max: 50_000, MaxAt: 2_000_000, MaxCPU: 1, MaxTID: 11, Hist: hist(20_000, 100)},
		{Count: 5, NS: 30_000_000, Max: 12_000_000, MaxAt: 3_000_000, MaxTID: 10, Hist: hist(6_000_000, 5)},
	}
	return build(profile.RunQ, process, &event.ProfileInterval{
		Processes: []event.RunQSum{{PID: 10, Comm: process, Parts: parts}},
		OnCPUs:    []event.RunQSum{{CPU: 0, Parts: parts}},
		Pairs: []event.RunQPair{
			{Waker: 12, Woken: 10, WakerIs: event.WakerThread, WakerComm: process, WokenComm: process, Count: 60, NS: 1_500_000, Max: 50_000},
			{Woken: 10, WakerIs: event.WakerInterrupt, WokenComm: process, Count: 40, NS: 500_000, Max: 20_000},
		},
	}, &event.RunQWait{
		TID: 10, PID: 10, Comm: process, Since: 2_000_000, Runs: 14_000_000, CPU: 1, Kind: event.RunQWoken, WakerIs: event.WakerThread,
		Waker: event.Task{TID: 12, PID: 12, Comm: process}, Stack: []uint64{2, 1},
		Ran: [event.RunQRuns]event.Run{{Task: event.Task{TID: 50, PID: 50, Comm: "hog"}, From: 1_000_000, To: 13_000_000}, {Task: event.Task{TID: 9, PID: 9, Comm: "b"}, From: 13_000_000, To: 14_000_000}},
	})
}

// Hostile is a name that tries to break out of every format.
const Hostile = "\x1b[2J<b>\n\u202e\xff"
