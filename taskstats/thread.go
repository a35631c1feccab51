// SPDX-License-Identifier: Apache-2.0

package taskstats

import (
	"bytes"
	"strings"

	"golang.org/x/sys/unix"
)

// thread is one that is polled.
type thread struct {
	tid     uint32
	process *process
	comm    string
	kernel  bool
	fd      int    // the file that each poll reads; -1: it is opened each time
	start   uint64 // ticks since boot: tells a reused id apart
	born    uint64 // ns by the clock of waits: it cannot have waited before
	old     bool   // it began before the watch did
	runs    uint64 // how often it had been put on a CPU, as last polled
	state   byte   // as last polled
	asleep  uint64 // instant since which it has not run
	cpu     uint32 // on which it ran last
	ticks   uint64 // of delay accounting, as last polled
	ring    bool   // it has waited in io_uring before
	noRing  uint64 // 1 + runs when it was found to sleep elsewhere
	wait    *Wait  // that goes on
	account account

	met, wanted bool
	told        bool   // its account was told at least once
	askedTicks  uint64 // ticks when its statistics were last asked for
}

// process holds the threads of one.
type process struct {
	pid, ppid uint32
	start     uint64 // ticks since boot
	wanted    bool
	refused   bool // /proc does not let us look into it
	checked   uint64
	round     uint64 // of the last poll that saw it
	threads   []*thread
	told      string // the leader's command of the identity that was told; "": none was
}

func (p *process) leader() *thread {
	for _, t := range p.threads {
		if t.tid == p.pid {
			return t
		}
	}
	return nil
}

// id tells the threads of one number apart; it is never 0.
func (t *thread) id() uint64 { return t.start*TickNS + 1 }

// look takes a thread's state, and gives the number of its process's threads; 0:
// as before. It is false if the thread has ended. A thread that has not run since
// the last poll still does what it did: to know that costs a third of reading all.
func (p *Poller) look(t *thread) (threads uint32, lives bool) {
	runs, told, err := p.readRuns(t)
	if err != nil && isGone(err) {
		return 0, false
	}
	if told && t.met && runs == t.runs && t.state != 'R' {
		p.sleepsOn(t)
		return 0, true
	}
	stat, err := p.readStat(t, told)
	if err != nil || t.met && stat.Start != t.start {
		return 0, false
	}
	same := t.met && !told // one wait in a row looks like another
	t.runs = runs
	p.take(t, &stat, same)
	return stat.Threads, true
}

// readRuns says how often a thread was put on a CPU, if the kernel tells.
func (p *Poller) readRuns(t *thread) (runs uint64, told bool, err error) {
	if p.runsUnknown {
		return 0, false, nil
	}
	text, err := p.polled(t, "schedstat")
	if err == nil {
		runs, told = parseRuns(text)
	}
	if err == nil && !told || err != nil && !isGone(err) {
		p.runsUnknown = true
		p.release(t)
		return 0, false, nil
	}
	return runs, told, err
}

func (p *Poller) readStat(t *thread, once bool) (ThreadStat, error) {
	var text []byte
	var err error
	if once {
		text, err = p.proc.text(p.proc.thread(t.process.pid, t.tid, "stat"))
	} else {
		text, err = p.polled(t, "stat")
	}
	if err != nil {
		return ThreadStat{}, err
	}
	return ParseThreadStat(text)
}

// maxOpen bounds the files that are kept open, for each of which the kernel keeps a
// page: reading one anew takes a third of the time of opening and reading it.
const maxOpen = 1024

// polled reads the file that each poll reads, through one that is kept open if there is room.
func (p *Poller) polled(t *thread, name string) ([]byte, error) {
	if t.fd >= 0 {
		return p.proc.textOf(t.fd)
	}
	path := p.proc.thread(t.process.pid, t.tid, name)
	if p.open >= p.maxOpen {
		return p.proc.text(path)
	}
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	t.fd = fd
	p.open++
	return p.proc.textOf(fd)
}

func (p *Poller) release(t *thread) {
	if t.fd >= 0 {
		unix.Close(t.fd)
		t.fd = -1
		p.open--
	}
}

