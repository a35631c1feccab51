// SPDX-License-Identifier: Apache-2.0

package request

import (
	"testing"

	"github.com/iowitness/iowitness/event"
)

// TestWhatEndsBeforeItBeganHasNoLatency (case B1): it is counted as such, and is in no time, no histogram and
// no heat map, whichever of its instants is wrong.
func TestWhatEndsBeforeItBeganHasNoLatency(t *testing.T) {
	for name, o := range map[string]event.IO{
		"completed before it was issued":   {Queued: 10, Issued: 20, Completed: 15},
		"completed before it was queued":   {Queued: 10, Completed: 5},
		"issued before it had a request":   {Queued: 10, Got: 30, Issued: 20, Completed: 40},
		"inserted before it was submitted": {Queued: 10, Inserted: 5, Issued: 20, Completed: 40},
	} {
		o.Bytes, o.Disk = 4096, event.MakeDev(8, 0)
		c := NewCollector(0, 0)
		c.Add(&o)
		s := c.Summary(Options{})
		total := &s.Total
		if total.Count != 1 || total.Backwards != 1 || total.DeviceTimes.Count()+total.TotalTimes.Count() != 0 || len(s.Heat.Grid(0).Rows) != 0 {
			t.Errorf("%s: %+v", name, total.Sum)
		}
		for p, span := range total.Phases {
			if span.Count != 0 || span.NS != 0 || span.Max != 0 {
				t.Errorf("%s: phase %d has %+v", name, p, span)
			}
		}
		l := (&Lines{}).Of(&o)
		for _, p := range []event.Phase{event.PhaseDevice, event.PhaseTotal} {
			if ns, ok := l.Took(p); ok {
				t.Errorf("%s: a line has %d ns", name, ns)
			}
		}
	}
}
