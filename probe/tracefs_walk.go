// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/iowitness/iowitness/event"
)

// thread is what is known of a thread; nil where there is no room for it.
func (w *tracefsWitness) thread(tid uint32, comm []byte, now uint64) *tracedThread {
	t := w.threads[tid]
	if t == nil {
		if len(w.threads) >= int(w.options.States) {
			w.counts.noRoom++
			return nil
		}
		t = &tracedThread{tally: event.Tally{TID: tid}}
		w.threads[tid] = t
	}
	if string(comm) != t.tally.Comm {
		t.tally.Comm, t.checked = string(comm), 0
	}
	if t.tally.PID == 0 {
		w.findProcess(t)
	}
	if t.checked == 0 || w.wishes.cgroup != nil && now > t.checked+recheckAfter {
		t.checked, t.wanted = now, w.wishes.want(tid, t.tally.PID, t.tally.Comm)
	}
	return t
}

// findProcess takes a thread for its own process where nobody knows better.
func (w *tracefsWitness) findProcess(t *tracedThread) {
	t.tally.PID = w.tasks.process(t.tally.TID)
	if t.tally.PID == 0 {
		t.tally.PID = t.tally.TID
		w.counts.noProcess++
	}
}

// made tells of a new thread: one that had its number before has ended.
func (w *tracefsWitness) made(tid, by uint32, cloneFlags, now uint64) {
	w.finish(tid)
	w.tasks.made(tid, by, cloneFlags)
}

// bury tells the last of threads that have ended.
func (w *tracefsWitness) bury() {
	for _, tid := range w.tasks.gone(w.ahead) {
		w.finish(tid)
	}
}

// finish tells a thread's last counts and forgets it.
func (w *tracefsWitness) finish(tid uint32) {
	t := w.threads[tid]
	if t == nil {
		return
	}
	w.unreturned(t, t.calls.clear())
	delete(w.threads, tid)
	if t.tally.Count > 0 {
		last := t.tell(w.ahead, nil)
		last.Exited = true
		w.queue = append(w.queue, last)
	}
}

// unreturned takes calls whose return was not seen and is not to come. What a walk has told of
// one was a wait: it is counted up to there, and nothing is said of what came after.
func (w *tracefsWitness) unreturned(t *tracedThread, calls []openCall) {
	for i := range calls {
		if calls[i].pointer != 0 { // the return of an adopted one was never awaited
			calls[i].function.missedReturns++
			if w.sight == bySwitch && !calls[i].slept(0, bySwitch) {
				calls[i].function.missedAwake++
			}
		}
		w.endTold(t, &calls[i])
	}
}

func (w *tracefsWitness) endTold(t *tracedThread, c *openCall) {
	if c.told > c.start {
		w.end(t, c, c.told, 0)
	}
}

// giveUp forgets all open calls: the gate was closed, or events went missing.
func (w *tracefsWitness) giveUp() {
	for _, t := range w.threads {
		for _, c := range t.calls.clear() {
			if c.pointer != 0 {
				c.function.givenUp++
			}
			w.endTold(t, &c)
		}
	}
}

// NextEpoch closes an interval with all that has happened in it.
func (w *tracefsWitness) NextEpoch() (closed uint32, err error) {
	err = w.pumpNow()
	closed = w.epoch
	if w.epoch++; w.epoch == 0 {
		w.epoch = 1
	}
	w.renewBudget()
	if off := w.fs.CheckSwitches(); off != nil {
		w.noteOnce(off.Error())
	}
	return closed, err
}

func (w *tracefsWitness) renewBudget() { w.budget = w.options.Budget * uint32(runtime.NumCPU()) }

