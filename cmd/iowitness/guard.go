// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/probe"
	"github.com/iowitness/iowitness/snapshot"
)

const (
	guardEvery    = time.Second // a heartbeat, and a look at the cost
	overtime      = 5 * time.Second
	defaultSilent = 10 * time.Second
)

// guard keeps witnessing within its bounds: its cost, its share of the time, its
// length. What it changes it says at once, in the report and on standard error.
type guard struct {
	session *session
	meter   *meter
	breaker probe.Breaker
	asked   probe.Detail
	said    []string // for the report

	closed  time.Duration // of this interval
	shed    bool          // in this interval
	ratio   uint32
	stopped bool // by the breaker
}

func newGuard(s *session, o guardOptions, always bool) *guard {
	g := &guard{
		session: s, meter: newMeter("/", s.witness, always || s.witness.Facts().OwnMeter), breaker: probe.Breaker{Budget: o.maxCost},
		asked: probe.Detail{Stacks: true, Ratio: max(o.ratio, 1)},
	}
	g.ratio = g.asked.Ratio
	return g
}

// guardOptions are the bounds that a user sets.
type guardOptions struct {
	maxCost float64 // percent of one CPU; 0: none
	ratio   uint32
}

// announce says at once, to whoever looks on, what the guard has done.
func announce(words string) { fmt.Fprintf(os.Stderr, "iowitness: %s\n", words) }

// announce says what has changed.
func (g *guard) announce(words string) {
	g.said = append(g.said, words)
	announce(words)
}

// tick sends the heartbeat and holds the cost to its budget.
func (g *guard) tick() error {
	silent, err := g.session.witness.Heartbeat()
	if err != nil {
		return err
	}
	if silent && !g.stopped {
		if err := g.session.reopen(); err != nil {
			return err
		}
		g.announce("for some time nobody read what was witnessed, so the kernel side had closed its gate: waits of that time are missing")
	}
	cost, known := g.meter.tick()
	if !known {
		return nil
	}
	return g.step(cost)
}

// step lets the breaker act on a cost.
func (g *guard) step(cost float64) error {
	words := g.breaker.Step(cost)
	if words == "" {
		return nil
	}
	if g.breaker.Level == probe.LevelOff {
		return g.stop(words)
	}
	g.announce(words)
	detail := g.breaker.Level.Detail(g.asked)
	g.shed = g.shed || !detail.Stacks
	g.ratio = max(g.ratio, detail.Ratio)
	return g.session.witness.SetDetail(detail)
}

// stop detaches for good; what was counted until now stays.
func (g *guard) stop(words string) error {
	g.announce(words)
	g.stopped = true
	return errors.Join(g.session.witness.Pause(), g.session.witness.Detach())
}

// begin makes the witness as fine as was asked for.
func (g *guard) begin() error {
	if g.asked == probe.FullDetail {
		return nil
	}
	return g.session.witness.SetDetail(g.asked)
}

// coverage closes an interval: how much of it was witnessed.
func (g *guard) coverage(elapsed time.Duration) (wall time.Duration, c snapshot.Coverage) {
	wall = max(elapsed-g.closed, 0)
	c = snapshot.Coverage{Elapsed: elapsed, Ratio: g.ratio, Shed: g.shed}
	if g.session.witness.Facts().Estimated {
		c.Ratio = 1 // there are fewer polls, each of which stands for more
	}
	detail := g.breaker.Level.Detail(g.asked)
	g.closed, g.shed, g.ratio = 0, !detail.Stacks && !g.stopped, detail.Ratio
	return wall, c
}

// rest is the part of a duty cycle with a closed gate: nothing is witnessed until
// it is over, when the gate opens again.
func (g *guard) rest(until time.Time, done func() bool) error {
	if g.stopped {
		return nil
	}
	began := time.Now()
	for !done() && time.Now().Before(until) {
		step := until
		if next := time.Now().Add(guardEvery); next.Before(step) {
			step = next
		}
		if err := g.session.witness.Drain(step, g.session.take); err != nil {
			return err
		}
	}
	if done() {
		return nil
	}
	err := g.session.reopen()
	g.closed += time.Since(began)
	return err
}

// reopen opens the gate again after a time of which nothing is known.
func (s *session) reopen() error {
	var started []*event.Tally
	if err := s.witness.Resume(func(t *event.Tally) { started = append(started, t) }); err != nil {
		return err
	}
	now, err := s.witness.Clock()
	if err != nil {
		return err
	}
	s.ledger.Reopen(now)
	for _, t := range started {
		s.ledger.InProgress(t)
	}
	return nil
}

// watchdog ends the program for good some time after it should have ended by
// itself: whatever it hangs on, the kernel then detaches everything.
func watchdog(after time.Duration) (stop func() bool) {
	return time.AfterFunc(after+overtime, func() {
		fmt.Fprintf(os.Stderr, "iowitness: still running %v after --max-time, ended by its watchdog\n", overtime)
		os.Exit(exitError)
	}).Stop
}
