// SPDX-License-Identifier: Apache-2.0

package main

import (
	"time"

	"github.com/iowitness/iowitness/kernel"
	"github.com/iowitness/iowitness/snapshot"
)

// system reads what the kernel says of waiting, and what iowitness takes.
type system struct {
	root     string
	stat     kernel.Stat
	pressure kernel.Pressure
	cost     kernel.SelfCost
}

func newSystem(root string) *system {
	s := &system{root: root}
	s.stat, _ = kernel.ReadStat(root)
	s.pressure, _ = kernel.ReadPressure(root)
	s.cost, _ = kernel.ReadSelfCost(root)
	return s
}

// interval is what passed since the last one. The probes' cost is measured elsewhere.
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
	var cost snapshot.Cost
	if own, err := kernel.ReadSelfCost(s.root); err == nil {
		if wall > 0 {
			cost.CPUPercent, cost.Wall = 100*float64(own.CPU-s.cost.CPU)/float64(wall), wall
		}
		cost.RSSBytes = uint64(own.RSS)
		s.cost = own
	}
	return now, cost
}
