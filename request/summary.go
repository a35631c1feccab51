// SPDX-License-Identifier: Apache-2.0

package request

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/iowitness/iowitness/event"
)

// Losses balance what was seen: Started = Completed + InFlight, but for what was unmatched.
type Losses struct {
	Started   uint64
	Completed uint64
	InFlight  uint64 // at the end
	Unmatched uint64 // completions without a start, or starts that were given up
	Dropped   uint64 // requests of which no more is known than that they were lost
	Wider     bool   // they are of more than the summary, which has some requests only
}

// Options choose how a Summary is built.
type Options struct {
	Version, Kernel string    // of iowitness and Linux; Kernel may be ""
	Source          string    // where it comes from, such as a trace's name; "": it was witnessed live
	Start, End      time.Time // zero: not known
	Wall            time.Duration
	Top             int // rows of each list; 0: all. The rest is summed up in one row more
	Losses          Losses
	Notes           []string
}

// Summary is what became of block requests in a span of time.
type Summary struct {
	Options
	Total      Row // bios on stacked devices are not in it
	Devices    []Row
	Partitions []Row
	Processes  []Row
	Cgroups    []Row
	Files      []Row
	Ops        []Row
	Issuers    []Sharing
	Heat       *Heat
	Findings   []Finding
	Victim     *Suffering // nil: nobody was asked for
	Repeats    []Repeat   // nil: requests were not looked at one by one
	Missed     uint64     // by so much a count of Repeats may be too low
	Folded     uint64     // requests whose process, cgroup and file are not told apart
}

// Sharing is who shared a disk or a partition, the one with most of the time in it first.
type Sharing struct {
	Device    event.Dev
	Partition bool
	Issuers   []Row
}

// By says what a row is of.
type By uint8

// What rows are of.
const (
	ByNothing By = iota // the whole
	ByDevice
	ByPartition
	ByProcess
	ByCgroup
	ByFile
	ByOp
)

// Row is a sum with what it is of; of the fields from Device to Op those hold that By names.
type Row struct {
	Sum
	By      By
	Device  event.Dev
	Disk    event.Dev // of a partition
	Stacked bool
	Via     []event.Dev // where a stacked device that has no bios of its own passed on what it got
	PID     uint32
	Comm    string // of its largest part
	Cgroup  uint64
	File    event.File
	Op      event.OpKind

	Rest   bool // of all that could not be told apart
	Others int  // of this many rows beyond the top ones

	Moved uint64                // bytes read and written; Bytes has those discarded too
	Kinds [event.OpKinds]uint64 // its requests, by kind
	Share float64               // percent of the time in the device, of all of the list

	comms uint64 // requests under Comm
}

// Summary sums up what came in so far.
func (c *Collector) Summary(o Options) *Summary {
	s := &Summary{Options: o, Heat: c.heat, Findings: c.findings(), Folded: c.set.Folded}
	all := func(*Key) bool { return true }
	requests := func(k *Key) bool { return !k.Stacked }
	s.Total = Row{By: ByNothing}
	for k, e := range c.set.entries {
		if !k.Stacked {
			s.Total.merge(&k, e)
		}
	}
	s.Devices = c.set.rows(ByDevice, event.PhaseTotal, o.Top, all)
	s.Processes = c.set.rows(ByProcess, event.PhaseTotal, o.Top, requests)
	s.Cgroups = c.set.rows(ByCgroup, event.PhaseTotal, o.Top, requests)
	s.Files = c.set.rows(ByFile, event.PhaseTotal, o.Top, requests)
	s.Ops = c.set.rows(ByOp, event.PhaseTotal, 0, requests)
	s.Partitions = c.set.rows(ByPartition, event.PhaseTotal, o.Top, isPartition)
	s.Issuers = append(c.issuers(s.Devices, o.Top), c.issuers(s.Partitions, o.Top)...)
	return s
}

// Uncharged are the requests, of all that came in so far, that wrote back data which could not be
// charged to the cgroup of whoever dirtied it.
func (c *Collector) Uncharged() (n uint64) {
	for k, e := range c.set.entries {
		if !k.Stacked {
			n += e.Uncharged
		}
	}
	return n
}

// issuers are those of each row's device.
func (c *Collector) issuers(rows []Row, top int) (all []Sharing) {
	for i := range rows {
		if d := &rows[i]; d.Others == 0 && !d.Rest && !d.Stacked {
			all = append(all, Sharing{d.Device, d.By == ByPartition, c.set.rows(ByProcess, event.PhaseDevice, top, func(k *Key) bool {
				return !k.Stacked && rowKey(d.By, k).Disk == d.Device
			})})
		}
	}
	return all
}

// diskOf is the whole disk, or what is known instead.
func diskOf(k *Key) event.Dev { return cmp.Or(k.Disk, k.Dev) }

// wholeOf is the device that Dev is, or is a partition of.
func wholeOf(k *Key) event.Dev {
	if k.Above {
		return k.Top
	}
	return diskOf(k)
}

func isPartition(k *Key) bool { return k.Dev != 0 && k.Dev != wholeOf(k) }

