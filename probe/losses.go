// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"io"
	"maps"
	"slices"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// Loss is something that can go missing: how often it did since the start, and
// the waiting time behind it.
type Loss struct {
	ID    string // as in JSON
	Title string // in words, after the count
	Count uint64
	NS    uint64

	AtMost   bool // NS is the most that it can be: what was not seen may have been shorter
	Harmless bool // counted for the record: no figure is the worse for it
}

// LossExit is the id of the loss of final tallies: after it, threads may have ended unseen.
const LossExit = "ring_exit"

// lossNames are in the order of enum loss of bpf/abi.h, up to those of calls to file systems.
var lossNames = []Loss{
	{ID: "state_full", Title: "waits not counted: no memory for the thread's state"},
	{ID: "ring_wait", Title: "wait records lost: the ring was full"},
	{ID: "ring_identity", Title: "identities lost: the ring was full"},
	{ID: LossExit, Title: "waits of ended threads lost: the ring was full"},
	{ID: "budget", Title: "wait records not made: the interval's budget was used up"},
	{ID: "no_wake", Title: "waits whose wake-up was not seen"},
	{ID: "early_wake", Title: "waits woken before they were switched out", Harmless: true},
	{ID: "stack", Title: "stacks not taken"},
	{ID: "name_cut", Title: "names cut"},
	{ID: "clock", Title: "waits not counted: instants out of order"},
	{ID: "follow_full", Title: "children not followed: too many"},
	{ID: "ratio", Title: "waits not measured: only one in some is"},
	{ID: "shed", Title: "wait records not made: detail was shed"},
	{ID: "no_end", Title: "waits not counted: their end was not seen", AtMost: true},
}

// fsLossNames go on where lossNames end: of calls to file systems.
var fsLossNames = []Loss{
	{ID: "calls", Title: "calls not counted: no memory for the thread's state"},
	{ID: "sums", Title: "calls not counted: no room for another file, process and operation"},
	{ID: "parts", Title: "sleeps not attributed: no room for another cause"},
	{ID: "slots", Title: "sleeps not attributed: too many different ones in one call"},
	{ID: "ring_file", Title: "paths lost: the ring was full"},
}

// allLossNames are in the order of enum loss: each witness's own after those before it.
var allLossNames = slices.Concat(lossNames, fsLossNames, requestLossNames, callLossNames, profileLossNames)

// readLosses gives a witness's own losses, and those that it shares with others by their ids.
func readLosses(counts *ebpf.Map, own []Loss, shared ...string) ([]Loss, error) {
	var losses []Loss
	for number, l := range allLossNames {
		if !slices.Contains(shared, l.ID) && !slices.ContainsFunc(own, func(o Loss) bool { return o.ID == l.ID }) {
			continue
		}
		if err := l.read(counts, uint32(number)); err != nil {
			return nil, err
		}
		losses = append(losses, l)
	}
	return losses, nil
}

type lossCount struct{ Count, NS uint64 }

// read adds up what each CPU has counted of a loss.
func (l *Loss) read(losses *ebpf.Map, number uint32) error {
	var perCPU []lossCount
	if err := losses.Lookup(number, &perCPU); err != nil {
		return err
	}
	for _, c := range perCPU {
		l.Count += c.Count
		l.NS += c.NS
	}
	return nil
}

func (w *bpfWitness) Losses() ([]Loss, error) {
	losses, err := readLosses(w.collection.Maps["losses"], lossNames)
	if err != nil {
		return nil, err
	}
	if w.means == Fexit || w.means == Kretprobe {
		calls, err := w.callLosses()
		if err != nil {
			return nil, err
		}
		losses = append(losses, calls...)
	}
	return append(losses, Loss{ID: "undecoded", Title: "records not understood", Count: w.undecoded}), nil
}

// RunStats is what the kernel measured of the programs: only while BPF
// statistics are on.
type RunStats struct {
	Runs    uint64
	Runtime time.Duration
	Misses  uint64 // runs that the recursion guard skipped
}

// skipped tells the runs that the kernel's guard against recursion left out, as it does on
// preemptible kernels when a program is preempted and wanted again on the same CPU.
func (s RunStats) skipped() Loss {
	return Loss{ID: "skipped", Title: "events that the kernel did not run a program for", Count: s.Misses}
}

// Stats adds up all programs since they were loaded. misses of programs are
// counted also while statistics are off.
func (w *bpfWitness) Stats() (sum RunStats, err error) {
	return statsOf(append(slices.Collect(maps.Values(w.collection.Programs)), w.calls.programs...))
}

func statsOf(programs []*ebpf.Program) (sum RunStats, err error) {
	for _, p := range programs {
		stats, err := p.Stats()
		if err != nil {
			return sum, err
		}
		sum.Runs += stats.RunCount
		sum.Runtime += stats.Runtime
		sum.Misses += stats.RecursionMisses
	}
	return sum, nil
}

// EnableStats lets the kernel measure BPF programs until the result is closed.
// It costs each run of every BPF program on the machine some tens of nanoseconds.
func EnableStats() (io.Closer, error) {
	return ebpf.EnableStats(unix.BPF_STATS_RUN_TIME)
}
