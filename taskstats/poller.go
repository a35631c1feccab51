// SPDX-License-Identifier: Apache-2.0

// Package taskstats tells what threads wait for where no probe may be used: by
// the kernel's delay accounting, and by looking at the state of all threads in
// /proc, many times a second. It needs no privilege, and tells more with some.
// All of it is coarse: waits shorter than the time between two looks are seen
// only by chance.
package taskstats

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/iowitness/iowitness/event"
)

// Config says what is polled.
type Config struct {
	Root        string // of the file tree, normally "/"
	PIDs        []uint32
	Comm        string // only threads of this name, as the kernel cuts it
	Cgroup      Cgroup
	Follow      bool       // only threads given to Follow, and processes that descend from them
	Skip        uint32     // this process is left out; 0: none is
	FDArguments [512]uint8 // by system call: which argument is the file's descriptor, from 1
	Detail      bool       // also look where threads sleep and for what
	Min         uint64     // ns: shorter waits are left out, and so is all that nobody saw
}

// Poller looks at threads. It is not safe for concurrent use.
type Poller struct {
	config    Config
	proc      *proc
	files     *files
	client    *Client // nil: no statistics by netlink
	exits     *Exits  // nil: nobody tells of threads that end
	processes map[uint32]*process
	threads   map[uint32]*thread
	followed  followed

	refused error // why the kernel tells no statistics by netlink
	state   Switch
	onSince uint64 // threads born from then on are covered by delay accounting

	opened, since uint64 // when the watch began, and when it last went on
	bootOffset    uint64 // ns by which the clock of thread starts is ahead of that of waits
	now, last     uint64 // this poll, and the one before
	asOf          uint64 // the instant of what the accounting says
	meanGap       uint64 // between polls, of late
	round         uint64
	polls         uint64
	adopting      bool // this poll finds what was there before
	noStacks      bool // only root may read them, or there are none
	runsUnknown   bool // how often threads run is not told
	paused        bool
	open, maxOpen int // files that are kept open
	clock         func() uint64

	pids, tids []uint32
	asked      []*thread // whose accounting is asked for at the end of the poll
	ending     []ended
	gone       []*thread
	strangers  []Account // ended, and never seen
	waits      []*Wait
	identities []event.Identity
	counts     Counts
	births     births
	flags      flags
}

// ended is a wait whose end the accounting has not yet been asked about.
type ended struct {
	thread *thread
	wait   *Wait
}

// Counts are what could not be seen, since the start.
type Counts struct {
	Hidden     uint64 // waits of which the kernel did not show where the thread slept
	Refused    uint64 // processes that /proc does not let us look into
	Unseen     uint64 // threads that were not there at any poll, where the kernel does not tell of them
	LostExits  uint64 // how often the ends of threads were lost, because the socket was full
	Unanswered uint64 // how often the kernel did not answer
	Excess     uint64 // how often the accounting told more than can be, which is left out
	ExcessNS   uint64
}

// Open gets ready. What is not permitted is done without: see Accounting.
func Open(config Config) (*Poller, error) {
	p := &Poller{config: config, processes: map[uint32]*process{}, threads: map[uint32]*thread{}, followed: newFollowed(), flags: flags{}, maxOpen: maxOpen}
	p.clock = func() uint64 { return instant(monotonic) }
	var err error
	if p.proc, err = openProc(config.Root); err != nil {
		return nil, fmt.Errorf("threads cannot be polled; is /proc mounted? %w", err)
	}
	p.files = newFiles(config.Root, p.proc)
	p.state = ReadSwitch(config.Root)
	if p.state != Off {
		p.refused = p.dial()
	}
	return p, nil
}

// dial opens the sockets to the kernel, and asks it what the switch does not say.
func (p *Poller) dial() error {
	client, err := Dial()
	if err != nil {
		return err
	}
	p.client = client
	if p.state == Unknown && accounts(client) {
		p.state = OnAtBoot // it cannot be switched there
	}
	if p.state == Unknown {
		p.state = Off
	}
	if p.state != Off {
		p.exits, _ = ListenToExits(p.config.Root)
	}
	return nil
}

// watchSwitch looks whether delay accounting was switched meanwhile. It covers
// threads that begin while it is on.
func (p *Poller) watchSwitch() {
	now := ReadSwitch(p.config.Root)
	if now == Unknown || now == p.state {
		return
	}
	if p.state = now; now == Off {
		return
	}
	p.onSince = p.now
	if p.client == nil {
		p.refused = p.dial()
		for _, t := range p.all() {
			t.old = true // what its ticks have told is not to be told again
		}
	}
}

// accounts says whether the kernel accounts for our own delays: a thread that
// runs has waited for a CPU at least once. It holds only where there is no switch.
func accounts(c *Client) bool {
	counted := false
	err := c.Ask([]uint32{uint32(unix.Gettid())}, func(_ uint32, s Stats, err error) {
		counted = err == nil && s.CPU.Count > 0
	})
	return err == nil && counted
}

