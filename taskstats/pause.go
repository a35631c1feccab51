// SPDX-License-Identifier: Apache-2.0

package taskstats

// Pause ends the watch for a while: waits that go on are given up, and what the
// accounting grows by is not ours.
func (p *Poller) Pause() error {
	if p.paused {
		return nil
	}
	p.ask(p.all())
	for _, t := range p.all() {
		t.held, t.heldSwapIn = t.account.mark(t), t.account.latest.SwapIn
		t.wait = nil
	}
	p.paused = true
	return nil
}

// Resume goes on with the watch.
func (p *Poller) Resume() error {
	if !p.paused {
		return nil
	}
	p.paused = false
	if p.exits != nil {
		if _, err := p.exits.Next(func(Stats) {}); err != nil {
			return err
		}
	}
	before := p.all()
	p.now = p.clock()
	p.since = p.now
	if err := p.adopt(); err != nil {
		return err
	}
	for _, t := range before {
		t.account.leaveOutPause(t)
	}
	return nil
}

// leaveOutPause moves the base of an account by what it has grown since Pause.
func (a *account) leaveOutPause(t *thread) {
	blockIO, swapIn := a.latest.BlockIO.Since(t.held.blockIO), a.latest.SwapIn.Since(t.heldSwapIn)
	if t.held.asked {
		a.base.BlockIO.Count += blockIO.Count
		a.base.BlockIO.Total += blockIO.Total
		a.base.SwapIn.Count += swapIn.Count
		a.base.SwapIn.Total += swapIn.Total
	}
	a.baseTicks += since(t.ticks, t.held.ticks)
	a.peak = a.latest.BlockIO.Max
}

// all are the threads that are known.
func (p *Poller) all() []*thread {
	var all []*thread
	for _, process := range p.processes {
		all = append(all, process.threads...)
	}
	return all
}
