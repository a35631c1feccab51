// SPDX-License-Identifier: Apache-2.0

package blktrace

import (
	"github.com/iowitness/iowitness/event"
)

// locate is the open span that an action is about; nil if there is none.
func (l *life) locate(t *trace, will func(*span) bool) *span {
	return find(l.open.begins, keyOf(t), t.bytes, will)
}

func (l *life) promoteOrCreate(t *trace) *span {
	if s := l.promote(t); s != nil {
		return s
	}
	return l.created(t)
}

// promote makes a request of the bio that an action is about; nil if that was not seen.
func (l *life) promote(t *trace) *span {
	s := l.locate(t, func(s *span) bool { return !s.request })
	if s == nil {
		s = l.moveBio(t)
	}
	if s == nil {
		return nil
	}
	if t.bytes > 0 && s.left > t.bytes {
		l.cut(s, t.sector+t.bytes/sectorBytes)
	}
	s.request = true
	return s
}

// created is a request whose bio was not seen.
func (l *life) created(t *trace) *span {
	s := l.create(t, true)
	l.own(s, t)
	if from, ok := l.passOn(keyOf(t)); ok {
		l.inherit(s, from, t.task)
	}
	l.awaitFlush(s)
	return s
}

// fit makes a request as large as an action says. What it grows over was merged into it.
func (l *life) fit(s *span, bytes uint64) {
	if bytes == 0 || bytes == s.left {
		return
	}
	for s.left < bytes {
		next := find(l.open.begins, s.endKey(), bytes-s.left, func(o *span) bool {
			return o != s && !o.driver && o.left > 0 && o.left <= bytes-s.left
		})
		if next == nil {
			break
		}
		l.absorb(s, next)
	}
	if s.left != bytes {
		l.resize(s, s.begin, bytes)
	}
}

func (l *life) resize(s *span, begin, left uint64) {
	l.open.change(s, func() {
		s.io.Bytes = clamp(uint64(s.io.Bytes) - min(s.left, uint64(s.io.Bytes)) + left)
		if begin < s.begin {
			s.io.Sector = begin
		}
		s.begin, s.left = begin, left
	})
}

// absorb merges one span into another one, to which it is adjacent.
func (l *life) absorb(s, other *span) {
	l.open.remove(other)
	s.io.Merged += other.io.Merged + 1
	s.stacked = s.stacked || other.stacked
	l.resize(s, min(s.begin, other.begin), s.left+other.left)
}

// merge is for bios, and in blktrace's files for requests, that go into a request that the driver does not have yet.
func (l *life) merge(t *trace) {
	bio := l.locate(t, func(s *span) bool { return !s.request })
	if bio == nil && t.action != FrontMerge {
		bio = find(l.open.begins, keyOf(t), t.bytes, func(s *span) bool { return !s.driver && s.left == t.bytes })
	}
	if bio == nil {
		bio = l.moveBio(t)
	}
	into := l.mergeTarget(t, bio)
	switch {
	case into == nil:
		l.counts.Stray++
		return
	case bio != nil:
		l.absorb(into, bio)
	default: // its own submission was not seen
		into.io.Merged++
		l.resize(into, min(into.begin, t.sector), into.left+t.bytes)
	}
	l.open.touch(into, t.at)
}

func (l *life) mergeTarget(t *trace, bio *span) *span {
	will := func(s *span) bool { return s != bio && s.request && !s.driver }
	k := keyOf(t)
	if t.action == FrontMerge {
		k.sector += t.bytes / sectorBytes
		return find(l.open.begins, k, 0, will)
	}
	return find(l.open.ends, k, 0, will)
}

// split cuts a bio that is too large for one request.
func (l *life) split(t *trace) {
	s := l.locate(t, func(s *span) bool { return !s.request && !s.stacked })
	if s == nil {
		s = l.moveBio(t)
	}
	if s == nil {
		l.counts.Stray++
		return
	}
	boundary := t.boundary
	if boundary < t.sector { // the kernel tells its lower half only
		boundary |= t.sector &^ 0xffffffff
		if boundary < t.sector {
			boundary += 1 << 32
		}
	}
	if boundary > s.begin && boundary < s.end() {
		l.cut(s, boundary)
	}
	l.open.touch(s, t.at)
}

// cut makes two parts of a span; the rest begins at a sector within it.
func (l *life) cut(s *span, boundary uint64) {
	front := (boundary - s.begin) * sectorBytes
	if front >= s.left {
		return
	}
	rest := *s
	rest.begin, rest.left = boundary, s.left-front
	rest.io.Sector, rest.io.Bytes = boundary, clamp(rest.left)
	s.io.Flags |= event.IOSplit
	rest.io.Flags |= event.IOSplit
	l.resize(s, s.begin, front)
	l.open.add(&rest)
	l.awaitFlush(&rest)
}
