// SPDX-License-Identifier: Apache-2.0

package blktrace

import (
	"slices"

	"github.com/iowitness/iowitness/event"
)

// complete is for a request or a part of it; in blktrace's files for a bio, too.
func (l *life) complete(t *trace) {
	l.disk(t.dev).completed = true
	if t.bytes == 0 && classOf(t.op) != classOther {
		l.completeEmpty(t)
		return
	}
	fits := func(s *span) bool { return s.class == classOther || s.left >= t.bytes && s.left > 0 }
	s := l.current(l.locate(t, func(s *span) bool { return s.driver && fits(s) }))
	if s == nil { // its issue was not recorded, or it failed before
		s = l.locate(t, func(s *span) bool { return s.request && fits(s) })
	}
	if s == nil {
		s = l.locate(t, func(s *span) bool { return !s.request && fits(s) })
	}
	if s == nil {
		l.counts.Unmatched++
		return
	}
	l.part(s, t)
}

// current chooses among alike requests that the driver has. Usually the first
// completes first; but one that is there for much longer than such requests take is stale:
// its completion was lost, and this is that of a later one.
func (l *life) current(s *span) *span {
	if s == nil {
		return nil
	}
	alike := l.open.begins[s.beginKey()]
	if len(alike) == 1 {
		return s
	}
	same := func(o *span) bool { return o.driver && o.left == s.left }
	newest := s.last
	for _, o := range alike {
		if same(o) {
			newest = max(newest, o.last)
		}
	}
	overlap := max(8*l.disk(s.io.Disk).device, 1e6)
	for _, o := range alike {
		if same(o) && newest-o.last <= overlap {
			return o
		}
	}
	return s
}

// part takes what has completed off a request, which goes on at the sector behind it.
func (l *life) part(s *span, t *trace) {
	l.fail(s, t.err)
	if t.bytes < s.left && s.class != classOther {
		l.open.change(s, func() {
			s.begin += t.bytes / sectorBytes
			s.left -= t.bytes
		})
		l.open.touch(s, t.at)
		return
	}
	l.ended.put(keyOf(t), &ending{at: t.at})
	l.finish(s, t.at)
}

func (l *life) fail(s *span, err int32) {
	if s.io.Error == 0 {
		s.io.Error = err
	}
}

// ending is a completion that others may follow: io_done, and those of a flush sequence.
type ending struct {
	at   uint64
	done bool // io_done has followed
}

// completeEmpty is for a flush, and for the end of a sequence of flushes around
// a write, whose data has completed before.
func (l *life) completeEmpty(t *trace) {
	k := keyOf(t)
	before, known := l.ended.get(k)
	l.ended.put(k, &ending{at: t.at})
	for i, s := range l.held {
		if s.beginKey() == k {
			l.counts.FlushEnds++
			l.fail(s, t.err)
			l.release(i)
			return
		}
	}
	empty := func(s *span) bool { return s.left == 0 }
	s := l.locate(t, func(s *span) bool { return s.driver && empty(s) })
	if s == nil {
		s = l.locate(t, func(s *span) bool { return empty(s) && s.io.Issued != 0 })
	}
	if s == nil {
		s = l.locate(t, empty)
	}
	if s == nil {
		s = l.atEnd(k)
	}
	switch {
	case s != nil:
		l.fail(s, t.err)
		l.finish(s, t.at)
	case known && within(before.at, t.at, flushTime) && t.err == 0:
		l.counts.FlushEnds++
	default:
		l.counts.Unmatched++
	}
}

func within(before, now, ns uint64) bool { return now < before || now-before < ns }

// bioComplete is for a bio of a device without requests, or one that was remapped.
func (l *life) bioComplete(t *trace) {
	l.disk(t.dev).completed = true
	s := l.locate(t, func(s *span) bool { return !s.request && s.left == t.bytes })
	if s == nil && t.bytes == 0 {
		s = l.atEnd(keyOf(t))
	}
	if s == nil {
		l.counts.Unmatched++
		return
	}
	l.fail(s, t.err)
	l.finish(s, t.at)
}

// atEnd is the bio that ends at a sector: while they do it, some drivers move its begin to there.
func (l *life) atEnd(k key) *span {
	return find(l.open.ends, k, 0, func(s *span) bool { return !s.request && s.left > 0 })
}

// done is for block_io_done, which follows the last completion and has no size.
func (l *life) done(t *trace) {
	l.disk(t.dev).completed = true
	k := keyOf(t)
	if before, ok := l.ended.get(k); ok && !before.done && within(before.at, t.at, soon) {
		before.done = true
		return
	}
	s := l.current(l.locate(t, func(s *span) bool { return s.driver }))
	if s == nil {
		s = l.locate(t, func(s *span) bool { return s.request && s.started })
	}
	if s == nil {
		l.counts.Unmatched++
		return
	}
	l.finish(s, t.at)
}

// finish ends a span. If it may be a write within a sequence of flushes, it is
// held for a while: the sequence can still fail.
func (l *life) finish(s *span, at uint64) {
	l.close(s)
	s.io.Completed = at
	if ns, ok := s.io.Phase(event.PhaseDevice); ok {
		l.disk(s.io.Disk).took(ns)
	}
	s.last = max(s.last, at)
	if s.silent {
		for _, waiting := range l.flushes[s.io.Disk] {
			if waiting.io.Issued == s.io.Issued {
				l.fail(waiting, s.io.Error)
			}
		}
		return
	}
	if !s.request && s.follows {
		s.io.Flags |= event.IOSequential
	}
	if s.request && s.left > 0 && s.io.Op&(reqPreflush|reqFUA) != 0 {
		if l.held = append(l.held, s); len(l.held) > maxHeld {
			l.release(0)
		}
		return
	}
	l.say(s)
}

func (l *life) release(i int) {
	s := l.held[i]
	l.held = slices.Delete(l.held, i, i+1)
	l.say(s)
}

// awaitFlush notes who asks for a flush of the device's cache.
func (l *life) awaitFlush(s *span) {
	if s.io.Op&reqPreflush == 0 || s.class == classFlush {
		return
	}
	if s.left == 0 { // a write of nothing: what the device gets is a flush
		s.io.Op = s.io.Op&^event.OpMask | event.OpFlush
	}
	waiting := slices.DeleteFunc(l.flushes[s.io.Disk], func(o *span) bool { return !o.open || o.io.Issued != 0 && o.left > 0 })
	l.flushes[s.io.Disk] = append(waiting, s)
}

// flushIssued gives those who wait for nothing but a flush the instant at which
// the driver had it: one flush request serves all of them. Else it is told by
// itself, as that of the first who waits for it before or after a write.
func (l *life) flushIssued(flush *span) {
	var writer *span
	for _, s := range l.flushes[flush.io.Disk] {
		switch {
		case !s.open || s.io.Issued != 0:
		case s.left == 0:
			s.io.Issued, s.io.Depth = flush.io.Issued, flush.io.Depth
			flush.silent = true
		case writer == nil:
			writer = s
		}
	}
	for _, s := range l.held {
		if writer == nil && s.io.Disk == flush.io.Disk {
			writer = s
		}
	}
	switch {
	case flush.silent:
		l.counts.Flushes++
	case writer != nil:
		flush.issuer = writer.issuer
		if flush.io.Carrier == (event.Task{}) && flush.io.Owner != writer.io.Owner {
			flush.io.Carrier = flush.io.Owner
		}
		flush.io.Owner = writer.io.Owner
	}
}
