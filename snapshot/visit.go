// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"cmp"
	"iter"

	"github.com/iowitness/iowitness/blame"
	"github.com/iowitness/iowitness/event"
)

// fileID tells files apart: a path alone is not enough, nor is an inode that is used again.
type fileID struct {
	dev  event.Dev
	ino  uint64
	path string
}

func idOf(f *event.File) fileID {
	if f.Source == event.NoFile {
		return fileID{}
	}
	return fileID{f.Dev, f.Ino, f.Path}
}

// groupKey holds the values of the keys in use; the others stay zero.
type groupKey struct {
	pid, tid                uint32
	comm                    string
	user, cgroup, container string
	cause                   blame.Cause
	device                  event.Dev
	file                    fileID
}

func (k groupKey) compare(o groupKey) int {
	return cmp.Or(
		cmp.Compare(k.pid, o.pid), cmp.Compare(k.tid, o.tid), cmp.Compare(k.comm, o.comm),
		cmp.Compare(k.user, o.user), cmp.Compare(k.cgroup, o.cgroup), cmp.Compare(k.container, o.container),
		cmp.Compare(k.cause, o.cause), cmp.Compare(k.device, o.device),
		cmp.Compare(k.file.path, o.file.path), cmp.Compare(k.file.dev, o.file.dev), cmp.Compare(k.file.ino, o.file.ino))
}

// part is what one thread adds to one group. The visitor must not keep it.
type part struct {
	thread  *blame.Thread
	exact   bool
	count   uint64
	blocked uint64
	flagged uint64
	queued  uint64
	max     uint64
	hist    event.Hist
	charges []blame.Charge
	unknown uint64 // ns of blocked that may be flagged too
	rest    uint64 // ns of blocked that no charge explains
	pending *blame.Pending
}

// builder walks the threads of an interval, more than once: ranking first keeps
// the details down to the rows that are shown.
type builder struct {
	threads iter.Seq[*blame.Thread]
	names   *nameCache
	options Options

	estimated, runQueueUnknown bool // see Interval
}

type visitor func(groupKey, *part)

func (b *builder) visit(by []Key, fromCharges bool, do visitor) {
	for t := range b.threads {
		if !b.options.wantsThread(t, b.names) {
			continue
		}
		if fromCharges {
			b.visitCharges(by, t, do)
		} else {
			do(b.keyOf(by, t, nil), b.wholeThread(t))
		}
	}
}

func (b *builder) wholeThread(t *blame.Thread) *part {
	return &part{
		thread: t, exact: !b.estimated, unknown: unknownNS(t.Charges), count: t.Count, blocked: t.Blocked, flagged: t.FlaggedBlocked, queued: t.RunQueue,
		max: t.Max, hist: t.Hist, charges: t.Charges, rest: unexplained(t), pending: t.Pending,
	}
}

// unknownNS is the time of charges that the kernel may call iowait or not.
func unknownNS(charges []blame.Charge) (ns uint64) {
	for i := range charges {
		if charges[i].FlagUnknown {
			ns += charges[i].Blocked
		}
	}
	return ns
}

// unexplained keeps the ledger balanced should an account leave something out.
func unexplained(t *blame.Thread) uint64 {
	var sum uint64
	for i := range t.Charges {
		sum += t.Charges[i].Blocked
	}
	return t.Blocked - min(sum, t.Blocked)
}

func (b *builder) visitCharges(by []Key, t *blame.Thread, do visitor) {
	for i := range t.Charges {
		if c := &t.Charges[i]; b.options.wantsCause(c.Cause) {
			do(b.keyOf(by, t, c), b.chargePart(t, t.Charges[i:i+1]))
		}
	}
	if rest := unexplained(t); rest > 0 && b.options.wantsCause(blame.Unattributed) {
		do(b.keyOf(by, t, &blame.Charge{Cause: blame.Unattributed}), &part{thread: t, exact: !b.estimated, blocked: rest, rest: rest})
	}
	if p := t.Pending; p != nil && b.options.wantsCause(p.Cause) {
		like := blame.Charge{Cause: p.Cause, Device: p.Device, DeviceSource: p.DeviceSource, File: p.File}
		do(b.keyOf(by, t, &like), &part{thread: t, exact: !b.estimated, max: p.Age, pending: p})
	}
}

func (b *builder) chargePart(t *blame.Thread, one []blame.Charge) *part {
	c := &one[0]
	p := &part{
		thread: t, exact: !c.Sampled && !b.estimated, unknown: unknownNS(one), count: c.Count, blocked: c.Blocked, queued: c.RunQueue,
		max: c.Max, hist: c.Hist, charges: one,
	}
	if c.Flagged {
		p.flagged = c.Blocked
	}
	return p
}

func (b *builder) keyOf(by []Key, t *blame.Thread, c *blame.Charge) groupKey {
	var k groupKey
	for _, key := range by {
		switch key {
		case ByProcess:
			k.pid = t.PID
		case ByThread:
			k.pid, k.tid, k.comm = t.PID, t.TID, t.Comm
		case ByUser:
			k.user = userName(b.names.Process(t.PID))
		case ByCgroup:
			k.cgroup = b.names.Process(t.PID).Cgroup
		case ByContainer:
			k.container = b.names.Process(t.PID).Container
		case ByCause:
			k.cause = c.Cause
		case ByDevice:
			k.device = b.names.sameDevice(c.Device)
		case ByFile:
			k.file = idOf(&c.File)
		}
	}
	return k
}
