// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"math/rand/v2"
	"testing"
)

func traced(name string) *tracedTarget { return &tracedTarget{CallTarget: &CallTarget{Name: name}} }

func TestTracedCallsNest(t *testing.T) {
	const top, interrupt = 0x4_3f00, 0x9_3f00
	f, g := traced("f"), traced("g")
	thread := &callThread{}
	enter := func(of *tracedTarget, pointer, at uint64, wantUnreturned int) {
		t.Helper()
		if got := thread.enter(tracedCall{function: of, pointer: pointer, start: at}); len(got) != wantUnreturned {
			t.Errorf("%d returned unseen, not %d", len(got), wantUnreturned)
		}
	}
	leave := func(of *tracedTarget, pointer, at, wantTook uint64, wantUnreturned int) tracedCall {
		t.Helper()
		c, unreturned, ok := thread.leave(of, pointer+returnGap, at)
		if !ok || at-c.start != wantTook || len(unreturned) != wantUnreturned {
			t.Errorf("%v: %d, %d within", ok, at-c.start, len(unreturned))
		}
		return c
	}
	enter(f, top, 1, 0)
	enter(f, top-64, 2, 0) // calls itself
	enter(g, top-64, 3, 0) // and ends by a jump to another
	leave(g, top-64, 5, 2, 0)
	leave(f, top-64, 6, 4, 0)
	enter(g, interrupt, 7, 0) // an interrupt says nothing of the thread's own stack
	leave(g, interrupt, 8, 1, 0)
	enter(g, top-96, 9, 0) // its return goes missing
	if c := leave(f, top, 20, 19, 1); c.inner != 5 || c.missed != 1 {
		t.Errorf("%+v", c)
	}
	enter(f, top, 21, 0)   // this one's too
	enter(g, top+8, 22, 1) // which this shows, since it is no deeper
	enter(g, top+8, 23, 1)
	if _, _, ok := thread.leave(f, top+returnGap, 24); ok || len(thread.calls) != 1 {
		t.Error("a return was taken for another's")
	}
	leave(g, top+8, 25, 2, 0)
	if len(thread.calls) != 0 {
		t.Errorf("%+v", thread.calls)
	}
}

// TestTracedCallsAddUp: whatever goes missing, each entry is returned, missed or open.
func TestTracedCallsAddUp(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	functions := []*tracedTarget{traced("a"), traced("b")}
	for range 500 {
		thread, at, entries, returns, unseen := &callThread{}, uint64(0), 0, 0, 0
		var real []tracedCall
		for range 200 {
			at++
			if len(real) > 0 && r.IntN(2) == 0 {
				last := real[len(real)-1]
				real = real[:len(real)-1]
				if r.IntN(10) == 0 {
					continue // the kernel misses it
				}
				c, within, ok := thread.leave(last.function, last.pointer+returnGap, at)
				if !ok || c.start != last.start {
					t.Fatalf("%+v was taken for %+v", c, last)
				}
				returns, unseen = returns+1, unseen+len(within)
				continue
			}
			pointer := uint64(0x4_3f00)
			if len(real) > 0 {
				pointer = real[len(real)-1].pointer - 8*(1+uint64(r.IntN(3)))
			}
			c := tracedCall{function: functions[r.IntN(2)], pointer: pointer, start: at}
			real = append(real, c)
			entries, unseen = entries+1, unseen+len(thread.enter(c))
		}
		if entries != returns+unseen+len(thread.calls) {
			t.Fatalf("%d entries, %d returns, %d unseen, %d open", entries, returns, unseen, len(thread.calls))
		}
	}
}

func TestErrorResults(t *testing.T) {
	for _, c := range []struct {
		ret   uint64
		bytes int
		want  bool
	}{
		{^uint64(0), 8, true}, {^uint64(0) - 4094, 8, true}, {^uint64(0) - 4095, 8, false}, {0xffff_fffb, 4, true}, {0xffff_fffb, 8, false}, {^uint64(0), 0, false}, {5, 4, false},
	} {
		if got := isErrorResult(c.ret, c.bytes); got != c.want {
			t.Errorf("%#x of %d bytes: %v", c.ret, c.bytes, got)
		}
	}
}