// take is called with what a thread that may have run says of itself.
func (p *Poller) take(t *thread, stat *ThreadStat, same bool) {
	if !t.met {
		p.meet(t, stat)
	}
	if comm := commOf(stat); t.comm != string(comm) {
		t.comm = string(comm)
	}
	t.account.tick(stat.BlockIO, t, p)
	if t.ticks = stat.BlockIO; p.state == Unknown && t.ticks > 0 {
		p.state = OnAtBoot // an older kernel, which has no switch
	}
	t.account.cover(t, p)
	slept := same && t.state == stat.State
	t.state, t.cpu = stat.State, stat.CPU
	wanted := p.wantsThread(t, stat)
	if t.met = true; !wanted {
		return
	}
	if slept {
		p.sleepsOn(t)
		return
	}
	if t.asleep = between(max(p.last, t.born, p.since), p.now); p.adopting && t.old {
		t.asleep = p.since
	}
	if t.wait != nil {
		p.finish(t)
	}
	if t.state == 'D' || t.state == 'S' && t.ring && p.inRing(t) {
		p.begin(t)
	}
	if p.client == nil {
		t.account.note(t, p)
	}
}

// sleepsOn is called with a thread that is where the last poll saw it. In state S
// only the function it sleeps in tells whether it waits in io_uring: that is
// looked at once it has slept from one poll to the next.
func (p *Poller) sleepsOn(t *thread) {
	switch {
	case t.wait != nil:
		t.wait.Last = p.now
		t.wait.Seen++
	case t.state == 'S' && !t.ring && t.wanted && p.inRing(t):
		p.begin(t)
	}
}

// commOf leaves out what /proc adds to a worker's name, which is what it works
// for at the moment: "kworker/0:1-events".
func commOf(stat *ThreadStat) []byte {
	if stat.Kernel && bytes.HasPrefix(stat.Comm, []byte("kworker/")) {
		if end := bytes.IndexAny(stat.Comm, "-+"); end >= 0 {
			return stat.Comm[:end]
		}
	}
	return stat.Comm
}

// meet is called with the first stat of a thread.
func (p *Poller) meet(t *thread, stat *ThreadStat) {
	t.start, t.kernel = stat.Start, stat.Kernel
	t.born = p.bornAt(stat.Start)
	t.old = t.born < p.since
	if !t.old {
		p.births.met++
	}
}

// inRing says whether a thread in state S waits in io_uring. One that was found
// not to is asked again only after it has run.
func (p *Poller) inRing(t *thread) bool {
	if t.kernel || t.noRing == t.runs+1 {
		return false
	}
	if !p.config.Detail {
		t.account.blind = true
		return false
	}
	name, err := p.proc.text(p.proc.thread(t.process.pid, t.tid, "wchan"))
	function := strings.TrimPrefix(string(name), "__")
	// Where the compiler has put the wait into the call, that is what proc tells.
	if err == nil && (strings.HasPrefix(function, "io_cqring_wait") || strings.HasPrefix(function, "io_cqring_schedule") || function == "do_sys_io_uring_enter" || function == "se_sys_io_uring_enter") {
		t.ring = true
		return true
	}
	t.noRing = t.runs + 1
	t.account.blind = err != nil || string(name) == "0"
	return false
}

// begin is called when a wait is first seen.
func (p *Poller) begin(t *thread) {
	w := &Wait{
		TID: t.tid, PID: t.process.pid, Comm: t.comm, Born: t.id(), First: p.now, Last: p.now, Seen: 1,
		Start: t.asleep, Interruptible: t.state == 'S', before: mark{ticks: t.ticks},
	}
	if t.old && t.asleep <= p.since {
		w.Adopted, w.Start = true, p.now
		if p.since == p.opened {
			w.Start = since(p.now, p.sleepingFor(t))
		}
	}
	p.findSite(t, w)
	w.Flag = p.flags.of(w)
	t.wait = w
	p.asked = append(p.asked, t)
	p.sighted(t)
}

// finish is called when a wait is no longer seen. What the accounting says of it is asked for at the end of the poll.
func (p *Poller) finish(t *thread) {
	w := t.wait
	t.wait = nil
	w.End = max(between(w.Last, p.now), w.Start)
	if w.Blocked() < p.config.Min {
		return
	}
	p.ending = append(p.ending, ended{t, w})
	p.asked = append(p.asked, t)
}
