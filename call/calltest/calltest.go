// SPDX-License-Identifier: Apache-2.0

// Package calltest has reports and trees of calls for the tests of views.
package calltest

import (
	"encoding/binary"
	"time"

	"github.com/cilium/ebpf/btf"

	"github.com/iowitness/iowitness/call"
	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/expr"
	"github.com/iowitness/iowitness/snapshot"
)

var start = time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)

type names struct{}

func (names) Process(uint32) string  { return "17 a\x1b[2J</script>" }
func (names) Cgroup(uint64) string   { return "/system.slice" }
func (names) Frames(uint64) []string { return []string{"ksys_read+0x5f", "do_syscall_64+0x3b"} }

func functions() call.Functions {
	number := &btf.Int{Name: "int", Size: 4, Encoding: btf.Signed}
	field := &expr.Field{Text: "count", Kind: expr.Unsigned, Size: 8}
	return call.Functions{
		{Name: "vfs_read", Result: &expr.Field{Kind: expr.Signed, Type: number}, Fields: &expr.Program{Slots: []expr.Slot{{Field: field, Offset: 8}}}},
		{Name: "ext4_file_read_iter", Module: "ext4"},
	}
}

// Report has two peaks, a key from a hostile process, a stack, and losses.
func Report() *call.Report {
	both := &event.CallSum{Count: 1000, NS: 700*3000 + 300*4_000_000, Max: 4_200_000, Inner: 1_000_000, Errors: 7}
	both.Hist.Add(event.HistSlot(3000), 700)
	both.Hist.Add(event.HistSlot(4_000_000), 300)
	one := &event.CallSum{Count: 1, NS: 900, Max: 900}
	one.Hist.Add(0, 1)
	r := call.Build(map[event.CallKey]*event.CallSum{{}: both, {Function: 1}: one}, call.Options{
		Functions: functions(), Keys: []call.Key{call.ByProcess, call.ByStack}, Names: names{},
	})
	r.Version, r.Kernel, r.Means, r.Where, r.Scope = "1.0", "6.1.0", "fexit", "count > 4K", "threads named dd"
	r.Start, r.End, r.Functions, r.Ratio, r.UnderWay = start, start.Add(10*time.Second), 2, 16, 3
	r.Lost = []snapshot.Loss{{ID: "missed_return", Title: "calls not counted: the function's return was not seen", Count: 5}}
	r.Cost, r.Notes = snapshot.Cost{CPUPercent: 1, RSSBytes: 30 << 20}, []string{"a note \u202e"}
	return r
}

// Empty has nothing.
func Empty() *call.Report {
	r := call.Build(nil, call.Options{})
	r.Start, r.End = start, start
	return r
}

func made(function, depth uint32, begin, ns, inner, ret, count uint64) *event.Call {
	out := binary.LittleEndian.AppendUint64(make([]byte, 8), count)
	return &event.Call{
		Task: event.Task{TID: 18, PID: 17, Comm: "a\x1b[2J</s>"}, Function: function, Depth: depth, Start: begin, NS: ns, Inner: inner, Ret: ret, CPU: 1, Out: out, Stack: []uint64{1},
	}
}

// Tree is a call with one within.
func Tree() *call.Node {
	return &call.Node{
		Call:     made(0, 0, 1000, 5000, 2000, 0xfffffffb, 4096),
		Children: []*call.Node{{Call: made(1, 1, 2000, 2000, 0, 0, 0)}},
	}
}

// Line decodes a call of Tree, with a stack.
func Line(c *event.Call) call.Line {
	l := functions().LineOf(c)
	l.Stack = names{}.Frames(0)
	return l
}

// At is when a call began.
func At(c *event.Call) time.Time { return start.Add(time.Duration(c.Start)) }
