// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/iowitness/iowitness/probe"
)

// stackWitness is a witness that can do without stacks.
type stackWitness interface {
	metered
	Heartbeat() (closed bool, err error)
	SetStacks(on bool) error
	Pause() error
}

// stackGuard holds the cost of witnessing to a budget: first it leaves out stacks, then it detaches.
type stackGuard struct {
	witness stackWitness
	what    string // it counts
	spares  string // what it leaves out first
	meter   *meter
	breaker probe.Breaker
	log     *slog.Logger
	said    []string // for the report
	stopped bool
}

func newStackGuard(w stackWitness, what, spares string, budget float64, always bool) *stackGuard {
	g := &stackGuard{
		witness: w, what: what, spares: spares, meter: newMeter("/", w, always), breaker: probe.Breaker{Budget: budget},
		log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	}
	g.meter.flat = true
	return g
}

func (g *stackGuard) announce(words string) {
	g.said = append(g.said, words)
	g.log.Warn(words)
}

// tick sends the heartbeat and looks at the cost.
func (g *stackGuard) tick() error {
	if g.stopped {
		return nil
	}
	silent, err := g.witness.Heartbeat()
	if err != nil {
		return err
	}
	if silent {
		g.announce("for some time nobody read what was witnessed, so the kernel side had closed its gate: " + g.what + " of that time are missing")
	}
	cost, known := g.meter.tick()
	if !known {
		return nil
	}
	words := g.breaker.Step(cost)
	switch {
	case words == "":
		return nil
	case g.breaker.Level >= probe.LevelSampled: // there is nothing cheaper
		return g.stop(fmt.Sprintf("witnessing cost %.1f%% of a CPU without %s, more than the %.1f%% that it may: detached", cost, g.spares, g.breaker.Budget))
	}
	g.announce(strings.ReplaceAll(words, "causes", g.spares))
	return errors.Join(g.witness.SetStacks(g.breaker.Level == probe.LevelFull))
}

// stop ends witnessing for good; what was counted until now stays.
func (g *stackGuard) stop(words string) error {
	g.stopped = true
	g.announce(words)
	err := g.witness.Pause()
	if w, ok := g.witness.(interface{ Detach() error }); ok {
		err = errors.Join(err, w.Detach())
	}
	return err
}
