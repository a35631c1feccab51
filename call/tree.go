// SPDX-License-Identifier: Apache-2.0

package call

import "github.com/iowitness/iowitness/event"

// Node is a call and those within it, in the order in which they began.
type Node struct {
	Call     *event.Call
	Children []*Node
}

// Own is the time of a call without that of the calls within, in ns.
func (n *Node) Own() uint64 { return n.Call.NS - min(n.Call.Inner, n.Call.NS) }

// Bounds of what is kept of calls whose outermost has not returned.
const (
	mostPending = 4096 // calls of one thread
	mostThreads = 8192
)

// Trees puts calls together that are told as they return, the inner ones first.
type Trees struct {
	threads map[uint32][]*Node
	Dropped uint64 // calls left out: too many within one, or in too many threads
	Orphans uint64 // calls whose outermost was never told
}

// Add takes a call and gives the tree that it completes, or nil.
func (t *Trees) Add(c *event.Call) *Node {
	if t.threads == nil {
		t.threads = map[uint32][]*Node{}
	}
	pending := t.threads[c.TID]
	node := &Node{Call: c}
	first := len(pending)
	for first > 0 && within(pending[first-1].Call, c) {
		first--
	}
	node.Children = append(node.Children, pending[first:]...)
	pending = pending[:first]
	if c.Depth == 0 {
		t.Orphans += uint64(len(pending))
		delete(t.threads, c.TID)
		return node
	}
	if len(pending) >= mostPending || len(t.threads) >= mostThreads && len(pending) == 0 {
		t.Dropped++
		return nil
	}
	t.threads[c.TID] = append(pending, node)
	return nil
}

// within says whether a call that returned before another one was made by it.
func within(inner, outer *event.Call) bool {
	return inner.Depth > outer.Depth && inner.Start >= outer.Start && inner.Start+inner.NS <= outer.Start+outer.NS
}
