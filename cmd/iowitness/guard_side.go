// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"

	"github.com/iowitness/iowitness/probe"
)

// sideGuard holds the cost of witnessing anything but waits to a budget: first it
// leaves out detail, then it detaches. What it does it says at once, in the report and on standard error.
type sideGuard struct {
	witness sideWitness
	things  string // that are witnessed
	last    probe.Level
	leanest string                  // what is left at that level
	shed    func(probe.Level) error // makes a level's detail the one in force
	meter   *meter
	breaker probe.Breaker
	said    []string // for the report
	stopped bool
	ratio   uint32 // of calls, at most: one in so many was measured
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

// newProfileGuard: without stacks there is nothing cheaper.
func newProfileGuard(p *probe.Profile, budget float64, always bool) *sideGuard {
	g := &sideGuard{witness: p, things: "threads", last: probe.LevelCounts, leanest: "without stacks"}
	g.shed = func(l probe.Level) error { return p.SetStacks(l == probe.LevelFull) }
	g.breaker.Words = func(l probe.Level) string {
		if l == probe.LevelFull {
			return "stacks are taken"
		}
		return "only counts and times are witnessed, no stacks"
	}
	return g.open(budget, always)
}

// newCallGuard: first stacks go, then calls are sampled; ratio is what the user has asked for.
func newCallGuard(w probe.CallWitness, ratio uint32, budget float64, always bool) *sideGuard {
	asked := probe.Detail{Stacks: true, Ratio: ratio}
	g := &sideGuard{witness: w, things: "calls", last: probe.LevelSampled, ratio: ratio}
	g.leanest = fmt.Sprintf("for one call in %d", probe.LevelSampled.Detail(asked).Ratio)
	g.shed = func(l probe.Level) error {
		detail := l.Detail(asked)
		g.ratio = max(g.ratio, detail.Ratio)
		return w.SetDetail(detail)
	}
	g.breaker.Words = func(l probe.Level) string {
		switch l {
		case probe.LevelFull:
			return "all that was asked for is witnessed"
		case probe.LevelCounts:
			return "no stacks are taken"
		}
		return fmt.Sprintf("only 1 in %d calls is measured", l.Detail(asked).Ratio)
	}
	return g.open(budget, always)
}

// newErrorsGuard: without callers there is nothing cheaper.
func newErrorsGuard(w *probe.Calls, budget float64, always bool) *sideGuard {
	g := &sideGuard{witness: w, things: "failures", last: probe.LevelCounts, leanest: "without callers"}
	g.shed = func(l probe.Level) error { return w.SetDetail(probe.Detail{Stacks: l == probe.LevelFull, Ratio: 1}) }
	g.breaker.Words = func(l probe.Level) string {
		if l == probe.LevelFull {
			return "callers are told"
		}
		return "callers are not told, and the function that is named first may be further out than that in which an error began"
	}
	return g.open(budget, always)
}

func (g *sideGuard) announce(words string) {
	g.said = append(g.said, words)
	announce(words)
}

// stop ends witnessing for good, and says why; what was counted until now stays.
func (g *sideGuard) stop(words string) error {
	g.stopped = true
	g.announce(words)
	err := g.witness.Pause()
	if w, ok := g.witness.(interface{ Detach() error }); ok {
		err = errors.Join(err, w.Detach())
	}
	return err
}

// tick sends the heartbeat and looks at the cost.
func (g *sideGuard) tick() error {
	if g.stopped {
		return nil
	}
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
		return g.stop(fmt.Sprintf("witnessing cost %.1f%% of a CPU %s, more than the %.1f%% that it may: detached", cost, g.leanest, g.breaker.Budget))
	}
	g.announce(words)
	return g.shed(g.breaker.Level)
}
