// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"github.com/iowitness/iowitness/blame"
	"github.com/iowitness/iowitness/event"
)

// chargeKey tells charges of an entry apart. Its stack and the way its device
// was found are those of the longest wait.
type chargeKey struct {
	cause   blame.Cause
	flagged bool
	unknown bool // whether it is flagged
	device  event.Dev
	syscall int32
	file    event.File
}

func (k *chargeKey) same(o *chargeKey) bool {
	return k.cause == o.cause && k.flagged == o.flagged && k.unknown == o.unknown && k.device == o.device && k.syscall == o.syscall &&
		idOf(&k.file) == idOf(&o.file)
}

func keyOfCharge(c *blame.Charge) chargeKey {
	return chargeKey{c.Cause, c.Flagged, c.FlagUnknown, c.Device, c.Syscall, c.File}
}

// charge sums up charges that have a key in common.
type charge struct {
	chargeKey
	source  blame.DeviceSource
	sampled bool
	count   uint64
	blocked uint64 // ns
	queued  uint64 // ns
	max     uint64 // ns
	seen    uint64
	joins   blame.Joins
	hist    event.Hist
	stack   []string
}

// charge finds the sum for a key. Over the limit the file is given up, then all but the cause.
// The pointer holds until the next call.
func (a *Accumulator) charge(e *entry, k chargeKey) *charge {
	full := len(e.charges) >= a.limits.ChargesPerThread || a.charges >= a.limits.Charges
	i := e.find(&k)
	if i < 0 && full {
		k.file = event.File{}
		i = e.find(&k)
	}
	if i < 0 && full {
		k.device, k.syscall = 0, -1
		i = e.find(&k)
	}
	if i >= 0 {
		return &e.charges[i]
	}
	e.charges = append(e.charges, charge{chargeKey: k})
	a.charges++
	return &e.charges[len(e.charges)-1]
}

func (e *entry) find(k *chargeKey) int {
	for i := range e.charges {
		if e.charges[i].same(k) {
			return i
		}
	}
	return -1
}

func (c *charge) add(a *Accumulator, o *blame.Charge) {
	var stack []string
	if len(o.Stack) > 0 && (c.stack == nil || o.Max > c.max) {
		stack = a.intern(o.Stack)
	}
	c.merge(&charge{
		source: o.DeviceSource, sampled: o.Sampled, count: o.Count, blocked: o.Blocked, queued: o.RunQueue, max: o.Max,
		seen: o.Seen, joins: o.Joins, stack: stack,
	})
	c.hist.Merge(o.Hist)
}

func (c *charge) merge(o *charge) {
	longer := o.max > c.max
	if o.stack != nil && (longer || c.stack == nil) {
		c.stack = o.stack
	}
	if c.device != 0 && (longer || c.source == blame.NoDevice) {
		c.source = o.source
	}
	c.count += o.count
	c.blocked += o.blocked
	c.queued += o.queued
	c.max = max(c.max, o.max)
	c.seen += o.seen
	c.joins.Merge(&o.joins)
	c.sampled = c.sampled || o.sampled
	c.hist.Merge(o.hist)
}

func (c *charge) blame() blame.Charge {
	return blame.Charge{
		Cause: c.cause, Flagged: c.flagged, FlagUnknown: c.unknown, Device: c.device, DeviceSource: c.source, File: c.file, Syscall: c.syscall, Stack: c.stack,
		Count: c.count, Blocked: c.blocked, RunQueue: c.queued, Max: c.max, Hist: c.hist, Seen: c.seen, Joins: c.joins, Sampled: c.sampled,
	}
}
