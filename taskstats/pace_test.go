// SPDX-License-Identifier: Apache-2.0

package taskstats

import (
	"testing"
	"time"
)

// simulate polls for a time at a cost each, and gives how often.
func simulate(p *Pace, now time.Time, length, cost time.Duration) (polls int, end time.Time) {
	for end = now.Add(length); now.Before(end); {
		polls++
		p.Spent(now, cost)
		p.Plan(now)
		now = p.Next()
	}
	return polls, now
}

func TestPaceKeepsItsRateAndItsBudget(t *testing.T) {
	for _, c := range []struct {
		cost      time.Duration
		low, high int // polls in 100 s
		missed    bool
	}{
		{100 * time.Microsecond, 1950, 2050, false},
		{490 * time.Microsecond, 1950, 2050, false},
		{time.Millisecond, 990, 1080, true},
		{10 * time.Millisecond, 99, 110, true},
		{300 * time.Millisecond, 3, 5, true},
	} {
		now := time.Unix(1000, 0)
		p := NewPace(20, 1, now)
		polls, end := simulate(p, now, 100*time.Second, c.cost)
		if polls < c.low || polls > c.high {
			t.Errorf("polls of %v: %d in 100 s", c.cost, polls)
		}
		if c.missed != (p.Missed() > 0) {
			t.Errorf("polls of %v: %d left out", c.cost, p.Missed())
		}
		due := float64(end.Sub(now)) / float64(50*time.Millisecond)
		if all := float64(polls) + float64(p.Missed()); all < 0.97*due || all > 1.03*due {
			t.Errorf("polls of %v: %d made and %d left out of %.0f", c.cost, polls, p.Missed(), due)
		}
	}
}

// TestPacePaysForADearStart from what it saves, and then goes on at its rate.
func TestPacePaysForADearStart(t *testing.T) {
	now := time.Unix(1000, 0)
	p := NewPace(20, 1, now)
	p.Spent(now, 40*time.Millisecond)
	p.Plan(now)
	if p.Missed() != 0 || p.Next().Sub(now) > 100*time.Millisecond {
		t.Errorf("the next poll is in %v", p.Next().Sub(now))
	}
	if p.Rich(20*time.Millisecond) || !p.Rich(time.Millisecond) {
		t.Error("it does not know what it has")
	}
}

func TestPacesAreUneven(t *testing.T) {
	now := time.Unix(1000, 0)
	p := NewPace(20, 1, now)
	gaps := map[time.Duration]bool{}
	for range 50 {
		p.Plan(now)
		gap := p.Next().Sub(now)
		if gap < 37*time.Millisecond || gap > 63*time.Millisecond {
			t.Fatalf("a gap of %v", gap)
		}
		gaps[gap] = true
	}
	if len(gaps) < 40 {
		t.Errorf("%d different gaps of 50", len(gaps))
	}
}

// TestPaceSurvivesAClockThatGoesBack.
func TestPaceSurvivesAClockThatGoesBack(t *testing.T) {
	now := time.Unix(1000, 0)
	p := NewPace(20, 1, now)
	p.Spent(now.Add(-time.Hour), time.Millisecond)
	p.Plan(now)
	if p.Next().Sub(now) > time.Second {
		t.Errorf("the next poll is in %v", p.Next().Sub(now))
	}
}
