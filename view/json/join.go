// SPDX-License-Identifier: Apache-2.0

package json

import (
	"github.com/iowitness/iowitness/blame"
	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/snapshot"
)

// joins tell of a cause the requests that ended its waits: the keys of snapshot.CauseFields
// from joined on, in their order.
func joins(c *snapshot.CauseShare) object {
	j := &c.Joins
	o := object{
		{"joined", j.Waits},
		{"wait_mean_ns", mean(j.Blocked, j.Timed)},
		{"before_mean_ns", mean(j.Before, j.Timed)},
		{"queue_mean_ns", mean(j.Queue, j.QueueTimed)},
		{"device_mean_ns", mean(j.Device, j.Timed)},
		{"queued_in_wait_mean_ns", nil},
		{"device_in_wait_mean_ns", nil},
		{"device_percent", nil},
		{"request", nil},
	}
	if s, ok := j.Mean(); ok {
		o[2].value, o[5].value, o[6].value = s.Before, s.Queued, s.Within
	}
	if percent, ok := c.DevicePercent(); ok {
		o[7].value = rounded(percent)
	}
	if j.Waits > 0 {
		o[8].value = joinedRequest(c)
	}
	return o
}

func mean(sum, of uint64) any {
	if of == 0 {
		return nil
	}
	return sum / of
}

// joinedRequest has exactly the keys of snapshot.RequestFields, in their order.
func joinedRequest(c *snapshot.CauseShare) object {
	r, wait := &c.Joins.Longest, c.Joins.LongestWait
	kind := r.Kind()
	o := object{
		{"device", name(c.Device)},
		{"sector", nil},
		{"bytes", r.Bytes},
		{"type", event.RWBS(r.Op)},
		{"op", kind.String()},
		{"queue_ns", knownNS(r.Queue)},
		{"device_ns", knownNS(r.Device)},
		{"wait_ns", wait},
		{"before_ns", nil},
		{"queued_in_wait_ns", nil},
		{"device_in_wait_ns", nil},
	}
	if kind != event.KindFlush {
		o[1].value = r.Sector
	}
	if r.Device > 0 {
		s := blame.SplitBy(wait, *r)
		o[8].value, o[9].value, o[10].value = s.Before, s.Queued, s.Within
	}
	return o
}

func knownNS(ns uint64) any {
	if ns == 0 {
		return nil
	}
	return ns
}

func joined(s *snapshot.Snapshot) any {
	if !s.Joined.Can {
		return nil
	}
	return object{{"joined", s.Joined.Joined}, {"of", s.Joined.Of}}
}
