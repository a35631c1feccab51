// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"log/slog"
	"os"

	"github.com/iowitness/iowitness/probe"
)

// sideGuard holds the cost of witnessing calls to file systems, or requests, to a budget: first it
// leaves out detail, then it detaches. What it does it says at once, in the report and in the log.
type sideGuard struct {
	witness sideWitness
	things  string // that are witnessed
	last    probe.Level
	leanest string                  // what is left at that level
	shed    func(probe.Level) error // makes a level's detail the one in force
	meter   *meter
	breaker probe.Breaker
	log     *slog.Logger
	said    []string // for the report
	stopped bool
}

type sideWitness interface {
	metered
	Heartbeat() (closed bool, err error)
	Pause() error
}

func (g *sideGuard) open(budget float64, always bool) *sideGuard {
	g.breaker.Budget = budget
	g.meter = newMeter("/", g.witness, always)
	g.meter.flat = true
	g.log = slog.New(slog.NewTextHandler(os.Stderr, nil))
	return g
}

// newFSGuard: calls are not sampled, so that without causes there is nothing cheaper.
func newFSGuard(fs *probe.FS, budget float64, always bool) *sideGuard {
	g := &sideGuard{witness: fs, things: "calls", last: probe.LevelCounts, leanest: "without causes"}
	g.shed = func(l probe.Level) error { return fs.SetStacks(l == probe.LevelFull) }
	return g.open(budget, always)
}

// Of the requests one in so many is listed at each level.
var lineRatios = [...]uint32{probe.LevelFull: 1, probe.LevelCounts: 8, probe.LevelSampled: 64, probe.LevelOff: 64}

// newRequestGuard: sums are all that a summary has, and lines can be sampled.
func newRequestGuard(w *probe.Requests, lines bool, budget float64, always bool) *sideGuard {
	g := &sideGuard{witness: w, things: "requests", leanest: "as sums only", shed: func(probe.Level) error { return nil }}
	if lines {
		g.last, g.leanest = probe.LevelSampled, "for one line in 64 requests"
		g.shed = func(l probe.Level) error { return w.SetRatio(lineRatios[l]) }
		g.breaker.Words = func(l probe.Level) string {
			if l == probe.LevelFull {
				return "each request is listed"
			}
			return fmt.Sprintf("only 1 in %d requests is listed", lineRatios[l])
		}
	}
	return g.open(budget, always)
}

func (g *sideGuard) announce(words string) {
	g.said = append(g.said, words)
	g.log.Warn(words)
}

// tick sends the heartbeat and looks at the cost.
func (g *sideGuard) tick() error {
	silent, err := g.witness.Heartbeat()
	if err != nil {
		return err
	}
	if silent {
		g.announce("for some time nobody read what was witnessed, so the kernel side had closed its gate: " + g.things + " of that time are missing")
	}
	cost, known := g.meter.tick()
	if !known {
		return nil
	}
	words := g.breaker.Step(cost)
	switch {
	case words == "":
		return nil
	case g.breaker.Level > g.last:
		g.stopped = true
		g.announce(fmt.Sprintf("witnessing cost %.1f%% of a CPU %s, more than the %.1f%% that it may: detached", cost, g.leanest, g.breaker.Budget))
		return g.witness.Pause()
	}
	g.announce(words)
	return g.shed(g.breaker.Level)
}
