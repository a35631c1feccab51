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

// majorExtended is where partitions are numbered that their disk's major has no room for, and those of NVMe.
const majorExtended = 259

// remap is for a bio that goes from a partition to its disk, or from a stacked
// device to one below, which may be a partition, too: then this happens twice.
func (l *life) remap(t *trace) {
	c := classOf(t.op)
	source := key{t.from, t.fromSector, c}
	was, known := l.passOn(source)
	bio := l.bioAt(source)
	if l.fromPartition(t, bio) {
		if !known { // since Linux 4.14 the disk is told even while the sector is the partition's
			was, _ = l.passOn(key{t.dev, t.fromSector, c})
		}
		was.partition = t.from
	} else {
		was = l.below(was, bio, t.from)
	}
	for _, dev := range []event.Dev{t.to, t.dev} {
		l.remaps.put(key{dev, t.sector, c}, was)
	}
}

// fromPartition tells a partition by its number, and by never having a bio of
// its own: they are queued as those of the disk.
func (l *life) fromPartition(t *trace, bio *span) bool {
	number := t.from.Major() == majorExtended && t.from != t.to ||
		t.from.Major() == t.to.Major() && t.from.Minor() > t.to.Minor()
	return number && bio == nil && (t.from == t.dev || l.disk(t.from).bio == nil)
}

// passOn takes what a bio was before it got to where it is.
func (l *life) passOn(at key) (remapped, bool) {
	was, ok := l.remaps.get(at)
	if ok {
		l.remaps.remove(at)
	}
	return was, ok
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
	s := find(l.open.begins, at, 0, func(s *span) bool { return !s.request })
	if s != nil {
		return s
	}
	latest := l.disk(at.dev).bio
	if latest != nil && latest.open && !latest.request && latest.class == at.class &&
		latest.begin <= at.sector && at.sector < latest.end() {
		return latest
	}
	return nil
}

// requestRemap is for a request of a stacked device that goes on as one of the device below.
func (l *life) requestRemap(t *trace) {
	source := key{t.from, t.fromSector, classOf(t.op)}
	parent := find(l.open.begins, source, t.bytes, func(s *span) bool { return s.request })
	l.remaps.put(key{t.dev, t.sector, classOf(t.op)}, l.below(remapped{}, parent, t.from))
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
	was, ok := l.remaps.get(keyOf(t))
	if !ok || was.parent == nil {
		return nil
	}
	s := was.parent
	if !s.open || s.request || s.stacked || t.bytes > 0 && s.left > t.bytes {
		return nil
	}
	l.remaps.remove(keyOf(t))
	l.open.change(s, func() {
		s.begin, s.io.Sector = t.sector, t.sector
		s.io.Disk, s.io.Dev, s.io.Top = t.dev, t.dev, was.top
	})
	if was.partition != 0 {
		s.io.Dev = was.partition
	}
	return s
}
