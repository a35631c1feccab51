// SPDX-License-Identifier: Apache-2.0

package blktrace

import (
	"math"
	"strings"

	"github.com/iowitness/iowitness/event"
)

// life makes IOs of actions, which it takes in the order of their time.
type life struct {
	tell   func(*event.IO)
	counts *Counts

	open    table
	disks   map[event.Dev]*disk
	remaps  kept[remapped]
	ended   kept[*ending] // requests that completed
	held    []*span       // completed, but a step of its flush sequence may still fail
	flushes map[event.Dev][]*span
}

// disk is what is kept of a device.
type disk struct {
	completed bool // a completion was seen
	inDriver  uint32
	device    uint64 // ns: how long the driver has requests, an average that forgets

	issued, queued tail
	bio            *span // the latest that was queued
}

// took adds to the average.
func (d *disk) took(ns uint64) {
	if d.device == 0 {
		d.device = ns
		return
	}
	d.device += ns/16 - d.device/16
}

// tail is where the latest I/O ended.
type tail struct {
	sector uint64
	class  class
	known  bool
}

// follow says whether an I/O begins where the one before ended.
func (t *tail) follow(s *span) bool {
	if s.left == 0 || s.class == classOther {
		return false
	}
	follows := t.known && t.class == s.class && t.sector == s.begin
	*t = tail{s.end(), s.class, true}
	return follows
}

func newLife(counts *Counts, tell func(*event.IO)) *life {
	return &life{
		tell: tell, counts: counts, open: newTable(), disks: map[event.Dev]*disk{},
		flushes: map[event.Dev][]*span{},
	}
}

func (l *life) take(t *trace) {
	l.expire(t.at)
	switch t.action {
	case Queue:
		l.queue(t)
	case GetRequest, Start:
		l.begun(t)
	case BackMerge, FrontMerge, RequestMerge:
		l.merge(t)
	case Insert:
		l.insert(t)
	case Issue:
		l.issue(t)
	case Requeue:
		l.requeue(t)
	case Complete:
		l.complete(t)
	case BioComplete:
		l.bioComplete(t)
	case Done:
		l.done(t)
	case Split:
		l.split(t)
	case Remap:
		l.remap(t)
	case RequestRemap:
		l.requestRemap(t)
	}
}

func (l *life) disk(dev event.Dev) *disk {
	d := l.disks[dev]
	if d == nil {
		d = &disk{}
		l.disks[dev] = d
	}
	return d
}

func keyOf(t *trace) key { return key{t.dev, t.sector, classOf(t.op)} }

// create opens a span for a bio or request of which this is the first action.
func (l *life) create(t *trace, request bool) *span {
	if l.open.ages.Len() >= maxOpen {
		l.unfinished(l.open.ages.Front().Value.(*span))
	}
	if alike := l.open.begins[keyOf(t)]; len(alike) >= maxAlike {
		l.unfinished(alike[0])
	}
	s := &span{
		class: classOf(t.op), begin: t.sector, left: t.bytes, last: t.at, request: request,
		io: event.IO{
			Sector: t.sector, Bytes: clamp(t.bytes), Op: t.op, Dev: t.dev, Disk: t.dev, CPU: t.cpu, Cgroup: t.cgroup,
		},
	}
	l.open.add(s)
	return s
}

func clamp(bytes uint64) uint32 { return uint32(min(bytes, math.MaxUint32)) }

func (l *life) queue(t *trace) {
	s := l.create(t, false)
	s.io.Queued = t.at
	l.own(s, t)
	if from, ok := l.passOn(keyOf(t)); ok {
		l.inherit(s, from, t.task)
	}
	d := l.disk(s.io.Disk)
	s.follows = d.queued.follow(s)
	d.bio = s
	l.awaitFlush(s)
}

// own makes the submitter the owner. A kernel worker that only issues what
// others submitted is the carrier of an owner who is not known.
func (l *life) own(s *span, t *trace) {
	if s.io.Owner != (event.Task{}) {
		return
	}
	s.issuer = t.action == Insert || t.action == Issue
	if s.issuer && strings.HasPrefix(t.task.Comm, "kworker/") {
		s.io.Carrier = t.task
		return
	}
	s.io.Owner = t.task
}

