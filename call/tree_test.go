// SPDX-License-Identifier: Apache-2.0

package call

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/iowitness/iowitness/event"
)

// span is a call of a tree that a test makes.
type span struct {
	start, end uint64
	depth      uint32
	within     []*span
}

func (s *span) text() string {
	var parts []string
	for _, w := range s.within {
		parts = append(parts, w.text())
	}
	return fmt.Sprintf("%d(%s)", s.start, strings.Join(parts, " "))
}

func text(n *Node) string {
	var parts []string
	for _, c := range n.Children {
		parts = append(parts, text(c))
	}
	return fmt.Sprintf("%d(%s)", n.Call.Start, strings.Join(parts, " "))
}

// grow makes a random tree from an instant on.
func grow(random *rand.Rand, start uint64, depth uint32) *span {
	s := &span{start: start, depth: depth}
	at := start + 1
	for depth < 6 && random.IntN(3) > 0 {
		w := grow(random, at, depth+1)
		s.within = append(s.within, w)
		at = w.end + uint64(random.IntN(2))
	}
	s.end = at + uint64(random.IntN(3))
	return s
}

// returns tells calls as they return: the inner ones first.
func (s *span) returns(tid uint32, tell func(*event.Call)) {
	for _, w := range s.within {
		w.returns(tid, tell)
	}
	tell(&event.Call{Task: event.Task{TID: tid}, Start: s.start, NS: s.end - s.start, Depth: s.depth})
}

// TestTreesAreAsTheyWereMade, whatever two threads do at once.
func TestTreesAreAsTheyWereMade(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		var trees Trees
		var calls [2][]*event.Call
		var want, got [2]string
		for tid := range calls {
			s := grow(random, 100, 0)
			want[tid] = s.text()
			s.returns(uint32(tid), func(c *event.Call) { calls[tid] = append(calls[tid], c) })
		}
		for len(calls[0])+len(calls[1]) > 0 {
			tid := random.IntN(2)
			if len(calls[tid]) == 0 {
				continue
			}
			if n := trees.Add(calls[tid][0]); n != nil {
				got[tid] = text(n)
			}
			calls[tid] = calls[tid][1:]
		}
		if got != want || trees.Orphans+trees.Dropped > 0 {
			t.Fatalf("%v\n%v, %d orphans, %d dropped", want, got, trees.Orphans, trees.Dropped)
		}
	}
}

// TestCallsWithoutTheirOutermostAreCounted: it was lost, and the next tree is whole.
func TestCallsWithoutTheirOutermostAreCounted(t *testing.T) {
	var trees Trees
	trees.Add(&event.Call{Start: 10, NS: 5, Depth: 1})
	n := trees.Add(&event.Call{Start: 100, NS: 50, Depth: 0})
	if n == nil || len(n.Children) != 0 || trees.Orphans != 1 {
		t.Errorf("%+v, %d orphans", n, trees.Orphans)
	}
	for i := range mostPending + 7 {
		trees.Add(&event.Call{Start: uint64(1000 + i), Depth: 1})
	}
	if trees.Dropped != 7 {
		t.Errorf("%d dropped", trees.Dropped)
	}
}
