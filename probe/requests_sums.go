// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"fmt"
	"maps"
	"slices"

	"github.com/iowitness/iowitness/event"
)

// Sums tells all sums since the start: keys of one disk and operation without process,
// cgroup and file are also of those for which there was no room. Each key comes once.
func (w *Requests) Sums(tell func(event.IOKey, event.IOSum)) error {
	all := map[event.IOKey]event.IOSum{}
	add := func(key, value []byte) error {
		k, s, err := event.DecodeIOSum(key, value)
		if err != nil {
			return err
		}
		if before, ok := all[k]; ok {
			s.Add(&before)
		}
		all[k] = s
		return nil
	}
	if err := w.slotSums(add); err != nil {
		return fmt.Errorf("reading the sums of requests: %w", err)
	}
	for _, table := range []string{"sums", "rest_sums"} {
		var key, value []byte
		sums := w.collection.Maps[table].Iterate()
		for sums.Next(&key, &value) {
			if err := add(key, value); err != nil {
				return err
			}
		}
		if err := sums.Err(); err != nil {
			return fmt.Errorf("reading the sums of requests: %w", err)
		}
	}
	for k, s := range all {
		tell(k, s)
	}
	return nil
}

// RequestCounts say what became of all requests since the start, whatever the filters.
type RequestCounts struct {
	Started      uint64 // got their place in the device's queue; bios of stacked devices too
	Completed    uint64
	Unmatched    uint64 // completions of requests that began before the start, or whose begin was lost
	FlushEnds    uint64 // second completions, which only close a flush
	Absorbed     uint64 // started ones that became a part of another one
	OtherContext uint64 // completed ones that were submitted by another thread than the owner's
	InFlight     uint64 // begun and not completed, as of now
}

// Counts are those since the start.
func (w *Requests) Counts() (sum RequestCounts, err error) {
	var perCPU []RequestCountsOfCPU
	if err := w.collection.Maps["counts"].Lookup(uint32(0), &perCPU); err != nil {
		return sum, err
	}
	for _, c := range perCPU {
		sum.Started += c.Started
		sum.Completed += c.Completed
		sum.Unmatched += c.Unmatched
		sum.FlushEnds += c.FlushEnds
		sum.Absorbed += c.Absorbed
		sum.OtherContext += c.OtherContext
	}
	sum.InFlight, err = w.lives()
	return sum, err
}

// RequestCountsOfCPU is struct io_count of bpf/abi.h.
type RequestCountsOfCPU struct{ Started, Completed, Unmatched, FlushEnds, Absorbed, OtherContext uint64 }

// LossIORatio counts what SetRatio has left out.
const LossIORatio = "io_ratio"

// requestLossNames go on where fsLossNames end: of block requests.
var requestLossNames = []Loss{
	{ID: "life_full", Title: "requests not told: no memory for another one under way"},
	{ID: "sum_full", Title: "requests summed up with others: no memory for another sum"},
	{ID: "ring_io", Title: "request lines lost: the ring was full (--buffer)"},
	{ID: "io_budget", Title: "request lines not made: there were more than --max-rate in a second"},
	{ID: "backwards", Title: "phases left out of sums: instants out of order"},
	{ID: LossIORatio, Title: "request lines left out: only one in some was told, to spare cost (--max-cost)"},
	{ID: "io_no_end", Title: "requests not told: their completion was not seen"},
}

// Losses are all counts since the start, zero ones included.
func (w *Requests) Losses() (losses []Loss, err error) {
	losses, err = readLosses(w.collection.Maps["losses"], requestLossNames, "name_cut", "ring_file")
	if err != nil {
		return nil, err
	}
	stats, err := w.Stats()
	if err != nil {
		return nil, err
	}
	return append(losses, stats.skipped(),
		Loss{ID: "undecoded", Title: "records not understood", Count: w.undecoded}), nil
}

// Stats is what the programs cost: only while BPF statistics are on.
func (w *Requests) Stats() (RunStats, error) {
	return statsOf(slices.Collect(maps.Values(w.collection.Programs)))
}
