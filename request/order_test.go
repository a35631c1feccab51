// SPDX-License-Identifier: Apache-2.0

package request_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/request"
)

// TestRequestsComeInOrderWithTheirWaits: whatever the order within the slack, none is
// lost, none comes twice, and each has the wait that it ended.
func TestRequestsComeInOrderWithTheirWaits(t *testing.T) {
	const n, slack = 5000, 50
	rnd := rand.New(rand.NewPCG(1, 2))
	type coming struct {
		at uint64
		io *event.IO
	}
	var all []coming
	for i := range uint64(n) {
		io := &event.IO{Completed: 1000 + 10*i, Sector: i, Disk: event.MakeDev(7, uint32(i%3))}
		all = append(all, coming{io.Completed + rnd.Uint64N(slack), io})
	}
	slices.SortStableFunc(all, func(a, b coming) int { return int(a.at) - int(b.at) })
	o := request.Order{Slack: slack}
	var told []*event.IO
	tell := func(r *event.IO) { told = append(told, r) }
	for _, c := range all {
		o.Add(c.io, tell)
		if c.io.Sector%2 == 0 {
			o.Join(&event.IOWait{TID: uint32(c.io.Sector) + 1, Completed: c.io.Completed, Sector: c.io.Sector, Disk: c.io.Disk, WaitNS: 7})
		}
	}
	o.Join(&event.IOWait{TID: 1, Completed: 1, Sector: 2})
	o.Flush(tell)
	if len(told) != n {
		t.Fatalf("%d told of %d", len(told), n)
	}
	for i, r := range told {
		if r.Sector != uint64(i) {
			t.Fatalf("request %d comes as number %d", r.Sector, i)
		}
		if want := uint32(1-i%2) * uint32(i+1); r.WaitTID != want {
			t.Fatalf("request %d ended the wait of %d, not %d", i, r.WaitTID, want)
		}
	}
}
