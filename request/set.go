// SPDX-License-Identifier: Apache-2.0

package request

import "github.com/iowitness/iowitness/event"

// DefaultLimit is the number of keys of a Set where none is given.
const DefaultLimit = 4096

// Key is what a sum is of.
type Key struct {
	Disk, Dev event.Dev // Dev is the partition or the whole disk
	Above     bool      // Dev is Top or a part of it, and not of Disk
	Top       event.Dev // the device that passed the bios on as they were, and has no others; else 0
	Op        event.OpKind
	Stacked   bool // bios on a device whose requests are told below it
	PID       uint32
	Comm      string
	Cgroup    uint64
	FileDev   event.Dev
	Ino       uint64
	Rest      bool // of all that a full set could not keep apart: PID and what follows it are 0
}

// KeyOf is the key of a request.
func KeyOf(o *event.IO) Key {
	k := Key{
		Disk: o.Disk, Dev: o.Dev, Op: o.Kind(), Stacked: o.Flags&event.IOBio != 0,
		PID: o.Owner.PID, Comm: o.Owner.Comm, Cgroup: o.Cgroup, FileDev: o.File.Dev, Ino: o.File.Ino,
	}
	if o.Flags&event.IOPassed != 0 {
		k.Top, k.Above = o.Top, o.Flags&event.IODevAbove != 0
	}
	return k
}

// rest is where a key goes that finds no place: devices and operations stay exact.
func (k Key) rest() Key {
	return Key{Disk: k.Disk, Dev: k.Dev, Above: k.Above, Top: k.Top, Op: k.Op, Stacked: k.Stacked, Rest: true}
}

// Entry is a sum with what is known of its file.
type Entry struct {
	Sum
	File event.File
}

// Set keeps sums by key, of a bounded number. Not safe for concurrent use.
type Set struct {
	limit   int
	entries map[Key]*Entry
	named   int // keys that are not Rest

	Folded uint64 // requests whose key found no place
}

// restLimit is the number of keys, beside those of the limit, that take in what found no place.
const restLimit = 1024

// NewSet makes a set of at most limit keys; 0 is DefaultLimit.
func NewSet(limit int) *Set {
	if limit <= 0 {
		limit = DefaultLimit
	}
	return &Set{limit: limit, entries: map[Key]*Entry{}}
}

// Add counts a request.
func (s *Set) Add(o *event.IO) {
	e, folded := s.entry(KeyOf(o), &o.File)
	e.Add(o)
	s.Folded += one(folded)
}

// Merge counts the requests of a sum. file is what is known of the key's file.
func (s *Set) Merge(k Key, file event.File, sum *Sum) {
	e, folded := s.entry(k, &file)
	e.Merge(sum)
	if folded {
		s.Folded += sum.Count
	}
}

// Len is the number of entries.
func (s *Set) Len() int { return len(s.entries) }

func (s *Set) entry(k Key, file *event.File) (e *Entry, folded bool) {
	if e = s.entries[k]; e == nil {
		if folded = !k.Rest && s.named >= s.limit; folded || k.Rest {
			e = s.restOf(k)
		} else {
			e = &Entry{}
			s.entries[k] = e
			s.named++
		}
	}
	if e.File.Path == "" && !folded && !k.Rest {
		e.File = *file // it may not be named each time
	}
	return e, folded
}

func (s *Set) restOf(k Key) *Entry {
	k = k.rest()
	e := s.entries[k]
	if e == nil && len(s.entries)-s.named >= restLimit {
		k = Key{Op: k.Op, Stacked: k.Stacked, Rest: true} // of all devices: ten at most
		e = s.entries[k]
	}
	if e == nil {
		e = &Entry{}
		s.entries[k] = e
	}
	return e
}
