// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/cilium/ebpf"

	"github.com/iowitness/iowitness/event"
)

// CallBalance is what became of a function's calls since the start. Entries are
// returns, missed, given up and calls under way.
type CallBalance struct {
	Entries, Returns, Missed, GivenUp, Strays, Unwanted, Unreadable, Skipped uint64
}

// UnderWay are calls that have not returned, or have returned unseen and not been found out yet.
func (b CallBalance) UnderWay() uint64 { return less(b.Entries, b.Returns+b.Missed+b.GivenUp) }

// Sums are all calls since the start, by key.
func (w *Calls) Sums() (map[event.CallKey]*event.CallSum, error) {
	if !w.keyed {
		return w.functionSums()
	}
	sums := map[event.CallKey]*event.CallSum{}
	var key callCallKey
	var sum callCallSum
	all := w.collection.Maps["call_sums"].Iterate()
	for all.Next(&key, &sum) {
		sums[w.callKey(&key)] = callSum(&sum)
	}
	if err := all.Err(); err != nil {
		return nil, fmt.Errorf("reading the sums of calls: %w", err)
	}
	return sums, nil
}

// functionSums are those of functions that have been called, where they have no other key.
func (w *Calls) functionSums() (map[event.CallKey]*event.CallSum, error) {
	sums := map[event.CallKey]*event.CallSum{}
	for number := range w.targets {
		var sum callCallSum
		if err := w.collection.Maps["function_sums"].Lookup(uint32(number), &sum); err != nil {
			return nil, fmt.Errorf("reading the sums of calls: %w", err)
		}
		if sum.Count > 0 {
			sums[event.CallKey{Function: uint32(number)}] = callSum(&sum)
		}
	}
	return sums, nil
}

func (w *Calls) callKey(k *callCallKey) event.CallKey {
	fields := make([]byte, 0, 8*len(k.Word))
	for _, word := range k.Word[:min(int(w.options.KeyWords), len(k.Word))] {
		fields = binary.NativeEndian.AppendUint64(fields, word)
	}
	comm := make([]byte, 0, len(k.Comm))
	for _, c := range k.Comm {
		comm = append(comm, byte(c))
	}
	name, _, _ := strings.Cut(string(comm), "\x00")
	return event.CallKey{
		Cgroup: k.Cgroup, Stack: k.Stack, Function: k.Function, PID: k.Tgid, TID: k.Tid, CPU: k.Cpu,
		Comm: name, Fields: string(fields),
	}
}

func callSum(s *callCallSum) *event.CallSum {
	sum := &event.CallSum{Count: s.Count, NS: s.Ns, Max: s.MaxNs, Inner: s.InnerNs, Errors: s.Errors}
	for slot, n := range s.Hist {
		if n > 0 {
			sum.Hist = append(sum.Hist, event.HistCount{Slot: uint8(slot), N: n})
		}
	}
	return sum
}

// Stack gives the frames that a key of sums names, innermost first; nil: they were not kept.
func (w *Calls) Stack(key uint64) []uint64 {
	var s callKeptStack
	if key == 0 || w.collection.Maps["kept_stacks"].Lookup(key, &s) != nil {
		return nil
	}
	return s.Frame[:min(int(s.Frames), len(s.Frame))]
}

// Balances are those of all functions, by number.
func (w *Calls) Balances() ([]CallBalance, error) {
	balances := make([]CallBalance, len(w.targets))
	var perCPU []CallBalance
	for number := range balances {
		if err := w.collection.Maps["balances"].Lookup(uint32(number), &perCPU); err != nil {
			return nil, fmt.Errorf("reading the counts of calls: %w", err)
		}
		b := &balances[number]
		for _, c := range perCPU {
			b.Entries += c.Entries
			b.Returns += c.Returns
			b.Missed += c.Missed
			b.GivenUp += c.GivenUp
			b.Strays += c.Strays
			b.Unwanted += c.Unwanted
			b.Unreadable += c.Unreadable
			b.Skipped += c.Skipped
		}
	}
	return balances, nil
}

// callLossNames go on where those of block requests end.
var callLossNames = []Loss{
	{ID: "frames", Title: "calls not counted: no memory for the thread's state, or too deeply nested"},
	{ID: "call_out", Title: "calls not counted: no memory for what was read at entry"},
	{ID: "call_sum", Title: "calls not counted: no room for another key"},
	{ID: "ring_call", Title: "single calls lost: the ring was full"},
	{ID: "call_budget", Title: "single calls not told: more than asked for in a second"},
}

// Losses are all counts since the start, of what can go missing here.
func (w *Calls) Losses() ([]Loss, error) {
	losses, err := readLosses(w.collection.Maps["losses"], callLossNames, "stack", "follow_full")
	if err != nil {
		return nil, err
	}
	balances, err := w.Balances()
	if err != nil {
		return nil, err
	}
	var sum CallBalance
	for _, b := range balances {
		sum.Missed += b.Missed
		sum.GivenUp += b.GivenUp
		sum.Strays += b.Strays
		sum.Unreadable += b.Unreadable
		sum.Skipped += b.Skipped
	}
	unseen, err := w.unseen()
	if err != nil {
		return nil, err
	}
	return append(append(losses, unseen...),
		Loss{ID: "missed_return", Title: "calls not counted: the function's return was not seen", Count: sum.Missed},
		Loss{ID: "given_up", Title: "calls given up: they were under way when witnessing paused", Count: sum.GivenUp},
		Loss{ID: "unreadable", Title: "calls left out: what the filter asks for could not be read", Count: sum.Unreadable},
		Loss{ID: "ratio", Title: "calls not measured: only one in some is", Count: sum.Skipped},
		Loss{ID: "stray_return", Title: "returns of calls that began before, or were left out", Count: sum.Strays, Harmless: true},
		Loss{ID: "undecoded", Title: "records not understood", Count: w.undecoded},
	), nil
}

// unseen is what the kernel says it left out, of whatever thread.
func (w *Calls) unseen() ([]Loss, error) {
	skipped, err := skippedRuns(w.allPrograms())
	if err != nil {
		return nil, err
	}
	var missed uint64
	for _, read := range w.missed {
		if n, ok := read(); ok {
			missed += n
		}
	}
	if w.options.Errors {
		return w.unseenErrors(skipped, missed)
	}
	return []Loss{
		{ID: "missed_run", Title: "entries or returns not seen: the kernel did not run the probe", Count: skipped},
		{ID: "kernel_missed", Title: "returns that the kernel says it missed", Count: missed, Harmless: true},
	}, nil
}

// returnPrograms are those at functions' returns.
func (w *Calls) returnPrograms() []*ebpf.Program {
	if w.via == KprobeMulti {
		return []*ebpf.Program{w.collection.Programs[w.options.returnProgram(w.via)]}
	}
	return w.programs
}

func (w *Calls) allPrograms() []*ebpf.Program {
	all := append([]*ebpf.Program(nil), w.programs...)
	for _, p := range w.collection.Programs {
		all = append(all, p)
	}
	return all
}
