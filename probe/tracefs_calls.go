// SPDX-License-Identifier: Apache-2.0

package probe

import "github.com/iowitness/iowitness/event"

// tracedFunction is a function of the table as the tracing file system probes it.
type tracedFunction struct {
	Function
	nests  bool // other functions of the table may be called within it
	always bool // whoever calls it gives up the CPU, once
	signal bool // a thread may sleep in it in state S

	// The balance: each entry is in one of the others, or in flight.
	entries, returns, missedReturns, givenUp uint64
	missedAwake                              uint64 // of missedReturns, those in which the thread did not sleep
	strayReturns                             uint64 // returns without an entry
}

// openCall is a call whose return has not been seen.
type openCall struct {
	function *tracedFunction
	start    uint64 // ns
	pointer  uint64 // stack pointer at its begin; 0: it began before iowitness
	site     []uint64
	inner    uint64 // ns of the calls within it that have returned
	sleeps   uint32 // times that its thread gave up the CPU in state D, not within a call inside it
	flagged  bool   // it, or a call around it, has in_iowait set

	told     uint64 // up to when a walk has told it as in progress; 0: never
	siteTold bool
	seen     activity // of its thread, when a walk last found it there
	doubted  uint64   // when its thread was found elsewhere, with its return not yet seen; 0: never
}

// sleepsOn says whether what a thread does can be that it still sleeps in the call.
// One that runs has returned, or is about to.
func (c *openCall) sleepsOn(now activity) bool {
	if c.function.always && c.seen.state != 0 && now.switches != c.seen.switches {
		return false
	}
	return now.state == 'D' || now.state == 'S' && c.function.signal
}

// callStack are the open calls of a thread, the outermost first.
type callStack []openCall

// Deeper than functions of the table nest: beyond, the outermost have returned unseen.
const maxOpenCalls = 16

// enter opens a call. It gives those that must have returned unseen: a call lies
// deeper in the stack than the one around it, and functions that do not nest
// have nothing within them.
func (s *callStack) enter(c openCall) (unreturned []openCall) {
	open := *s
	keep := len(open)
	for keep > 0 && !open[keep-1].mayContain(&c) {
		keep--
	}
	unreturned = append(unreturned, open[keep:]...)
	open = open[:keep]
	if len(open) == maxOpenCalls {
		unreturned = append(unreturned, open[0])
		open = append(open[:0], open[1:]...)
	}
	if len(open) > 0 {
		c.flagged = c.flagged || open[len(open)-1].flagged
	}
	*s = append(open, c)
	return unreturned
}

func (c *openCall) mayContain(inner *openCall) bool {
	return c.function.nests && c.pointer > inner.pointer
}

// leave closes the innermost call of a function. Calls within it have returned
// unseen. ok is false where no call is open: nothing is closed then.
func (s *callStack) leave(f *tracedFunction, at uint64) (ended openCall, unreturned []openCall, ok bool) {
	open := *s
	for i := len(open) - 1; i >= 0; i-- {
		if open[i].function != f {
			continue
		}
		ended, unreturned = open[i], append(unreturned, open[i+1:]...)
		*s = open[:i]
		if i > 0 && at > ended.start {
			open[i-1].inner += at - ended.start
		}
		return ended, unreturned, true
	}
	return openCall{}, nil, false
}

// clear gives up all open calls.
func (s *callStack) clear() (open []openCall) {
	open = append(open, *s...)
	*s = (*s)[:0]
	return open
}

// sleep notes that the thread gives up its CPU, within its innermost call.
func (s callStack) sleep() {
	if len(s) > 0 {
		s[len(s)-1].sleeps++
	}
}

// waiting is the call in which the thread waits, if it can be told: of a
// function that nests one does not know whether the thread still sleeps in it.
func (s callStack) waiting() *openCall {
	if len(s) == 0 || s[len(s)-1].function.nests {
		return nil
	}
	return &s[len(s)-1]
}

// sleepSight is how well one can tell whether a thread slept within a call.
type sleepSight bool

const (
	byDuration sleepSight = false // from entry and return alone: by how long it took
	bySwitch   sleepSight = true  // the scheduler's switches are told too
)

// leastSleep is how long a call must have been for a sleep, where no switches are
// told: two of them take longer.
const leastSleep = 10_000 // ns

// slept says whether a thread slept in a call, of which so long was its own. Sleeps in
// state S are not told, since most of a machine's are none for I/O.
func (c *openCall) slept(own uint64, sight sleepSight) bool {
	switch {
	case c.sleeps > 0, c.pointer == 0, c.seen.state != 0: // the last two were found asleep
		return true
	case sight == bySwitch && !c.function.signal:
		return false
	}
	return c.function.always || own >= leastSleep
}

// wait is the part of a call that ended which was a wait of its own: the time that
// is not that of calls within it. The wait is put at the call's end. slept is
// false where there was none.
func (c *openCall) wait(end uint64, sight sleepSight) (start uint64, flags event.Flags, slept bool) {
	own := uint64(0)
	if total := end - c.start; total > c.inner {
		own = total - c.inner
	}
	if c.flagged {
		flags = event.Flagged
	}
	if c.pointer == 0 {
		flags |= event.Adopted
	}
	return end - own, flags, c.slept(own, sight)
}
