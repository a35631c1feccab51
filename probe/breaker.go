// SPDX-License-Identifier: Apache-2.0

package probe

import "fmt"

// Level is how much a breaker lets through.
type Level int

// The levels, each cheaper than the one before.
const (
	LevelFull    Level = iota // everything
	LevelCounts               // counts and times, but no stacks, files and requests of single waits
	LevelSampled              // of the waits one in SampledRatio
	LevelOff                  // nothing: detached
)

// SampledRatio is one in how many waits is measured at LevelSampled.
const SampledRatio = 16

// Detail is what a level lets through, given how much was asked for.
func (l Level) Detail(asked Detail) Detail {
	switch {
	case l >= LevelSampled:
		return Detail{Ratio: max(asked.Ratio, 1) * SampledRatio}
	case l == LevelCounts:
		return Detail{Ratio: max(asked.Ratio, 1)}
	}
	return asked
}

// A step up needs this many measurements over the budget in a row; a step down
// this many below half of it: a load near the budget does not make it flutter.
const (
	breakAfter   = 2
	recoverAfter = 10
)

// Breaker holds the cost of witnessing to a budget: it sheds stacks, then
// samples, then asks to detach, from which there is no way back. It is a pure
// value: the caller measures and acts.
type Breaker struct {
	Budget float64 // percent of one CPU; 0: no limit
	Level  Level
	Words  func(Level) string // what a level lets through; nil: of waits

	over, under int
}

// Step takes a measured cost in percent of one CPU, and says in a sentence what it changed; empty: nothing.
func (b *Breaker) Step(cost float64) (announce string) {
	if b.Budget <= 0 || b.Level == LevelOff {
		return ""
	}
	switch {
	case cost > b.Budget:
		b.over, b.under = b.over+1, 0
	case cost < b.Budget/2:
		b.over, b.under = 0, b.under+1
	default:
		b.over, b.under = 0, 0
	}
	if b.over >= breakAfter {
		b.over = 0
		b.Level++
		return fmt.Sprintf("witnessing cost %.1f%% of a CPU, more than the %.1f%% that it may: %s", cost, b.Budget, b.words())
	}
	if b.under >= recoverAfter && b.Level > LevelFull {
		b.under = 0
		b.Level--
		return fmt.Sprintf("witnessing cost %.1f%% of a CPU, well below the %.1f%% that it may: %s again", cost, b.Budget, b.words())
	}
	return ""
}

func (b *Breaker) words() string {
	if b.Words != nil {
		return b.Words(b.Level)
	}
	return b.Level.words()
}

func (l Level) words() string {
	switch l {
	case LevelFull:
		return "everything is witnessed"
	case LevelCounts:
		return "only counts and times are witnessed, no causes"
	case LevelSampled:
		return fmt.Sprintf("only 1 in %d waits is measured", SampledRatio)
	}
	return "detached"
}