// Walk tells threads' counters and waits in progress as of the last event taken.
func (w *tracefsWitness) Walk(tell func(*event.Tally)) error {
	w.walkedAt = w.ahead
	checks := maxChecks
	for tid, t := range w.threads {
		c := t.calls.waiting()
		if c != nil && !w.stillWaits(tid, t, c, &checks) {
			c = nil
		}
		if c == nil && t.tally.Count == t.walked {
			continue
		}
		tally := t.tell(w.ahead, c)
		t.walked = t.tally.Count
		if c != nil {
			c.told = w.ahead
			w.tellSite(tally, c)
		}
		tell(tally)
	}
	w.forgetGone()
	return nil
}

// tellSite tells where a thread waits, once a wait.
func (w *tracefsWitness) tellSite(tally *event.Tally, c *openCall) {
	if c.siteTold || w.ahead-c.start < uint64(w.options.Slow) || !w.detail.Stacks {
		return
	}
	c.siteTold = true
	tally.Site = &event.Site{Syscall: -1, Stack: c.site}
}

// maxChecks bounds what a walk reads in /proc.
const maxChecks = 1024

// stillWaits says whether a call that has not returned is to be told as in
// progress. A return may have gone missing, so proc is asked what the thread does
// once the call is slow. Where it says no, the return may just be on its way to us:
// that is decided at the next walk.
func (w *tracefsWitness) stillWaits(tid uint32, t *tracedThread, c *openCall, checks *int) bool {
	if w.ahead <= c.start || !c.slept(w.ahead-c.start, w.sight) {
		return false
	}
	if w.ahead-c.start < uint64(w.options.Slow) || *checks == 0 {
		return true
	}
	*checks--
	switch now := readActivity("/", tid); {
	case c.sleepsOn(now):
		c.seen, c.doubted = now, 0
		return true
	case c.doubted == 0:
		c.doubted = w.now()
		return c.told != 0
	case c.doubted > w.ahead:
		return c.told != 0
	}
	w.unreturned(t, t.calls.clear())
	return false
}

func (w *tracefsWitness) now() uint64 {
	now, _ := monotonic()
	return now
}

// adopt learns which threads there are, and takes on waits that began before the
// gate opened. Their return will not be seen: a walk looks whether they still wait.
func (w *tracefsWitness) adopt(at uint64) {
	pids := processes("/")
	switch {
	case w.wishes.pids != nil:
		pids = w.options.PIDs
	case w.options.Follow: // nobody but us has been told to it yet
		pids = []uint32{uint32(os.Getpid())}
	}
	for _, pid := range pids {
		tids, _ := threadsOf("/", pid)
		for _, tid := range tids {
			w.tasks.know(tid, pid)
			if now := readActivity("/", tid); now.state == 'D' {
				w.adoptCall(tid, readStack("/", tid), now, at)
			}
		}
	}
}

func (w *tracefsWitness) adoptCall(tid uint32, stack []frame, now activity, at uint64) {
	f := findFunction(stack, w.byName)
	comm, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(int(tid)), "comm"))
	if f == nil || err != nil {
		return
	}
	t := w.thread(tid, []byte(strings.TrimSuffix(string(comm), "\n")), at)
	if t == nil || !t.wanted || len(t.calls) > 0 {
		return
	}
	t.calls = append(t.calls, openCall{function: f, start: at, flagged: f.Flagged, seen: now, site: w.addresses(stack)})
}

// addresses are the frames' places, as far as symbols are known.
func (w *tracefsWitness) addresses(stack []frame) (site []uint64) {
	if w.address == nil {
		return nil
	}
	for _, at := range stack {
		if begin, ok := w.address(at.symbol); ok {
			site = append(site, begin+at.offset)
		}
	}
	return site
}

// forgetGone drops threads whose end was not seen, as after lost events.
func (w *tracefsWitness) forgetGone() {
	if len(w.threads) < 1024 && w.lostEvents == w.counts.lostAtSweep {
		return
	}
	w.counts.lostAtSweep = w.lostEvents
	for tid := range w.threads {
		if _, ends := w.tasks.ending[tid]; !ends && unix.Kill(int(tid), 0) == unix.ESRCH {
			w.finish(tid)
		}
	}
}
