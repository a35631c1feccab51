// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"math/rand/v2"
	"testing"

	"github.com/iowitness/iowitness/event"
)

func testFunctions() (leaf, other, outer *tracedFunction) {
	return &tracedFunction{Function: Function{Name: "io_schedule", Flagged: true}, always: true},
		&tracedFunction{Function: Function{Name: "jbd2_log_wait_commit"}},
		&tracedFunction{Function: Function{Name: "mutex_lock_io", Flagged: true}, nests: true}
}

func enter(t *testing.T, s *callStack, f *tracedFunction, at, pointer uint64, wantUnreturned int) {
	t.Helper()
	if u := s.enter(openCall{function: f, start: at, pointer: pointer, flagged: f.Flagged}); len(u) != wantUnreturned {
		t.Errorf("entry of %s at %d: %d calls have returned unseen, not %d", f.Name, at, len(u), wantUnreturned)
	}
}

func leave(t *testing.T, s *callStack, f *tracedFunction, at uint64, wantUnreturned int) openCall {
	t.Helper()
	c, u, ok := s.leave(f, at)
	if !ok || len(u) != wantUnreturned {
		t.Errorf("return of %s at %d: %v, %d calls have returned unseen, not %d", f.Name, at, ok, len(u), wantUnreturned)
	}
	return c
}

// TestNestedSleepsCountOnce: the innermost call gets the time, the one around it the
// rest, and a rest in which nobody can have slept is no wait.
func TestNestedSleepsCountOnce(t *testing.T) {
	leaf, other, outer := testFunctions()
	var s callStack
	enter(t, &s, outer, 1_000_000, 900, 0)
	enter(t, &s, other, 1_000_500, 800, 0)
	inner := leave(t, &s, other, 4_000_500, 0)
	if start, flags, slept := inner.wait(4_000_500, byDuration); start != 1_000_500 || flags != event.Flagged || !slept {
		t.Errorf("the inner call is flagged by the one around it: from %d, %v, %v", start, flags, slept)
	}
	enter(t, &s, leaf, 4_001_000, 700, 0)
	leave(t, &s, leaf, 5_001_000, 0)
	c := leave(t, &s, outer, 5_002_000, 0)
	if start, _, slept := c.wait(5_002_000, byDuration); slept || 5_002_000-start != 2_000 {
		t.Errorf("a rest of %d ns was taken for a sleep", 5_002_000-start)
	}
	c.inner -= 1_500_000
	if start, flags, slept := c.wait(5_002_000, byDuration); !slept || flags != event.Flagged || 5_002_000-start != 1_502_000 {
		t.Errorf("a rest of 1.5 ms: from %d, %v, %v", start, flags, slept)
	}
	if len(s) != 0 {
		t.Errorf("%d calls are open", len(s))
	}
}

// TestRecursionIsNotMistakenForAMissedReturn: a call deeper in the stack is within
// the other, also of the same function.
func TestRecursionIsNotMistakenForAMissedReturn(t *testing.T) {
	_, _, outer := testFunctions()
	var s callStack
	for depth := range uint64(5) {
		enter(t, &s, outer, 100+depth, 1000-depth, 0)
	}
	for depth := range uint64(5) {
		if c := leave(t, &s, outer, 200+depth, 0); c.start != 104-depth {
			t.Errorf("return %d is of the call at %d", depth, c.start)
		}
	}
	if _, _, ok := s.leave(outer, 300); ok {
		t.Error("a return without an entry was taken")
	}
}

// TestMissedReturnsAreFoundByTheNextEntry of the thread, or by a return further out.
func TestMissedReturnsAreFoundByTheNextEntry(t *testing.T) {
	leaf, other, outer := testFunctions()
	var s callStack
	enter(t, &s, leaf, 100, 700, 0)
	enter(t, &s, leaf, 200, 700, 1) // the same function in the same place
	enter(t, &s, leaf, 300, 650, 1) // nothing lies within io_schedule
	enter(t, &s, other, 400, 600, 1)
	leave(t, &s, other, 500, 0)
	enter(t, &s, outer, 600, 500, 0)
	enter(t, &s, leaf, 700, 400, 0)
	enter(t, &s, outer, 800, 510, 2) // not within that at 600, which lies deeper
	enter(t, &s, leaf, 900, 400, 0)
	leave(t, &s, outer, 1000, 1)
	if len(s) != 0 {
		t.Errorf("%d calls are open", len(s))
	}
	adopted := openCall{function: leaf, start: 1}
	s = append(s, adopted)
	enter(t, &s, leaf, 10, 1, 1)
}

