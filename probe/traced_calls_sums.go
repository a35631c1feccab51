// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"slices"

	"github.com/iowitness/iowitness/event"
)

// Sums are all calls since the start, by key; they are the caller's.
func (w *tracedCalls) Sums() (map[event.CallKey]*event.CallSum, error) {
	sums := make(map[event.CallKey]*event.CallSum, len(w.sums))
	for key, s := range w.sums {
		own := *s
		own.Hist = slices.Clone(s.Hist)
		sums[key] = &own
	}
	return sums, nil
}

// Stack gives the frames that a key of sums names, innermost first; nil: they were not kept.
func (w *tracedCalls) Stack(key uint64) []uint64 { return w.stacks[key] }

// Balances are those of all functions, by number.
func (w *tracedCalls) Balances() ([]CallBalance, error) {
	balances := make([]CallBalance, len(w.functions))
	for i, f := range w.functions {
		if f != nil {
			balances[i] = f.balance
		}
	}
	return balances, nil
}

func (w *tracedCalls) kernelCounts() (*kernelCounts, error) {
	if w.final != nil {
		return w.final, nil
	}
	return w.askKernel()
}

// Losses are all counts since the start, of what can go missing here.
func (w *tracedCalls) Losses() ([]Loss, error) {
	kernel, err := w.kernelCounts()
	if err != nil {
		return nil, err
	}
	if w.reader != nil {
		w.read = w.reader.Counts()
	}
	var sum CallBalance
	var unseen, missed uint64
	for _, f := range w.functions {
		if f == nil {
			continue
		}
		sum.Missed += f.balance.Missed
		sum.GivenUp += f.balance.GivenUp
		sum.Strays += f.balance.Strays
		sum.Skipped += f.balance.Skipped
		for i := range f.events {
			unseen += kernel.profiles[f.events[i]].Misses
			missed += kernel.profiles[f.returns[i]].Misses
		}
	}
	c := &w.counts
	return []Loss{
		{ID: "buffer_full", Title: "events of calls lost: the trace buffer was full", Count: kernel.lost + w.discarded},
		{ID: "frames", Title: "calls not counted: no memory for the thread's state", Count: c.noRoom},
		{ID: "call_sum", Title: "calls not counted: no room for another key", Count: c.noSum},
		{ID: "call_budget", Title: "single calls not told: more than asked for in a second", Count: c.overBudget},
		{ID: "missed_return", Title: "calls not counted: the function's return was not seen", Count: sum.Missed},
		{ID: "missed_run", Title: "entries not seen: the kernel did not run the probe", Count: unseen},
		{ID: "kernel_missed", Title: "returns that the kernel says it missed", Count: missed, Harmless: true},
		{ID: "given_up", Title: "calls given up: they were under way when witnessing paused, or events were lost", Count: sum.GivenUp},
		{ID: "ratio", Title: "calls not measured: only one in some is", Count: sum.Skipped},
		{ID: "stray_return", Title: "returns of calls that began before, or were left out", Count: sum.Strays, Harmless: true},
		{ID: "stack", Title: "stacks not taken", Count: c.noStack},
		{ID: "clock", Title: "calls not counted: instants out of order", Count: c.clock},
		{ID: "no_process", Title: "threads whose process was not known", Count: c.noProcess},
		{ID: "undecoded", Title: "records not understood", Count: c.undecoded + w.read.BrokenPages},
	}, nil
}

// Stats counts the runs of the probes: the kernel does not measure their time.
func (w *tracedCalls) Stats() (sum RunStats, err error) {
	kernel, err := w.kernelCounts()
	if err != nil {
		return sum, err
	}
	for _, f := range w.functions {
		if f == nil {
			continue
		}
		for i := range f.events {
			in, out := kernel.profiles[f.events[i]], kernel.profiles[f.returns[i]]
			sum.Runs += in.Hits + out.Hits
			sum.Misses += in.Misses + out.Misses
		}
	}
	return sum, nil
}