// rowKeys reduce a key to what rows are of. What a device passed on has two by device: where it went,
// and that device, as if it were stacked.
func rowKeys(by By, k *Key) []Key {
	key := rowKey(by, k)
	if by == ByDevice && k.Top != 0 {
		return []Key{key, {Disk: k.Top, Stacked: true}}
	}
	return []Key{key}
}

func rowKey(by By, k *Key) Key {
	r := Key{Rest: k.Rest}
	switch by {
	case ByDevice:
		return Key{Disk: diskOf(k), Stacked: k.Stacked, Rest: k.Rest && diskOf(k) == 0}
	case ByPartition:
		return Key{Disk: k.Dev, Stacked: k.Stacked}
	case ByProcess:
		r.PID = k.PID
	case ByCgroup:
		r.Cgroup = k.Cgroup
	case ByFile:
		r.FileDev, r.Ino = k.FileDev, k.Ino
	case ByOp:
		return Key{Op: k.Op}
	}
	return r
}

// rows rolls up the entries whose keys are wanted, and ranks the rows by the time of a phase.
func (s *Set) rows(by By, phase event.Phase, top int, want func(*Key) bool) []Row {
	grouped := map[Key]*Row{}
	for k, e := range s.entries {
		if !want(&k) {
			continue
		}
		for _, key := range rowKeys(by, &k) {
			r := grouped[key]
			if r == nil {
				r = &Row{By: by, Device: key.Disk, Stacked: key.Stacked, PID: key.PID, Cgroup: key.Cgroup, Op: key.Op, Rest: key.Rest}
				grouped[key] = r
			}
			r.merge(&k, e)
		}
	}
	rows := slices.SortedFunc(maps.Values(grouped), func(a, b *Row) int { return rank(a, b, phase) })
	shares(rows)
	return cutOff(rows, top)
}

func (r *Row) merge(k *Key, e *Entry) {
	r.Sum.Merge(&e.Sum)
	r.Kinds[min(k.Op, event.KindOther)] += e.Count
	if k.Op == event.KindRead || k.Op == event.KindWrite {
		r.Moved += e.Bytes
	}
	switch r.By {
	case ByDevice:
		if at, known := slices.BinarySearch(r.Via, k.Disk); r.Stacked && k.Top == r.Device && !known {
			r.Via = slices.Insert(r.Via, at, k.Disk)
		}
	case ByPartition:
		r.Disk = wholeOf(k)
	case ByProcess:
		// Of equal ones the first by name: the order of a map must not show.
		if n := e.Count + e.Unfinished; n > r.comms || n == r.comms && (r.Comm == "" || k.Comm < r.Comm) {
			r.comms, r.Comm = n, k.Comm
		}
	case ByFile:
		if f := &e.File; r.File.Ino == 0 || r.File.Path == "" || f.Path != "" && f.Path < r.File.Path {
			r.File = *f
		}
	}
}

// shares divides the time in the device. It is not divided where it is not known.
func shares(rows []*Row) {
	var all uint64
	for _, r := range rows {
		all += r.Phases[event.PhaseDevice].NS
	}
	for _, r := range rows {
		r.Share = 100 * ratio(r.Phases[event.PhaseDevice].NS, all)
	}
}

// rank puts those first that have most of a phase's time; what is not told apart comes last.
func rank(a, b *Row, p event.Phase) int {
	return cmp.Or(
		-cmp.Compare(one(!a.Rest), one(!b.Rest)),
		-cmp.Compare(a.Phases[p].NS, b.Phases[p].NS),
		-cmp.Compare(a.Bytes, b.Bytes),
		-cmp.Compare(a.Count, b.Count),
		cmp.Compare(a.Op, b.Op),
		cmp.Compare(a.Device, b.Device),
		cmp.Compare(a.PID, b.PID),
		cmp.Compare(a.Cgroup, b.Cgroup),
		cmp.Compare(a.File.Dev, b.File.Dev),
		cmp.Compare(a.File.Ino, b.File.Ino),
	)
}

// cutOff sums up what is beyond the top rows, but for what is not told apart.
func cutOff(ranked []*Row, top int) []Row {
	var rows, rest []Row
	others := Row{}
	for i, r := range ranked {
		switch {
		case r.Rest:
			rest = append(rest, *r)
		case top <= 0 || i < top || i == top && (len(ranked) == top+1 || ranked[top+1].Rest):
			rows = append(rows, *r)
		default:
			others.fold(r)
		}
	}
	if others.Others > 0 {
		rows = append(rows, others)
	}
	return append(rows, rest...)
}

func (r *Row) fold(other *Row) {
	r.By = other.By
	r.Sum.Merge(&other.Sum)
	for k, n := range other.Kinds {
		r.Kinds[k] += n
	}
	r.Moved += other.Moved
	r.Share += other.Share
	r.Others++
}

// Rate is how many a second; ok is false where the time is not known.
func (s *Summary) Rate(n uint64) (perSecond float64, ok bool) {
	if s.Wall <= 0 {
		return 0, false
	}
	return float64(n) / s.Wall.Seconds(), true
}