func TestTooDeepACallPutsTheOutermostOff(t *testing.T) {
	_, _, outer := testFunctions()
	var s callStack
	for i := range uint64(maxOpenCalls) {
		enter(t, &s, outer, i, 1000-i, 0)
	}
	enter(t, &s, outer, 50, 100, 1)
	if len(s) != maxOpenCalls || s[0].start != 1 {
		t.Errorf("%d open, the outermost of %d", len(s), s[0].start)
	}
}

// TestEntriesAddUp: whatever is lost of a thread's calls, each entry is a return, a
// missed return or still open; and no time is counted twice.
func TestEntriesAddUp(t *testing.T) {
	leaf, other, outer := testFunctions()
	functions := []*tracedFunction{leaf, other, outer}
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		var s callStack
		var truth []*tracedFunction // open in truth, the outermost first
		entries, returns, missed, strays, waited := 0, 0, 0, 0, uint64(0)
		now := uint64(1)
		for range 1000 {
			now += 1 + rnd.Uint64N(100_000)
			lost := rnd.IntN(10) == 0
			if canEnter := len(truth) == 0 || truth[len(truth)-1].nests; canEnter && (len(truth) == 0 || rnd.IntN(2) == 0) {
				f := functions[rnd.IntN(3)]
				truth = append(truth, f)
				if !lost {
					entries++
					missed += len(s.enter(openCall{function: f, start: now, pointer: uint64(10_000 - 64*len(truth))}))
				}
				continue
			}
			f := truth[len(truth)-1]
			truth = truth[:len(truth)-1]
			if lost {
				continue
			}
			c, within, ok := s.leave(f, now)
			missed += len(within)
			if !ok {
				strays++
				continue
			}
			returns++
			start, _, _ := c.wait(now, byDuration)
			if start < c.start || start > now {
				t.Fatalf("a wait from %d to %d of a call from %d", start, now, c.start)
			}
			waited += now - start
		}
		if entries != returns+missed+len(s) {
			t.Fatalf("seed %d: %d entries, %d returns, %d missed, %d open", seed, entries, returns, missed, len(s))
		}
		if waited > now {
			t.Fatalf("seed %d: waited %d ns of %d", seed, waited, now)
		}
	}
}

// TestOnlyACallThatSleptIsAWait: with switches told it is they that decide, and the
// innermost call gets them; where a sleep may be in state S its length does.
func TestOnlyACallThatSleptIsAWait(t *testing.T) {
	leaf, other, outer := testFunctions()
	bySignal := &tracedFunction{Function: Function{Name: "request_wait_answer"}, signal: true}
	var s callStack
	s.sleep() // outside of all calls
	enter(t, &s, outer, 1_000, 900, 0)
	enter(t, &s, leaf, 2_000, 800, 0)
	s.sleep()
	inner := leave(t, &s, leaf, 3_000, 0)
	around := leave(t, &s, outer, 900_000, 0)
	for _, c := range []struct {
		name   string
		call   openCall
		end    uint64
		sight  sleepSight
		waited bool
	}{
		{"slept for 1 µs", inner, 3_000, bySwitch, true},
		{"only the call within it slept", around, 900_000, bySwitch, false},
		{"it may have slept", around, 900_000, byDuration, true},
		{"preempted, not asleep", openCall{function: leaf, start: 1, pointer: 1}, 900_000, bySwitch, false},
		{"it always sleeps", openCall{function: leaf, start: 1, pointer: 1}, 2, byDuration, true},
		{"too short for a sleep", openCall{function: other, start: 1, pointer: 1}, 2, byDuration, false},
		{"in state S", openCall{function: bySignal, start: 1, pointer: 1}, 900_000, bySwitch, true},
		{"found asleep at the start", openCall{function: other, start: 1}, 2, bySwitch, true},
		{"seen asleep by a walk", openCall{function: other, start: 1, pointer: 1, seen: activity{state: 'D'}}, 2, bySwitch, true},
	} {
		if _, _, waited := c.call.wait(c.end, c.sight); waited != c.waited {
			t.Errorf("%s: a wait: %v", c.name, waited)
		}
	}
}
