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
		t.wait, t.account.waiting = nil, 0
	}
	p.paused = true
	return nil
}

// Resume goes on with the watch. What the accounting tells next is where it begins.
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
	p.now = p.clock()
	p.since, p.births = p.now, births{}
	return p.adopt()
}

// Detach ends what the kernel does for us: to tell of threads that end.
func (p *Poller) Detach() error {
	if p.exits == nil {
		return nil
	}
	defer func() { p.exits = nil }()
	return p.exits.Close()
}

// all are the threads that are known.
func (p *Poller) all() []*thread {
	var all []*thread
	for _, process := range p.processes {
		all = append(all, process.threads...)
	}
	return all
}
