// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"time"

	"github.com/iowitness/iowitness/kernel"
	"github.com/iowitness/iowitness/probe"
	"github.com/iowitness/iowitness/snapshot"
)

// measureEvery is how rarely the probes' run time is measured: the meter itself
// costs each run of every BPF program on the machine some 80 ns.
const measureEvery = 10

// system reads what the kernel says of waiting, and what iowitness costs.
type system struct {
	root      string
	witness   *probe.Witness
	stat      kernel.Stat
	pressure  kernel.Pressure
	cost      kernel.SelfCost
	intervals int
	always    bool      // the machine's own setting keeps the meter on
	meter     io.Closer // while it runs
	measured  probe.RunStats
	probes    snapshot.Cost // its part of the probes, as last measured
}

func newSystem(root string, w *probe.Witness, bpfStats kernel.Setting) *system {
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

// interval is what passed since the last one.
func (s *system) interval(wall time.Duration) (snapshot.System, snapshot.Cost) {
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
	return now, s.costs(wall)
}

func (s *system) costs(wall time.Duration) snapshot.Cost {
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
		}
	}
	cost.ProbeNS, cost.ProbeRuns = s.probes.ProbeNS, s.probes.ProbeRuns
	cost.ProbeWall, cost.ProbeFresh = s.probes.ProbeWall, s.probes.ProbeFresh
	s.probes.ProbeFresh = false
	s.close()
	s.intervals++
	if s.intervals%measureEvery == 0 {
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
