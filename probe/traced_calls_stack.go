// SPDX-License-Identifier: Apache-2.0

package probe

import "github.com/iowitness/iowitness/expr"

// tracedCall is a call whose return has not been seen.
type tracedCall struct {
	function *tracedTarget
	number   uint32
	start    uint64 // ns
	pointer  uint64 // stack pointer at its begin
	root     uint64 // start of the outermost open call around it
	inner    uint64 // ns of the calls within it that have returned
	missed   uint32 // calls within it that returned unseen
	stack    []uint64
	input    expr.Input
}

// callThread is a thread that has entered a function, with its open calls, the
// outermost first.
type callThread struct {
	tid, pid uint32
	comm     string
	wanted   bool
	checked  uint64 // when wanted was last decided
	calls    []tracedCall
}

// stackBits are the size of a kernel stack: those of threads and of interrupts begin at
// a multiple of it.
const stackBits = 14

func sameStack(a, b uint64) bool { return a>>stackBits == b>>stackBits }

// enter opens a call. It gives those that must have returned unseen: a call lies deeper
// in its stack than the one around it, and at the same place only if that ended by a
// jump to it. An interrupt has a stack of its own, of which the other tells nothing.
func (t *callThread) enter(c tracedCall) (unreturned []tracedCall) {
	keep := len(t.calls)
	for i := len(t.calls) - 1; i >= 0; i-- {
		open := &t.calls[i]
		if !sameStack(open.pointer, c.pointer) {
			continue
		}
		if open.pointer > c.pointer || open.pointer == c.pointer && open.function != c.function {
			break
		}
		keep = i
	}
	unreturned = t.cutOff(keep)
	if len(t.calls) == mostOpenTraced {
		unreturned = append(unreturned, t.calls[0])
		t.calls = append(t.calls[:0], t.calls[1:]...)
	}
	c.root = c.start
	if len(t.calls) > 0 {
		c.root = t.calls[0].root
	}
	t.calls = append(t.calls, c)
	return unreturned
}

// mostOpenTraced bounds a thread's open calls.
const mostOpenTraced = 64

// cutOff takes out the calls from a place on; the one around them knows of it.
func (t *callThread) cutOff(from int) []tracedCall {
	cut := append([]tracedCall(nil), t.calls[from:]...)
	t.calls = t.calls[:from]
	if from > 0 {
		t.calls[from-1].missed += uint32(len(cut))
	}
	return cut
}

// leave closes the call of a function that began at the place in the stack at which it
// now ends: that of no other call, however functions call themselves. Calls within it
// have returned unseen. ok is false where no such call is open: nothing is closed then.
func (t *callThread) leave(f *tracedTarget, pointer, at uint64) (ended tracedCall, unreturned []tracedCall, ok bool) {
	for i := len(t.calls) - 1; i >= 0; i-- {
		if c := &t.calls[i]; c.function != f || c.pointer+returnGap != pointer {
			continue
		}
		unreturned = t.cutOff(i + 1)
		ended = t.calls[i]
		t.calls = t.calls[:i]
		if i > 0 && at > ended.start {
			t.calls[i-1].inner += at - ended.start
			t.calls[i-1].missed += ended.missed
		}
		return ended, unreturned, true
	}
	return tracedCall{}, nil, false
}

// inside says whether a call of a root function is open.
func (t *callThread) inside() bool {
	for i := range t.calls {
		if t.calls[i].function.Root {
			return true
		}
	}
	return false
}