// begun is for G and io_start: a bio has its request now, or a request without a bio is accounted.
func (l *life) begun(t *trace) {
	var s *span
	if t.action == Start {
		s = l.locate(t, func(s *span) bool { return s.request && !s.started && !s.driver && s.io.Issued == 0 })
	}
	if s == nil {
		s = l.promoteOrCreate(t)
	}
	if s.io.Got == 0 {
		s.io.Got = t.at
	}
	s.started = s.started || t.action == Start
	l.fit(s, t.bytes)
	l.open.touch(s, t.at)
}

func (l *life) insert(t *trace) {
	s := l.locate(t, func(s *span) bool {
		return s.request && !s.driver && (s.io.Inserted == 0 || s.io.Requeues > 0)
	})
	if s == nil {
		s = l.promoteOrCreate(t)
	}
	if s.io.Inserted == 0 && s.io.Issued == 0 { // after a requeue it is not the first time
		s.io.Inserted = t.at
	}
	l.fit(s, t.bytes)
	l.open.touch(s, t.at)
}

func (l *life) issue(t *trace) {
	s := l.locate(t, func(s *span) bool { return s.request && !s.driver })
	if s == nil {
		s = l.promote(t)
	}
	if s == nil {
		s = l.again(t)
	}
	if s == nil {
		s = l.created(t)
	}
	l.fit(s, t.bytes)
	l.drive(s, t)
	if s.class == classFlush {
		l.flushIssued(s)
	}
}

// again is for a request that the driver has already: it gave it back without
// that being recorded, or it completed without that being recorded. Only of a
// request with a past it is known that this is not another one.
func (l *life) again(t *trace) *span {
	s := l.locate(t, func(s *span) bool { return s.driver && s.left == t.bytes })
	if s == nil || s.class == classOther {
		return nil
	}
	if s.io.Begin() == s.io.Issued || t.at > s.last && t.at-s.last > longestRetry {
		l.unfinished(s)
		return nil
	}
	s.io.Requeues++
	l.undrive(s)
	return s
}

func (l *life) drive(s *span, t *trace) {
	d := l.disk(s.io.Disk)
	s.driver = true
	d.inDriver++
	follows := d.issued.follow(s)
	if s.io.Issued != 0 {
		s.io.Reissued = t.at
	} else {
		s.io.Issued = t.at
		s.io.Depth = d.inDriver
		if follows {
			s.io.Flags |= event.IOSequential
		}
	}
	l.open.touch(s, t.at)
}

func (l *life) undrive(s *span) {
	if s.driver {
		s.driver = false
		l.disk(s.io.Disk).inDriver--
	}
}

func (l *life) requeue(t *trace) {
	s := l.locate(t, func(s *span) bool { return s.driver })
	if s == nil {
		l.counts.Stray++
		return
	}
	l.undrive(s)
	s.io.Requeues++
	l.open.touch(s, t.at)
}

// unfinished tells a span of which no completion was seen.
func (l *life) unfinished(s *span) {
	l.close(s)
	s.io.Flags |= event.IOUnfinished
	if !l.disk(s.io.Disk).completed {
		s.io.Depth = 0 // completions are not recorded: how many the driver has is not known
	}
	if s.silent {
		return
	}
	l.counts.Unfinished++
	l.say(s)
}

func (l *life) close(s *span) {
	l.undrive(s)
	l.open.remove(s)
}

func (l *life) say(s *span) {
	if s.stacked {
		s.io.Flags |= event.IOBio
	}
	if s.io.Backwards() {
		l.counts.Backwards++
	}
	switch {
	case s.io.Owner == (event.Task{}):
		l.counts.NoOwner++
	case s.issuer:
		l.counts.ByIssuer++
	}
	l.counts.IOs++
	l.tell(&s.io)
}

// expire gives up what was silent for too long and lets go of what was held.
func (l *life) expire(now uint64) {
	for e := l.open.ages.Front(); e != nil; e = l.open.ages.Front() {
		s := e.Value.(*span)
		if now < longest || s.last >= now-longest {
			break
		}
		l.unfinished(s)
	}
	for len(l.held) > 0 && now > flushTime && l.held[0].last < now-flushTime {
		l.release(0)
	}
}

// end tells all that is still open.
func (l *life) end() {
	for len(l.held) > 0 {
		l.release(0)
	}
	for e := l.open.ages.Front(); e != nil; e = l.open.ages.Front() {
		l.unfinished(e.Value.(*span))
	}
}
