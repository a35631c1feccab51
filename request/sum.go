// SPDX-License-Identifier: Apache-2.0

// Package request adds up block requests: by device, process, cgroup, file and
// operation, over time, and by how long each part of their lives took. It
// describes what is told of them once, for all views.
package request

import (
	"math/bits"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/snapshot"
)

// Span is how long requests spent in one phase, in ns. Requests in which the phase is
// not known are not among Count.
type Span struct {
	Count, NS, Max uint64
}

// Add counts one request.
func (s *Span) Add(ns uint64) {
	s.Count++
	s.NS += ns
	s.Max = max(s.Max, ns)
}

// Merge counts the requests of other too.
func (s *Span) Merge(other Span) {
	s.Count += other.Count
	s.NS += other.NS
	s.Max = max(s.Max, other.Max)
}

// Mean is in ns; ok is false where there was no request.
func (s *Span) Mean() (ns uint64, ok bool) {
	if s.Count == 0 {
		return 0, false
	}
	return s.NS / s.Count, true
}

// SizeSlots is the number of slots of Sizes.
const SizeSlots = event.SizeSlots

// firstSizeLog2 is of the upper limit of slot 0: one sector.
const firstSizeLog2 = 9

// Sizes counts requests that move data by their bytes: slot 0 has those of up to 512, slot i those
// of more than 2^(i+8) up to 2^(i+9), the last all beyond.
type Sizes [SizeSlots]uint64

// SizeSlot is the slot of a number of bytes.
func SizeSlot(bytes uint32) int {
	if bytes <= 1<<firstSizeLog2 {
		return 0
	}
	return min(bits.Len32(bytes-1)-firstSizeLog2, SizeSlots-1)
}

// SizeLimit is the largest number of bytes in a slot.
func SizeLimit(slot int) uint64 { return 1 << (firstSizeLog2 + slot) }

// Merge counts the requests of other too.
func (s *Sizes) Merge(other *Sizes) {
	for i, n := range other {
		s[i] += n
	}
}

// Sum adds up requests that have completed. What fills it without an event.IO, such as
// sums made in the kernel, leaves at 0 what it does not know, counts of what is known included.
type Sum struct {
	Count     uint64
	Bytes     uint64
	Errors    uint64
	Merged    uint64 // bios beyond the first of each
	Requeues  uint64
	Requeued  Span   // until the last issue of those that were given back, where it is known
	Uncharged uint64 // written back, and not charged to the cgroup of whoever dirtied it
	Splits    uint64 // requests that are a part of a larger bio

	Sequential uint64 // of Placed, those that began where the one before ended
	Placed     uint64

	Depth      uint64 // sum of the requests that the driver had at each issue,
	DepthCount uint64 // over so many issues;
	DepthMax   uint64 // the most

	Phases      [event.Phases]Span
	DeviceTimes snapshot.Histogram // of event.PhaseDevice
	TotalTimes  snapshot.Histogram // of event.PhaseTotal
	Sizes       Sizes

	Waits      Span   // of threads, that completions ended
	Backwards  uint64 // of Count: instants run backwards, so no phase of them is counted
	Unfinished uint64 // not among Count: the completion was not seen
}

// Add counts a request.
func (s *Sum) Add(o *event.IO) {
	if o.Flags&event.IOUnfinished != 0 {
		s.Unfinished++
		return
	}
	s.Count++
	s.Bytes += uint64(o.Bytes)
	s.Errors += one(o.Error != 0)
	s.Merged += uint64(o.Merged)
	s.Requeues += uint64(o.Requeues)
	s.Splits += one(o.Flags&event.IOSplit != 0)
	s.Uncharged += one(o.Flags&event.IOUncharged != 0)
	s.place(o)
	s.times(o)
}

func (s *Sum) place(o *event.IO) {
	if o.Data() {
		s.Sizes[SizeSlot(o.Bytes)]++
	}
	if seq, ok := Sequential(o); ok {
		s.Placed++
		s.Sequential += one(seq)
	}
	if o.Depth > 0 {
		s.Depth += uint64(o.Depth)
		s.DepthCount++
		s.DepthMax = max(s.DepthMax, uint64(o.Depth))
	}
}

func (s *Sum) times(o *event.IO) {
	if o.WaitTID != 0 {
		s.Waits.Add(o.WaitNS)
	}
	if o.Backwards() {
		s.Backwards++
		return
	}
	if ns, ok := o.Requeued(); ok {
		s.Requeued.Add(ns)
	}
	for p := range event.Phases {
		if ns, ok := o.Phase(p); ok {
			s.Phases[p].Add(ns)
			switch p {
			case event.PhaseDevice:
				s.DeviceTimes[event.HistSlot(ns)]++
			case event.PhaseTotal:
				s.TotalTimes[event.HistSlot(ns)]++
			}
		}
	}
}

// Sequential says whether a request began where the one before ended on its disk; ok is false
// where that has no meaning, as of a flush, or is not looked at, as of bios on stacked devices.
func Sequential(o *event.IO) (seq, ok bool) {
	return o.Flags&event.IOSequential != 0, o.Data() && o.Flags&event.IOBio == 0
}

// Merge counts the requests of other too.
func (s *Sum) Merge(other *Sum) {
	s.Count += other.Count
	s.Bytes += other.Bytes
	s.Errors += other.Errors
	s.Merged += other.Merged
	s.Requeues += other.Requeues
	s.Splits += other.Splits
	s.Requeued.Merge(other.Requeued)
	s.Uncharged += other.Uncharged
	s.Sequential += other.Sequential
	s.Placed += other.Placed
	s.Depth += other.Depth
	s.DepthCount += other.DepthCount
	s.DepthMax = max(s.DepthMax, other.DepthMax)
	for p := range s.Phases {
		s.Phases[p].Merge(other.Phases[p])
	}
	s.DeviceTimes.Merge(&other.DeviceTimes)
	s.TotalTimes.Merge(&other.TotalTimes)
	s.Sizes.Merge(&other.Sizes)
	s.Waits.Merge(other.Waits)
	s.Backwards += other.Backwards
	s.Unfinished += other.Unfinished
}

// MeanDepth is the mean number of requests that the driver had at an issue.
func (s *Sum) MeanDepth() (depth float64, ok bool) {
	if s.DepthCount == 0 {
		return 0, false
	}
	return float64(s.Depth) / float64(s.DepthCount), true
}

// SequentialPercent is the share of sequential requests among those of which it is known.
func (s *Sum) SequentialPercent() (percent float64, ok bool) {
	if s.Placed == 0 {
		return 0, false
	}
	return 100 * float64(s.Sequential) / float64(s.Placed), true
}

func one(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}
