// SPDX-License-Identifier: Apache-2.0

package taskstats

import "slices"

// hearEnds takes what the kernel says of threads that have ended. Those that are
// known, be it as zombies, get their last figures; the others are met and gone.
func (p *Poller) hearEnds() error {
	if p.exits == nil {
		return nil
	}
	var strangers []Stats
	p.asOf = p.clock()
	lost, err := p.exits.Next(func(s Stats) {
		if t := p.known(&s); t != nil {
			t.account.answer(s, t, p)
			return
		}
		strangers = append(strangers, s)
	})
	if lost {
		p.counts.LostExits++
	}
	p.meetStrangers(strangers)
	return err
}

// known finds the thread among the living, and those that ended since the last account.
func (p *Poller) known(s *Stats) *thread {
	if t := p.threads[s.TID]; t != nil && (s.PID == 0 || s.PID == t.process.pid) {
		return t
	}
	i := slices.IndexFunc(p.gone, func(t *thread) bool { return t.tid == s.TID })
	if i < 0 {
		return nil
	}
	return p.gone[i]
}

// meetStrangers makes the accounts of threads that came and went between two
// polls. A process is told before its children are, or after: so it takes more than one look.
func (p *Poller) meetStrangers(strangers []Stats) {
	for range 3 {
		left := len(strangers)
		strangers = slices.DeleteFunc(strangers, func(s Stats) bool {
			if s.PID == 0 {
				s.PID = s.TID // before version 12 the process is not told
			}
			wanted := p.wantsStranger(&s)
			if wanted {
				p.meetStranger(&s)
			}
			return wanted
		})
		if len(strangers) == 0 || len(strangers) == left || !p.config.Follow {
			return
		}
	}
}

func (p *Poller) meetStranger(s *Stats) {
	out := Account{
		TID: s.TID, PID: s.PID, Comm: s.Comm, Born: p.now | 1, Covered: true, Exited: true,
		Flagged: Sum{s.BlockIO.Count, s.BlockIO.Total},
	}
	if s.SwapInApart() {
		out.Flagged.add(s.SwapIn.Count, s.SwapIn.Total)
	}
	if out.Flagged.Count == 0 || p.config.Min > 0 {
		return
	}
	if lived := s.Elapsed; out.Flagged.NS > lived {
		p.counts.Excess++
		p.counts.ExcessNS += out.Flagged.NS - lived
		out.Flagged.NS = lived
	}
	if s.BlockIO.Max <= out.Flagged.NS {
		out.Longest = s.BlockIO.Max
	}
	out.SwappedIn = mostly(Sum{s.SwapIn.Count, s.SwapIn.Total}, out.Flagged)
	out.Longest = max(out.Longest, out.Flagged.NS/out.Flagged.Count)
	p.strangers = append(p.strangers, out)
}

// Settle tells the accounts of the threads that wait, or have waited since the last
// time. all asks the accounting about each thread, else only about those of which
// the polls know that they waited, or whose ticks have moved.
func (p *Poller) Settle(all bool, tell func(Account)) error {
	var err error
	if !p.paused { // else what there is was taken by Pause
		p.watchSwitch()
		p.askBeforeSettling(all)
		err = p.hearEnds()
	}
	for _, process := range p.processes {
		for _, t := range process.threads {
			if out, moved := t.settle(p); moved && t.wanted {
				tell(out)
			}
		}
	}
	for _, t := range p.gone {
		out, moved := t.settle(p)
		out.Exited = true
		if (moved || t.told) && t.wanted {
			tell(out)
		}
	}
	for _, out := range p.strangers {
		tell(out)
	}
	p.gone, p.strangers = nil, p.strangers[:0]
	p.countUnseen()
	return err
}

func (p *Poller) askBeforeSettling(all bool) {
	var threads []*thread
	for _, process := range p.processes {
		for _, t := range process.threads {
			if t.wanted && (all || t.wait != nil || t.ticks != t.askedTicks) {
				t.askedTicks = t.ticks
				threads = append(threads, t)
			}
		}
	}
	p.ask(threads)
}
