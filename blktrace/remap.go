// SPDX-License-Identifier: Apache-2.0

package blktrace

import (
	"github.com/iowitness/iowitness/event"
)

// remapped is what a bio or request was before it was mapped to where it goes now.
type remapped struct {
	parent    *span     // on the stacked device; nil: not seen
	top       event.Dev // where it was submitted first; 0: not on a stacked device
	partition event.Dev // on which it goes to the disk; 0: none
}

// remap is for a bio that goes from a partition to its disk, or from a stacked
// device to one below. Both are told alike; a partition is told by its number
// and by never having a bio of its own, as its bios are queued as those of the disk.
func (l *life) remap(t *trace) {
	source := key{t.from, t.fromSector, classOf(t.op)}
	was, known := l.remaps.get(source)
	if known {
		l.remaps.remove(source)
	}
	bio := l.bioAt(source)
	if l.fromPartition(t, known, bio) {
		l.learn(t.from, t.dev)
		was.partition = t.from
	} else {
		was = l.below(was, bio, t.from)
	}
	l.disk(t.to) // so that it is looked at when the request comes
	for _, dev := range []event.Dev{t.to, t.dev} {
		l.remaps.put(key{dev, t.sector, classOf(t.op)}, was)
	}
}

func (l *life) fromPartition(t *trace, known bool, bio *span) bool {
	if t.to == t.from {
		return true
	}
	if _, ok := l.parts[t.from]; ok {
		return true
	}
	return bio == nil && !l.disk(t.from).requests && partitionNumber(t.from, t.to) && (known || l.disk(t.from).bio == nil)
}

// below is what a bio becomes on the device under a stacked one.
func (l *life) below(was remapped, bio *span, from event.Dev) remapped {
	was.partition = 0
	if was.parent == nil {
		was.parent = bio
	}
	if was.top == 0 && bio != nil {
		was.top = bio.io.Top
	}
	if was.top == 0 {
		was.top = from
	}
	return was
}

// bioAt is the open bio that begins at or, if it was the latest, contains a sector.
func (l *life) bioAt(at key) *span {
	dev := l.whole(at.dev)
	s := find(l.open.begins, key{dev, at.sector, at.class}, 0, func(s *span) bool { return !s.request })
	if s != nil {
		return s
	}
	latest := l.disk(dev).bio
	if latest != nil && latest.open && !latest.request && latest.class == at.class &&
		latest.begin <= at.sector && at.sector < latest.end() {
		return latest
	}
	return nil
}

// requestRemap is for a request of a stacked device that goes on as one of the device below.
func (l *life) requestRemap(t *trace) {
	source := key{l.whole(t.from), t.fromSector, classOf(t.op)}
	parent := find(l.open.begins, source, t.bytes, func(s *span) bool { return s.request })
	l.remaps.put(key{t.dev, t.sector, classOf(t.op)}, l.below(remapped{}, parent, t.from))
}

func (l *life) takeRemap(t *trace) (remapped, bool) {
	k, was, ok := l.remapAt(t)
	if ok {
		l.remaps.remove(k)
	}
	return was, ok
}

// remapAt finds what was remapped to where an action is: a request's disk, or a partition of it.
func (l *life) remapAt(t *trace) (key, remapped, bool) {
	k := key{t.dev, t.sector, classOf(t.op)}
	if was, ok := l.remaps.get(k); ok || !t.ofRequest {
		return k, was, ok
	}
	if len(l.disks) > maxSearched {
		return key{}, remapped{}, false
	}
	for part := range l.disks {
		if l.whole(part) != t.dev && !l.maybePartition(part, t.dev) {
			continue
		}
		k.dev = part
		if was, ok := l.remaps.get(k); ok && was.partition == part {
			l.learn(part, t.dev)
			return k, was, true
		}
	}
	return key{}, remapped{}, false
}

// inherit makes a span below a stacked device that of whoever submitted it above.
func (l *life) inherit(s *span, was remapped, by event.Task) {
	s.io.Top = was.top
	if was.partition != 0 {
		s.io.Dev = was.partition
	}
	parent := was.parent
	if parent == nil {
		return
	}
	parent.stacked = true
	if owner := parent.io.Owner; owner != (event.Task{}) {
		s.issuer = parent.issuer
		if owner.TID != by.TID {
			s.io.Owner, s.io.Carrier = owner, by
		}
	}
	if s.io.Cgroup == 0 {
		s.io.Cgroup = parent.io.Cgroup
	}
}

// moveBio is for a device that maps a bio and passes it on as it is: it is not
// queued a second time, and the request below is its own.
func (l *life) moveBio(t *trace) *span {
	k, was, ok := l.remapAt(t)
	if !ok || was.parent == nil {
		return nil
	}
	s := was.parent
	if !s.open || s.request || s.stacked || t.bytes > 0 && s.left > t.bytes {
		return nil
	}
	l.remaps.remove(k)
	l.open.change(s, func() {
		s.begin, s.io.Sector = t.sector, t.sector
		s.io.Disk, s.io.Dev, s.io.Top = l.whole(t.dev), t.dev, was.top
	})
	if was.partition != 0 {
		s.io.Dev = was.partition
	}
	return s
}
