// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"time"

	"github.com/iowitness/iowitness/kernel"
	"github.com/iowitness/iowitness/probe"
	"github.com/iowitness/iowitness/snapshot"
)

// The probes' run time is measured in the first intervals, then rarely, and when
// the load has changed by a factor: the meter itself costs each run of every BPF
// program on the machine some 50 to 80 ns.
const (
	measureFirst  = 2
	measureEvery  = 10
	measureFactor = 3
)

// system reads what the kernel says of waiting, and what iowitness costs.
type system struct {
	root      string
	witness   probe.Witness
	stat      kernel.Stat
	pressure  kernel.Pressure
	cost      kernel.SelfCost
	intervals int
	always    bool      // the machine's own setting keeps the meter on
	meter     io.Closer // while it runs
	measured  probe.RunStats
	rate      float64       // of waits a second, when last measured
	probes    snapshot.Cost // its part of the probes, as last measured
}

func newSystem(root string, w probe.Witness, bpfStats kernel.Setting) *system {
	s := &system{root: root, witness: w, always: bpfStats == kernel.On}
	s.stat, _ = kernel.ReadStat(root)
	s.pressure, _ = kernel.ReadPressure(root)
	s.cost, _ = kernel.ReadSelfCost(root)
	s.measure()
	return s
}

func (s *system) close() {
	if s.meter != nil {
		s.meter.Close()
		s.meter = nil
	}
}

// interval is what passed since the last one, in which there were so many waits.
func (s *system) interval(wall time.Duration, waits uint64) (snapshot.System, snapshot.Cost) {
	var now snapshot.System
	if stat, err := kernel.ReadStat(s.root); err == nil {
		now.IOWaitPercent, _ = kernel.IOWaitPercent(s.stat, stat)
		now.IOWaitKnown, now.CPUs = true, stat.CPUs
		s.stat = stat
	}
	if pressure, ok := kernel.ReadPressure(s.root); ok {
		now.PressureSome, now.PressureFull = kernel.Share(s.pressure, pressure, wall)
		now.PressureKnown = true
		s.pressure = pressure
	}
	return now, s.costs(wall, float64(waits)/max(wall.Seconds(), 1e-3))
}

func (s *system) costs(wall time.Duration, rate float64) snapshot.Cost {
	var cost snapshot.Cost
	if own, err := kernel.ReadSelfCost(s.root); err == nil {
		if wall > 0 {
			cost.CPUPercent = 100 * float64(own.CPU-s.cost.CPU) / float64(wall)
		}
		cost.RSSBytes = uint64(own.RSS)
		s.cost = own
	}
	if s.meter != nil || s.always {
		if stats, err := s.witness.Stats(); err == nil {
			s.probes = snapshot.Cost{
				ProbeNS: uint64(stats.Runtime - s.measured.Runtime), ProbeRuns: stats.Runs - s.measured.Runs,
				ProbeWall: wall, ProbeFresh: true,
			}
			s.rate = rate
		}
	}
	cost.ProbeNS, cost.ProbeRuns = s.probes.ProbeNS, s.probes.ProbeRuns
	cost.ProbeWall, cost.ProbeFresh = s.probes.ProbeWall, s.probes.ProbeFresh
	s.probes.ProbeFresh = false
	s.close()
	s.intervals++
	changed := rate > measureFactor*(s.rate+100) || s.rate > measureFactor*(rate+100)
	if s.intervals < measureFirst || s.intervals%measureEvery == 0 || changed {
		s.measure()
	} else if s.always {
		s.measured, _ = s.witness.Stats()
	}
	return cost
}

// measure starts the meter for the interval that begins.
func (s *system) measure() {
	if !s.always {
		meter, err := probe.EnableStats()
		if err != nil {
			return
		}
		s.meter = meter
	}
	s.measured, _ = s.witness.Stats()
}
