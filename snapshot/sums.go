// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"slices"
	"time"
)

// systemSums averages what the kernel says over the time in which it said it.
type systemSums struct {
	wall, iowaitWall, pressureWall time.Duration
	iowait, some, full             float64 // percent × ns
}

func (s *systemSums) add(iv *Interval) {
	s.wall += iv.Wall
	if iv.System.IOWaitKnown {
		s.iowaitWall += iv.Wall
		s.iowait += iv.System.IOWaitPercent * float64(iv.Wall)
	}
	if iv.System.PressureKnown {
		s.pressureWall += iv.Wall
		s.some += iv.System.PressureSome * float64(iv.Wall)
		s.full += iv.System.PressureFull * float64(iv.Wall)
	}
}

func (s *systemSums) into(iv *Interval) {
	iv.System.IOWaitPercent, iv.System.IOWaitKnown = average(s.iowait, s.iowaitWall)
	iv.System.PressureSome, iv.System.PressureKnown = average(s.some, s.pressureWall)
	iv.System.PressureFull, _ = average(s.full, s.pressureWall)
}

func average(sum float64, wall time.Duration) (float64, bool) {
	if wall <= 0 {
		return 0, false
	}
	return sum / float64(wall), true
}

// addHead sums up all of an interval but its threads.
func (a *Accumulator) addHead(iv *Interval) {
	t, first := &a.total, a.added == 0
	a.system.add(iv)
	if first {
		t.Start = iv.Start
	}
	t.Version, t.Kernel, t.Means, t.Scope = iv.Version, iv.Kernel, iv.Means, iv.Scope
	t.Estimated, t.RunQueueUnknown, t.Joins = iv.Estimated, iv.RunQueueUnknown, iv.Joins
	t.SlowNS, t.SampleEvery = iv.SlowNS, iv.SampleEvery
	t.End, t.Wall = iv.End, t.Wall+iv.Wall
	t.Coverage.Elapsed += max(iv.Coverage.Elapsed, iv.Wall)
	t.Coverage.Ratio = max(t.Coverage.Ratio, iv.Coverage.Ratio)
	t.Coverage.Shed = t.Coverage.Shed || iv.Coverage.Shed
	t.System.CPUs = iv.System.CPUs
	cost := iv.Cost
	cost.Wall = iv.Wall
	t.Cost.Add(cost)
	for _, l := range iv.Lost {
		a.addLoss(l)
	}
	for _, note := range iv.Notes {
		if !slices.Contains(t.Notes, note) && len(t.Notes) < maxNotes {
			t.Notes = append(t.Notes, note)
		}
	}
}

const maxNotes = 32

func (a *Accumulator) addLoss(l Loss) {
	lost := a.total.Lost
	i := slices.IndexFunc(lost, func(have Loss) bool { return have.ID == l.ID })
	if i < 0 {
		a.total.Lost = append(lost, l)
		return
	}
	lost[i].Count += l.Count
	lost[i].NS += l.NS
}
