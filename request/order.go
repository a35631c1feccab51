// SPDX-License-Identifier: Apache-2.0

package request

import (
	"cmp"
	"slices"

	"github.com/iowitness/iowitness/event"
)

// Order puts requests into the order of their completion, which those of several CPUs come
// not quite in, and joins them to the waits that they ended, which are told right after.
type Order struct {
	// Slack is how much later than others a request may come, in ns.
	Slack uint64

	held   []*event.IO // in order
	newest uint64
}

// Add takes a request, and tells those that are older than what may still come.
func (o *Order) Add(r *event.IO, tell func(*event.IO)) {
	i, _ := slices.BinarySearchFunc(o.held, r, func(a, b *event.IO) int { return cmp.Compare(a.Completed, b.Completed) })
	for i < len(o.held) && o.held[i].Completed == r.Completed {
		i++
	}
	o.held = slices.Insert(o.held, i, r)
	o.newest = max(o.newest, r.Completed)
	n := 0
	for n < len(o.held) && o.held[n].Completed+o.Slack < o.newest {
		tell(o.held[n])
		n++
	}
	o.held = slices.Delete(o.held, 0, n)
}

// Join gives a request the first wait that it ended.
func (o *Order) Join(w *event.IOWait) {
	for i := len(o.held) - 1; i >= 0; i-- {
		r := o.held[i]
		if r.Completed == w.Completed && r.Sector == w.Sector && r.Disk == w.Disk && r.WaitTID == 0 {
			r.WaitTID, r.WaitNS = w.TID, w.WaitNS
			return
		}
	}
}

// Flush tells what is held: nothing that is older will come.
func (o *Order) Flush(tell func(*event.IO)) {
	for _, r := range o.held {
		tell(r)
	}
	o.held = o.held[:0]
}
