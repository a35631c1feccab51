// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"strconv"
	"testing"
	"time"

	"github.com/iowitness/iowitness/lab"
)

// TestEntryAndReturnTellTheDevicesDelay: reads of a known number and delay, by
// the entry and return of the functions in which they sleep.
func TestEntryAndReturnTellTheDevicesDelay(t *testing.T) {
	const reads, delay = 500, 2 * time.Millisecond
	device := lab.NullBlk(t, delay)
	for _, via := range []Means{Fexit, Kretprobe} {
		t.Run(string(via), func(t *testing.T) {
			child := lab.Workload{Name: "direct_read", Args: []string{device.Path, strconv.Itoa(reads)}}.Start(t)
			w := openWitness(t, Options{Via: via, PIDs: []uint32{child.PID()}, Functions: []string{"io_schedule", "io_schedule_timeout"}})
			child.Go()
			truth := child.Wait()
			r := finish(t, w)
			sum, flagged, longest := r.sum(child.PID())
			// On preemptible kernels some runs are skipped: that is told.
			skipped := loss(t, w, "missed_entry").Count + loss(t, w, "missed_return").Count
			awake := loss(t, w, "no_sleep").Count // on a busy machine some are served before they could sleep
			if sum.Count+skipped+awake < reads-reads/100 || sum.Count > reads+reads/100 || flagged != sum.Count {
				t.Errorf("%d waits, %d of them flagged, in %d reads", sum.Count, flagged, reads)
			}
			checkTotal(t, sum, truth, time.Duration(sum.Count)*delay*98/100)
			t.Logf("%d waits, %v of %v, longest %v of %v", sum.Count, time.Duration(sum.Blocked), truth.Total, time.Duration(longest), truth.Max)
			losses, err := w.Losses()
			if err != nil {
				t.Fatal(err)
			}
			for _, l := range losses {
				t.Logf("%s: %d", l.ID, l.Count)
				if l.Count != 0 && !l.Harmless && skipped == 0 {
					t.Errorf("%d × %s", l.Count, l.Title)
				}
			}
			stacks := 0
			for _, wait := range r.waits {
				if len(wait.Site.Stack) > 0 {
					stacks++
				}
			}
			if stacks == 0 || stacks < len(r.waits) {
				t.Errorf("%d stacks of %d waits", stacks, len(r.waits))
			}
		})
	}
}