// Close frees everything. It may be called more than once.
func (p *Poller) Close() error {
	for _, process := range p.processes {
		for _, t := range process.threads {
			p.release(t)
		}
	}
	clear(p.processes)
	errs := []error{p.proc.close()}
	if p.client != nil {
		errs = append(errs, p.client.Close())
	}
	if p.exits != nil {
		errs = append(errs, p.exits.Close())
	}
	return errors.Join(errs...)
}

// Start begins the watch with a first poll, which finds the waits that go on.
// All that the accounting knows up to then is not ours.
func (p *Poller) Start() error {
	p.now = p.clock()
	p.opened, p.since, p.onSince = p.now, p.now, p.now
	return p.adopt()
}

func (p *Poller) adopt() error {
	p.bootOffset = since(instant(unix.CLOCK_BOOTTIME), instant(monotonic))
	p.adopting = true
	err := p.Poll()
	p.adopting = false
	p.ask(p.all())
	return err
}

// Poll looks at all threads once.
func (p *Poller) Poll() error {
	p.last, p.now = p.now, p.clock()
	p.asOf = p.now
	if p.polls > 0 && !p.adopting {
		if p.meanGap == 0 {
			p.meanGap = since(p.now, p.last)
		}
		p.meanGap = uint64(int64(p.meanGap) + (int64(since(p.now, p.last))-int64(p.meanGap))/8)
	}
	p.round++
	if err := p.list(); err != nil {
		return err
	}
	for _, pid := range p.pids {
		p.visit(pid)
	}
	for _, process := range p.processes {
		if process.round != p.round {
			p.forget(process)
		}
	}
	p.followed.prune(p.now)
	p.polls++
	return p.conclude()
}

// conclude asks the accounting about waits that began or ended, and takes leave of threads that did.
func (p *Poller) conclude() error {
	p.ask(p.asked)
	p.asked = p.asked[:0]
	err := p.hearEnds()
	for _, e := range p.ending {
		e.thread.account.take(e.wait, e.thread.account.mark(e.thread), p)
		p.waits = append(p.waits, e.wait)
		if e.wait.Hidden {
			p.counts.Hidden++
		}
	}
	p.ending = p.ending[:0]
	return err
}

// ask gets the statistics of threads; those that have ended meanwhile keep what is known.
func (p *Poller) ask(threads []*thread) {
	if p.client == nil || p.state == Off || len(threads) == 0 {
		return
	}
	p.asOf = p.clock()
	p.tids = p.tids[:0]
	byID := make(map[uint32]*thread, len(threads))
	for _, t := range threads {
		if byID[t.tid] == nil {
			p.tids = append(p.tids, t.tid)
		}
		byID[t.tid] = t
	}
	err := p.client.Ask(p.tids, func(tid uint32, s Stats, err error) {
		if t := byID[tid]; err == nil {
			t.account.answer(s, t, p)
		}
	})
	if err != nil {
		p.counts.Unanswered++
	}
}

// gap is the time between two polls: the mean of late, or that of the last two if it is longer.
func (p *Poller) gap() uint64 { return max(p.meanGap, since(p.now, p.last), 1) }

// Now is the instant of the last poll, by CLOCK_MONOTONIC, in ns.
func (p *Poller) Now() uint64 { return p.now }

// Counts are what could not be seen, since the start.
func (p *Poller) Counts() Counts { return p.counts }

// SetDetail says whether to look where threads sleep and for what.
func (p *Poller) SetDetail(detail bool) { p.config.Detail = detail }

// Waits gives the waits that had ended by the last Settle, once.
func (p *Poller) Waits() []*Wait {
	waits := p.waits
	p.waits = nil
	return waits
}

// Identities tells of processes that are waiting for the first time, or by another name, once.
func (p *Poller) Identities() []event.Identity {
	told := p.identities
	p.identities = nil
	return told
}

// Threads is the number of threads that are polled.
func (p *Poller) Threads() int { return len(p.threads) }

// Sources are where figures come from.
type Sources struct {
	Switch  Switch // of delay accounting
	Netlink bool   // its counts and times in ns; else, while it is on, in ticks of 10 ms
	Exits   bool   // the last figures of threads that end are told
	Refused error  // why there is no Netlink
	Stacks  bool   // whole stacks are shown, not only the innermost function
	// RunsUnknown: waits of a thread that follow each other may look like one.
	RunsUnknown bool
}

// Sources are as they were at the last poll.
func (p *Poller) Sources() Sources {
	return Sources{
		Switch: p.state, Netlink: p.client != nil && p.state != Off, Exits: p.exits != nil, Refused: p.refused,
		Stacks: !p.noStacks, RunsUnknown: p.runsUnknown,
	}
}
