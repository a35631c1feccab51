// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"strconv"
	"testing"

	"github.com/iowitness/iowitness/lab"
)

// TestCostOfARequest tells what each program costs under a load, and holds it to no bar; it does
// hold the counts to the workload's.
func TestCostOfARequest(t *testing.T) {
	const threads, each = 4, 5000
	lab.NeedRoot(t)
	device := lab.Loop(t, 64)
	for name, o := range map[string]RequestOptions{
		"summary": {Sums: true, Dev: device.Dev},
		"lines":   {Records: true, Waits: true, Dev: device.Dev, RingBytes: 64 << 20, Budget: 1 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			w := openRequests(t, o)
			meter, err := EnableStats()
			if err != nil {
				t.Fatal(err)
			}
			defer meter.Close()
			child := lab.Workload{Name: "threads", Args: []string{device.Path, strconv.Itoa(threads), strconv.Itoa(each)}}.Start(t)
			child.Go()
			truth := child.Wait()
			run, err := w.Stats()
			if err != nil {
				t.Fatal(err)
			}
			counts, err := w.Counts()
			unseen := unseenRequests(t, w) + counts.InFlight
			if err != nil || counts.Completed+unseen < uint64(truth.Ops) || counts.Started+unseen < counts.Completed || unseen > uint64(truth.Ops)/100 {
				t.Errorf("%+v and %d unseen, of %d reads: %v", counts, unseen, truth.Ops, err)
			}
			t.Logf("%d ns a request in %.1f runs", uint64(run.Runtime)/uint64(truth.Ops), float64(run.Runs)/float64(truth.Ops))
			for program, p := range w.collection.Programs {
				if s, err := p.Stats(); err == nil && s.RunCount > 0 {
					t.Logf("%s: %d runs of %d ns", program, s.RunCount, uint64(s.Runtime)/s.RunCount)
				}
			}
		})
	}
}
