// SPDX-License-Identifier: Apache-2.0

package blktrace

import (
	"container/list"
	"slices"

	"github.com/iowitness/iowitness/event"
)

const (
	sectorBytes  = 512
	maxOpen      = 1 << 17 // bios and requests; beyond it the one that was silent for longest is given up
	maxKept      = 4096    // remaps and completions that something may still follow
	maxAlike     = 1024    // of them at one sector, all in one direction
	longest      = 300e9   // ns without any action, after which a completion is no more believed: longer than drivers retry
	longestRetry = 30e9    // ns until a request that the driver has is taken for another one when it is issued
	soon         = 1e9     // ns in which io_done follows its completion
	flushTime    = 10e9    // ns in which the next step of a flush sequence follows the one before
	maxHeld      = 4096
)

// key is by what actions find each other: a trace has no request's address.
type key struct {
	dev    event.Dev
	sector uint64
	class  class
}

// span is a bio without a request, or a request, from its first action on.
type span struct {
	io    event.IO
	class class

	begin, left uint64 // sector and bytes of what has not completed
	last        uint64 // ns: its latest action
	request     bool
	started     bool // block_io_start was seen
	driver      bool // the driver has it
	stacked     bool // what was made of it below is told too
	follows     bool // it was queued right behind the bio before it
	issuer      bool // its owner is whoever issued it
	silent      bool // told as part of those that wait for it
	open        bool
	age         *list.Element
}

func (s *span) end() uint64 { return s.begin + s.left/sectorBytes }

func (s *span) beginKey() key { return key{s.io.Disk, s.begin, s.class} }

func (s *span) endKey() key { return key{s.io.Disk, s.end(), s.class} }

// table has the open spans by where they begin and end, and by age.
type table struct {
	begins, ends map[key][]*span
	ages         *list.List // of *span: the longest silent first
}

func newTable() table {
	return table{begins: map[key][]*span{}, ends: map[key][]*span{}, ages: list.New()}
}

func (t *table) add(s *span) {
	s.open = true
	s.age = t.ages.PushBack(s)
	t.index(s)
}

func (t *table) remove(s *span) {
	if !s.open {
		return
	}
	s.open = false
	t.ages.Remove(s.age)
	t.unindex(s)
}

func (t *table) index(s *span) {
	t.begins[s.beginKey()] = append(t.begins[s.beginKey()], s)
	t.ends[s.endKey()] = append(t.ends[s.endKey()], s)
}

func (t *table) unindex(s *span) {
	drop(t.begins, s.beginKey(), s)
	drop(t.ends, s.endKey(), s)
}

func drop(m map[key][]*span, k key, s *span) {
	rest := slices.DeleteFunc(m[k], func(other *span) bool { return other == s })
	if len(rest) == 0 {
		delete(m, k)
		return
	}
	m[k] = rest
}

// change applies what alters where a span is found.
func (t *table) change(s *span, how func()) {
	t.unindex(s)
	how()
	t.index(s)
}

// touch notes that something happened to a span.
func (t *table) touch(s *span, at uint64) {
	s.last = max(s.last, at)
	t.ages.MoveToBack(s.age)
}

// find is the first span at a key that will do, those of the size in bytes preferred.
func find(m map[key][]*span, k key, bytes uint64, will func(*span) bool) *span {
	var first *span
	for _, s := range m[k] {
		if !will(s) {
			continue
		}
		if s.left == bytes {
			return s
		}
		if first == nil {
			first = s
		}
	}
	return first
}

// kept remembers a bounded number of things by key; the oldest go first.
type kept[T any] struct {
	things map[key]keptThing[T]
	order  []keptKey
	serial uint64
}

type keptThing[T any] struct {
	thing  T
	serial uint64
}

type keptKey struct {
	key    key
	serial uint64
}

func (k *kept[T]) put(at key, thing T) {
	if k.things == nil {
		k.things = map[key]keptThing[T]{}
	}
	k.serial++
	k.things[at] = keptThing[T]{thing, k.serial}
	k.order = append(k.order, keptKey{at, k.serial})
	if len(k.order) < 2*maxKept {
		return
	}
	for _, old := range k.order[:maxKept] {
		if k.things[old.key].serial == old.serial {
			delete(k.things, old.key)
		}
	}
	k.order = append(k.order[:0], k.order[maxKept:]...)
}

func (k *kept[T]) get(at key) (T, bool) {
	t, ok := k.things[at]
	return t.thing, ok
}

func (k *kept[T]) remove(at key) { delete(k.things, at) }
