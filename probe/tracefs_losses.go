// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"fmt"

	"github.com/iowitness/iowitness/tracefs"
)

// tracefsCounts is what went missing, or was left out.
type tracefsCounts struct {
	lostAtSweep uint64
	undecoded   uint64
	clock       uint64
	noSleep     uint64
	noStack     uint64
	noRoom      uint64
	noProcess   uint64
	byRatio     uint64
	shed        lossCount
	overBudget  lossCount
}

// kernelCounts are what the kernel counts of probes and buffers.
type kernelCounts struct {
	profiles map[string]tracefs.Profile
	lost     uint64 // events that the buffers did not take
}

func (l *lossCount) add(ns uint64) {
	l.Count++
	l.NS += ns
}

// Balance is how a function's calls add up: Entries are Returns + Missed + GivenUp + InFlight.
type Balance struct {
	Function string
	Entries  uint64 // calls that were seen to begin
	Returns  uint64 // and to end
	Missed   uint64 // and not to end, although they did
	Awake    uint64 // of these, those in which the thread did not sleep, as far as that is told
	GivenUp  uint64 // and were under way when the gate closed or events went missing
	InFlight uint64 // and still are under way, or have returned unseen but lately
	Strays   uint64 // returns without a begin: it was before the gate opened, or was lost

	EntryHits, EntryMisses   uint64 // what the kernel itself counts of the probe at the begin, others' calls included
	ReturnHits, ReturnMisses uint64 // and of that at the return
}

// Unpaired are the entries for which there is no explanation: none, unless the program is wrong.
func (b *Balance) Unpaired() int64 {
	return int64(b.Entries) - int64(b.Returns+b.Missed+b.GivenUp+b.InFlight)
}

// Balances tells of each probed function how its calls add up.
func (w *tracefsWitness) Balances() ([]Balance, error) {
	counts, err := w.kernelCounts()
	if err != nil {
		return nil, err
	}
	profiles := counts.profiles
	inFlight := map[*tracedFunction]uint64{}
	for _, t := range w.threads {
		for _, c := range t.calls {
			if c.pointer != 0 {
				inFlight[c.function]++
			}
		}
	}
	byFunction := map[*tracedFunction]*Balance{}
	balances := make([]Balance, len(w.calls))
	for i, f := range w.calls {
		balances[i] = Balance{
			Function: f.Name, Entries: f.entries, Returns: f.returns, Missed: f.missedReturns, Awake: f.missedAwake,
			GivenUp: f.givenUp, InFlight: inFlight[f], Strays: f.strayReturns,
		}
		byFunction[f] = &balances[i]
	}
	for _, e := range w.kinds {
		b, p := byFunction[e.function], profiles[e.name]
		switch e.kind {
		case callEntered:
			b.EntryHits, b.EntryMisses = p.Hits, p.Misses
		case callReturned:
			b.ReturnHits, b.ReturnMisses = p.Hits, p.Misses
		}
	}
	return balances, nil
}

// Losses are all counts since the start.
func (w *tracefsWitness) Losses() ([]Loss, error) {
	balances, err := w.Balances()
	if err != nil {
		return nil, err
	}
	var sum Balance
	for _, b := range balances {
		sum.Missed += b.Missed
		sum.Awake += b.Awake
		sum.GivenUp += b.GivenUp
		sum.Strays += b.Strays
		sum.EntryMisses += b.EntryMisses
		sum.ReturnMisses += b.ReturnMisses
	}
	counted, err := w.kernelCounts()
	if err != nil {
		return nil, err
	}
	if w.reader != nil {
		w.read = w.reader.Counts()
	}
	c := &w.counts
	return []Loss{
		{ID: "missed_return", Title: "waits not counted: the function's return was not seen", Count: sum.Missed - sum.Awake},
		{ID: "missed_awake", Title: "calls whose return was not seen, in which the thread did not wait", Count: sum.Awake, Harmless: true},
		{ID: "missed_entry", Title: "waits not counted: the kernel did not run the probe", Count: sum.EntryMisses},
		{ID: "stray_return", Title: "returns of calls that began before", Count: sum.Strays, Harmless: true},
		{ID: "kernel_missed", Title: "returns that the kernel says it missed", Count: sum.ReturnMisses, Harmless: true},
		{ID: "buffer_full", Title: "events of calls lost: the trace buffer was full", Count: counted.lost + w.discarded},
		{ID: "given_up", Title: "waits given up when the gate closed or events were lost", Count: sum.GivenUp},
		{ID: "no_sleep", Title: "calls in which the thread did not wait", Count: c.noSleep, Harmless: true},
		{ID: "state_full", Title: "waits not counted: no memory for the thread's state", Count: c.noRoom},
		{ID: "budget", Title: "wait records not made: the interval's budget was used up", Count: c.overBudget.Count, NS: c.overBudget.NS},
		{ID: "stack", Title: "stacks not taken", Count: c.noStack},
		{ID: "clock", Title: "waits not counted: instants out of order", Count: c.clock},
		{ID: "no_process", Title: "threads whose process was not known", Count: c.noProcess},
		{ID: "ratio", Title: "waits not measured: only one in some is", Count: c.byRatio},
		{ID: "shed", Title: "wait records not made: detail was shed", Count: c.shed.Count, NS: c.shed.NS},
		{ID: "undecoded", Title: "records not understood", Count: c.undecoded + w.read.BrokenPages},
	}, nil
}

// kernelCounts are as the kernel tells them now, or as they were when all was detached.
func (w *tracefsWitness) kernelCounts() (c *kernelCounts, err error) {
	if w.final != nil {
		return w.final, nil
	}
	return w.askKernel()
}

// askKernel asks the kernel, which also counts what was lost since the buffers were last read.
func (w *tracePump) askKernel() (c *kernelCounts, err error) {
	c = &kernelCounts{}
	if c.profiles, err = w.fs.Profiles(); err != nil {
		return nil, fmt.Errorf("the kernel's counts of probes: %w", err)
	}
	for _, i := range w.instances() {
		if i == nil {
			continue
		}
		stats, err := i.Stats()
		if err != nil {
			return nil, fmt.Errorf("the kernel's counts of trace buffers: %w", err)
		}
		c.lost += stats.Lost()
	}
	return c, nil
}

// Stats counts the runs of the probes: the kernel does not measure their time.
func (w *tracefsWitness) Stats() (sum RunStats, err error) {
	balances, err := w.Balances()
	if err != nil {
		return sum, err
	}
	for _, b := range balances {
		sum.Runs += b.EntryHits + b.ReturnHits
		sum.Misses += b.EntryMisses + b.ReturnMisses
	}
	return sum, nil
}
