// SPDX-License-Identifier: Apache-2.0

package request

import (
	"cmp"
	"maps"
	"slices"

	"github.com/iowitness/iowitness/event"
)

// Bounds of what a Victim remembers.
const (
	keptWaits    = 1024    // the slowest ones
	keptRequests = 1 << 16 // of anybody, that a wait may have overlapped
)

// Victim finds out who shared the disks with some requests while these were slow, and only then.
// Requests come in the order of their completion. Not safe for concurrent use.
type Victim struct {
	is   func(*event.IO) bool
	slow uint64

	waits    []*wait // by falling length, at most keptWaits
	recent   []*wait // of them, by their end: requests that end later may overlap them
	past     []event.IO
	all      uint64 // waits of the victim
	dropped  uint64 // completion of the last request that was forgotten
	Comm     string // of the victim's latest request
	PID      uint32
	unplaced uint64 // waits that lasted longer than what is remembered
}

// wait is a time in which the victim had a request under way, or a thread of it waited for that.
type wait struct {
	disk       event.Dev
	begin, end uint64
	by         map[owner]Share
}

type owner struct {
	pid  uint32
	comm string
}

// Share is what somebody had of a disk in some time.
type Share struct {
	Requests, Bytes uint64
	NS              uint64 // in the device, within that time
}

// NewVictim is for the requests that is says are the victim's. Slow are those of at least slow ns;
// 0: the slowest tenth.
func NewVictim(is func(*event.IO) bool, slow uint64) *Victim { return &Victim{is: is, slow: slow} }

// Add takes in a request of anybody.
func (v *Victim) Add(o *event.IO) {
	if o.Flags&(event.IOBio|event.IOUnfinished) != 0 || o.Completed == 0 || o.Issued == 0 || o.Backwards() {
		return
	}
	v.overlap(o)
	v.remember(o)
	if v.is(o) {
		v.PID, v.Comm = o.Owner.PID, o.Owner.Comm
		v.wait(o)
	}
}

// overlap counts a request in the waits that have ended while the device had it.
func (v *Victim) overlap(o *event.IO) {
	for i := len(v.recent) - 1; i >= 0 && v.recent[i].end > o.Issued; i-- {
		v.recent[i].count(o)
	}
}

func (v *Victim) remember(o *event.IO) {
	if len(v.past) >= 2*keptRequests {
		v.dropped = v.past[keptRequests-1].Completed
		v.past = slices.Delete(v.past, 0, keptRequests)
	}
	v.past = append(v.past, *o)
}

// wait takes in a wait of the victim's, if it is one of the longest so far.
func (v *Victim) wait(o *event.IO) {
	v.all++
	w := &wait{disk: diskOfIO(o), begin: o.Begin(), end: o.Completed, by: map[owner]Share{}}
	if o.WaitTID == o.Owner.TID && o.WaitNS < o.Completed { // it may have waited for longer than for this one
		w.begin = min(w.begin, o.Completed-o.WaitNS)
	}
	if w.length() < v.slow || len(v.waits) == keptWaits && w.length() <= v.waits[keptWaits-1].length() {
		return
	}
	if w.begin < v.dropped {
		v.unplaced++
	}
	for i := len(v.past) - 1; i >= 0 && v.past[i].Completed > w.begin; i-- {
		w.count(&v.past[i])
	}
	v.keep(w)
}

func (v *Victim) keep(w *wait) {
	at, _ := slices.BinarySearchFunc(v.waits, w, func(a, b *wait) int { return cmp.Compare(b.length(), a.length()) })
	v.waits = slices.Insert(v.waits, at, w)
	if len(v.waits) > keptWaits {
		v.waits = v.waits[:keptWaits]
	}
	if len(v.recent) == 2*keptWaits {
		v.recent = slices.Delete(v.recent, 0, keptWaits)
	}
	v.recent = append(v.recent, w)
}

func (w *wait) length() uint64 { return w.end - w.begin }

// count takes in a request for as long as the device had it during the wait.
func (w *wait) count(o *event.IO) {
	from, to := max(o.Issued, w.begin), min(o.Completed, w.end)
	if diskOfIO(o) != w.disk || to <= from {
		return
	}
	who := owner{o.Owner.PID, o.Owner.Comm}
	s := w.by[who]
	s.Requests++
	s.Bytes += uint64(o.Bytes)
	s.NS += to - from
	w.by[who] = s
}

func diskOfIO(o *event.IO) event.Dev { return cmp.Or(o.Disk, o.Dev) }

// Crowd is who had a disk while a victim's requests to it were slow.
type Crowd struct {
	Disk       event.Dev
	Waits      uint64 // slow ones
	NS         uint64 // of them together
	Max        uint64
	Neighbours []Neighbour // by falling time
}

// Neighbour is one of them; a request that overlaps two waits is two of its requests.
type Neighbour struct {
	PID  uint32
	Comm string
	Share
	Percent float64 // of the time of all in the device
	Itself  bool    // it is the victim
}

// Suffering is what became of a victim.
type Suffering struct {
	Name     string // as it was asked for
	PID      uint32 // of its latest request; 0: it had none
	Comm     string
	All      uint64 // its waits
	Slow     uint64 // of them
	Least    uint64 // of a slow one, ns
	Unplaced uint64 // slow ones for the whole of which nobody knows any more who had the disk
	Crowds   []Crowd
}

// Suffering sums up so far.
func (v *Victim) Suffering(name string) *Suffering {
	slow := v.slowest()
	s := &Suffering{Name: name, PID: v.PID, Comm: v.Comm, All: v.all, Slow: uint64(len(slow)), Unplaced: v.unplaced}
	if len(slow) > 0 {
		s.Least = slow[len(slow)-1].length()
	}
	disks := map[event.Dev][]*wait{}
	for _, w := range slow {
		disks[w.disk] = append(disks[w.disk], w)
	}
	for _, disk := range slices.Sorted(maps.Keys(disks)) {
		s.Crowds = append(s.Crowds, v.crowd(disk, disks[disk]))
	}
	slices.SortStableFunc(s.Crowds, func(a, b Crowd) int { return cmp.Compare(b.NS, a.NS) })
	return s
}

// slowest are the waits that count as slow: all as long as was asked for, or a tenth.
func (v *Victim) slowest() []*wait {
	if v.slow > 0 {
		return v.waits
	}
	return v.waits[:min(uint64(len(v.waits)), (v.all+9)/10)]
}

func (v *Victim) crowd(disk event.Dev, waits []*wait) Crowd {
	c := Crowd{Disk: disk, Waits: uint64(len(waits))}
	by := map[owner]Share{}
	var all uint64
	for _, w := range waits {
		c.NS += w.length()
		c.Max = max(c.Max, w.length())
		for who, share := range w.by {
			sum := by[who]
			by[who] = Share{sum.Requests + share.Requests, sum.Bytes + share.Bytes, sum.NS + share.NS}
			all += share.NS
		}
	}
	for who, share := range by {
		itself := v.is(&event.IO{Owner: event.Task{PID: who.pid, Comm: who.comm}})
		c.Neighbours = append(c.Neighbours, Neighbour{who.pid, who.comm, share, 100 * ratio(share.NS, all), itself})
	}
	slices.SortFunc(c.Neighbours, func(a, b Neighbour) int {
		return cmp.Or(cmp.Compare(b.NS, a.NS), cmp.Compare(a.PID, b.PID), cmp.Compare(a.Comm, b.Comm))
	})
	return c
}
