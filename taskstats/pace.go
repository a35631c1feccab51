// SPDX-License-Identifier: Apache-2.0

package taskstats

import (
	"math/rand/v2"
	"time"
)

// Pace says when to poll: so many times a second, but less often where that would
// cost more CPU time than a budget. It knows no clock: instants come from the caller.
type Pace struct {
	period  time.Duration
	budget  float64 // of one CPU: 0.01 is one percent
	purse   time.Duration
	updated time.Time
	next    time.Time
	late    time.Duration  // by which polls were put off
	jitter  func() float64 // 0 to 1
}

// purseTime is for how long a budget that was not used is kept: the first poll
// and the first look at a process cost more than all that follow.
const purseTime = 5 * time.Second

// NewPace begins at an instant with a full purse. percent is of one CPU.
func NewPace(perSecond, percent float64, now time.Time) *Pace {
	p := &Pace{
		period: time.Duration(float64(time.Second) / perSecond), budget: percent / 100,
		updated: now, next: now, jitter: rand.Float64,
	}
	p.purse = p.limit()
	return p
}

func (p *Pace) limit() time.Duration { return time.Duration(p.budget * float64(purseTime)) }

// Next is when the next poll is due.
func (p *Pace) Next() time.Time { return p.next }

// Spent takes the CPU time of a poll, or of other work, that has just been done.
func (p *Pace) Spent(now time.Time, cost time.Duration) {
	earned := time.Duration(p.budget * float64(now.Sub(p.updated)))
	p.purse = min(p.purse+max(earned, 0), p.limit()) - cost
	p.updated = now
}

// Plan sets the next poll after one was made. Polls come at uneven times, so that
// they do not keep step with a thread that waits at even ones.
func (p *Pace) Plan(now time.Time) {
	usual := time.Duration((0.75 + 0.5*p.jitter()) * float64(p.period))
	p.next = now.Add(usual)
	if p.purse < 0 {
		recovered := time.Duration(float64(-p.purse) / p.budget)
		if recovered > usual {
			p.late += recovered - usual
			p.next = now.Add(recovered)
		}
	}
}

// Missed counts the polls that were left out to stay within the budget.
func (p *Pace) Missed() uint64 { return uint64(p.late / p.period) }

// Rich says that work of a cost may be done that can also be left out.
func (p *Pace) Rich(cost time.Duration) bool { return p.purse > cost }

// Affordable says that work of a cost may be done each time that so much time has
// passed: it leaves half of the budget to the polls.
func (p *Pace) Affordable(cost, every time.Duration) bool {
	return p.Rich(cost) || float64(cost) <= p.budget/2*float64(every)
}
