// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"time"

	"github.com/iowitness/iowitness/kernel"
	"github.com/iowitness/iowitness/probe"
	"github.com/iowitness/iowitness/snapshot"
)

// The probes' run time is measured in the first seconds, then rarely, and when
// the machine's load has changed by a factor: the meter itself costs each run of
// every BPF program on the machine some 50 to 80 ns.
const (
	measureFirst  = 2
	measureEvery  = 10
	measureFactor = 3
	measureLeast  = 50 * time.Millisecond
)

// metered tells what its programs have cost.
type metered interface {
	Stats() (probe.RunStats, error)
}

// meter knows what witnessing costs: measured now and then, and between by the
// number of context switches, on which nearly all of it depends.
type meter struct {
	root    string
	witness metered
	flat    bool // the cost does not go by switches
	calm    bool // the program's own cost comes in bursts: some seconds of it are averaged
	always  bool // it costs nothing to leave it on, or the machine's own setting does
	running io.Closer

	ticks    int
	last     reading
	began    reading        // of the measurement under way
	stats    probe.RunStats // at its begin
	own      kernel.SelfCost
	ownCost  float64       // percent of one CPU
	probes   snapshot.Cost // the probes' part, as last measured
	measured float64       // switches a second meanwhile
	nsEach   float64       // of probes for each switch
}

type reading struct {
	at       time.Time
	switches uint64
}

func newMeter(root string, w metered, always bool) *meter {
	m := &meter{root: root, witness: w, always: always}
	m.own, _ = kernel.ReadSelfCost(root)
	m.last = m.read()
	m.start(m.last)
	return m
}

func (m *meter) read() reading {
	stat, _ := kernel.ReadStat(m.root)
	return reading{time.Now(), stat.Switches}
}

// start begins a measurement.
func (m *meter) start(now reading) {
	if !m.always {
		running, err := probe.EnableStats()
		if err != nil {
			return
		}
		m.running = running
	}
	m.began = now
	m.stats, _ = m.witness.Stats()
}

func (m *meter) close() {
	if m.running != nil {
		m.running.Close()
		m.running = nil
	}
}

// tick is called about once a second, and gives the cost since the last call:
// percent of one CPU, of probes and program together.
func (m *meter) tick() (cost float64, known bool) {
	now := m.read()
	wall := now.at.Sub(m.last.at)
	if wall < measureLeast {
		return 0, false
	}
	rate := float64(now.switches-m.last.switches) / wall.Seconds()
	if m.running != nil || m.always {
		m.finish(now)
	}
	m.ticks++
	m.last = now
	changed := rate > measureFactor*(m.measured+100) || m.measured > measureFactor*(rate+100)
	if m.always || m.ticks < measureFirst || m.ticks%measureEvery == 0 || changed {
		m.start(now)
	}
	cost = rate * m.nsEach / 1e7
	if m.flat && m.probes.ProbeWall > 0 {
		cost = 100 * float64(m.probes.ProbeNS) / float64(m.probes.ProbeWall)
	}
	if own, err := kernel.ReadSelfCost(m.root); err == nil {
		m.spend(100 * float64(own.CPU-m.own.CPU) / float64(wall))
		cost += m.ownCost
		m.own = own
	}
	return cost, m.measured > 0
}

// calmTicks are so many seconds, about, over which the program's own cost is averaged.
const calmTicks = 10

func (m *meter) spend(percent float64) {
	if !m.calm {
		m.ownCost = percent
		return
	}
	m.ownCost += (percent - m.ownCost) / calmTicks
}

// finish takes what a measurement has shown.
func (m *meter) finish(now reading) {
	stats, err := m.witness.Stats()
	wall := now.at.Sub(m.began.at)
	if err == nil && wall > 0 {
		ns, switches := stats.Runtime-m.stats.Runtime, max(now.switches-m.began.switches, 1)
		m.nsEach = float64(ns) / float64(switches)
		m.measured = float64(switches) / wall.Seconds()
		m.probes = snapshot.Cost{ProbeNS: uint64(ns), ProbeRuns: stats.Runs - m.stats.Runs, ProbeWall: wall, ProbeFresh: true}
	}
	m.close()
}

// tell adds the probes' part to a cost, as last measured: fresh if nobody has been told it yet.
func (m *meter) tell(cost *snapshot.Cost) {
	cost.ProbeNS, cost.ProbeRuns, cost.ProbeWall, cost.ProbeFresh = m.probes.ProbeNS, m.probes.ProbeRuns, m.probes.ProbeWall, m.probes.ProbeFresh
	m.probes.ProbeFresh = false
}
