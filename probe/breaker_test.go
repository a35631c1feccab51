// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"strings"
	"testing"
)

func steps(b *Breaker, cost float64, n int) (announced []string) {
	for range n {
		if words := b.Step(cost); words != "" {
			announced = append(announced, words)
		}
	}
	return announced
}

// TestABreakerShedsThenSamplesThenDetaches (case F8): each step is announced, one at a time.
func TestABreakerShedsThenSamplesThenDetaches(t *testing.T) {
	b := Breaker{Budget: 1}
	announced := steps(&b, 3, 100)
	if len(announced) != 3 || b.Level != LevelOff {
		t.Fatalf("level %d after %q", b.Level, announced)
	}
	for i, words := range []string{"no causes", "1 in 16", "detached"} {
		if !strings.Contains(announced[i], words) {
			t.Errorf("step %d says %q", i, announced[i])
		}
	}
	if more := steps(&b, 0, 100); more != nil {
		t.Errorf("after detaching: %q", more)
	}
}

// TestABreakerDoesNotFlutter: one costly interval changes nothing, nor does a load near the budget.
func TestABreakerDoesNotFlutter(t *testing.T) {
	b := Breaker{Budget: 1}
	for range 50 {
		if said := append(steps(&b, 2, 1), steps(&b, 0.8, 3)...); said != nil {
			t.Fatalf("%q", said)
		}
	}
	steps(&b, 2, breakAfter)
	if b.Level != LevelCounts {
		t.Fatalf("level %d", b.Level)
	}
	if said := steps(&b, 0.8, 100); said != nil {
		t.Errorf("near the budget: %q", said)
	}
	if said := steps(&b, 0.1, recoverAfter); len(said) != 1 || b.Level != LevelFull {
		t.Errorf("level %d after %q", b.Level, said)
	}
}

func TestABreakerWithoutABudgetNeverBreaks(t *testing.T) {
	var b Breaker
	if said := steps(&b, 100, 100); said != nil {
		t.Errorf("%q", said)
	}
}

func TestALevelKeepsTheRatioThatWasAskedFor(t *testing.T) {
	asked := Detail{Stacks: true, Ratio: 4}
	for level, want := range map[Level]Detail{
		LevelFull: asked, LevelCounts: {Ratio: 4}, LevelSampled: {Ratio: 4 * SampledRatio},
	} {
		if got := level.Detail(asked); got != want {
			t.Errorf("level %d: %+v", level, got)
		}
	}
}
