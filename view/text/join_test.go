// SPDX-License-Identifier: Apache-2.0

package text

import (
	"strings"
	"testing"

	"github.com/iowitness/iowitness/blame"
	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/snapshot"
	"github.com/iowitness/iowitness/snapshot/snapshottest"
)

// TestTheDevicesPartOfAWait (case B5): an application waits 10 ms for a device that is done in
// 0.66 ms, or of which less is known.
func TestTheDevicesPartOfAWait(t *testing.T) {
	const n = 80
	for _, c := range []struct {
		name         string
		change       func(*snapshot.Interval, *blame.Charge)
		says, saysNo []string
	}{
		{
			"all known", func(*snapshot.Interval, *blame.Charge) {},
			[]string{
				"(7% of that in the device)", "80 of 80 recorded waits joined, these on average 10.0 ms: 9.31 ms before the request was made, 30.0 µs queued, 660 µs in the device",
				"longest: 12.0 ms for WS of 4.00 KiB at sector 2457616 on vda1: 11.3 ms before", "joined 80 of 160 recorded storage waits",
			},
			nil,
		},
		{
			"no queueing", func(_ *snapshot.Interval, c *blame.Charge) {
				c.Joins.Before += 30_000 * n
				c.Joins.Queue, c.Joins.QueueTimed, c.Joins.Longest.Queue = 0, 0, 0
			},
			[]string{"these on average 10.0 ms: 9.34 ms before the device had the request, 660 µs in the device"},
			[]string{"queued"},
		},
		{
			"no times", func(_ *snapshot.Interval, c *blame.Charge) {
				c.Joins = blame.Joins{Waits: n, Longest: event.Request{Dev: snapshottest.Vdb + 7, Op: event.OpFlush}, LongestWait: 12e6}
			},
			[]string{"joined: how long the device had the requests is not known", "longest: 12.0 ms for a flush (F) on 254:23\n"},
			[]string{"in the device)", "sector"},
		},
		{
			"begun before the wait", func(_ *snapshot.Interval, c *blame.Charge) {
				c.Joins.Longest.Device = 40e6
			},
			[]string{"sector 2457616 on vda1: 12.0 ms in the device (of 40.0 ms: it had it before the wait began)"},
			nil,
		},
		{
			"few joined", func(_ *snapshot.Interval, c *blame.Charge) { c.Seen = 2 * n },
			[]string{"80 of 160 recorded waits joined"},
			[]string{"of that in the device"},
		},
		{
			"by a means that does not join", func(iv *snapshot.Interval, c *blame.Charge) { iv.Joins, c.Joins = false, blame.Joins{} },
			nil,
			[]string{"joined", "in the device", "longest"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			iv, names := snapshottest.QuickDevice()
			c.change(iv, &iv.Threads[0].Charges[0])
			out := show(t, snapshot.Build(iv, names, snapshot.Options{}), Options{Stacks: true})
			for _, want := range c.says {
				if !strings.Contains(out, want) {
					t.Errorf("no %q in\n%s", want, out)
				}
			}
			for _, no := range c.saysNo {
				if strings.Contains(out, no) {
					t.Errorf("%q is in\n%s", no, out)
				}
			}
		})
	}
}
