// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"strconv"
	"testing"

	"github.com/iowitness/iowitness/lab"
	"github.com/iowitness/iowitness/lab/fact"
)

// TestCostOfARequest tells what the summary costs; it holds it to no bar.
func TestCostOfARequest(t *testing.T) {
	const threads, each = 4, 5000
	lab.NeedRoot(t)
	device := lab.Loop(t, 64)
	for name, o := range map[string]RequestOptions{
		"summary": {Sums: true, Dev: device.Dev}, "lines": {Records: true, Sums: true, Waits: true, Dev: device.Dev, RingBytes: 64 << 20, Budget: 1 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			w := openRequests(t, o)
			stats, err := EnableStats()
			if err != nil {
				t.Fatal(err)
			}
			defer stats.Close()
			child := lab.Workload{Name: "threads", Args: []string{device.Path, strconv.Itoa(threads), strconv.Itoa(each)}}.Start(t)
			child.Go()
			truth := child.Wait()
			run, err := w.Stats()
			if err != nil {
				t.Fatal(err)
			}
			counts, err := w.Counts()
			if err != nil || counts.Completed < uint64(truth.Ops) {
				t.Errorf("%d completed of %d reads: %v", counts.Completed, truth.Ops, err)
			}
			lab.Fact(t, fact.KindFloor, &fact.Floor{Via: string(w.Means()), Workload: "requests, " + name, Switches: truth.Ops, CostNS: uint64(run.Runtime), Runs: run.Runs})
			t.Logf("%v a request in %.1f runs", run.Runtime/max(1, 0+1)/1, float64(run.Runs)/float64(truth.Ops))
			t.Logf("%d ns a request", uint64(run.Runtime)/uint64(truth.Ops))
			for n, p := range w.collection.Programs {
				if s, err := p.Stats(); err == nil && s.RunCount > 0 {
					t.Logf("%s: %d runs of %d ns", n, s.RunCount, uint64(s.Runtime)/s.RunCount)
				}
			}
		})
	}
}
