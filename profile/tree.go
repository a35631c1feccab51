// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"cmp"
	"slices"

	"github.com/iowitness/iowitness/symbol"
)

// Node is a function called in one way: below its parent. The root is all there is.
type Node struct {
	Label    string // as it is; a view quotes it
	Function        // of a frame; empty for the root, processes, threads and folded nodes
	Level    Level
	PID, TID uint32 // of processes and threads
	Self     Weight
	Total    Weight
	Children []*Node // most weight first
	Folded   int     // nodes that were too narrow to show; Total is theirs together
	index    map[nodeKey]*Node
}

// Level says what a node stands for.
type Level uint8

// The levels of a tree.
const (
	All Level = iota
	OfProcess
	OfThread
	OfFrame
	OfFold // several narrow nodes
	OfCut  // frames beyond the end of a truncated stack
)

type nodeKey struct {
	function Function
	label    string
	level    Level
	pid, tid uint32
}

// TreeOptions choose a tree's shape.
type TreeOptions struct {
	Threads  bool    // threads have nodes below their process
	Merged   bool    // processes are not told apart
	Count    bool    // narrowness is by count, not by time
	MinShare float64 // of the whole: narrower nodes are folded
	MaxNodes int     // the narrowest are folded beyond it (20,000 if 0)
	MaxDepth int     // frames; what lies deeper counts to the last (512 if 0)
}

// Tree puts stacks together from the outermost frame in.
func (p *Profile) Tree(o TreeOptions) *Node {
	o.MaxNodes, o.MaxDepth = cmp.Or(o.MaxNodes, 20_000), cmp.Or(o.MaxDepth, 512)
	root := &Node{Label: "all"}
	for i := range p.Samples {
		root.add(&p.Samples[i], o)
	}
	root.finish(root.narrowest(o), o)
	return root
}

func (n *Node) add(s *Sample, o TreeOptions) {
	n.Total.Add(s.Weight)
	at := n
	if !o.Merged {
		at = at.child(s, nodeKey{label: s.Process, level: OfProcess, pid: s.PID})
	}
	if o.Threads && !o.Merged {
		at = at.child(s, nodeKey{label: s.Thread, level: OfThread, pid: s.PID, tid: s.TID})
	}
	if s.Truncated {
		at = at.child(s, nodeKey{label: "[truncated]", level: OfCut})
	}
	depth := 0
	for _, part := range [...][]symbol.Frame{s.User, s.Kernel} {
		for i := len(part) - 1; i >= 0 && depth < o.MaxDepth; i-- {
			function := FunctionOf(&part[i])
			at = at.child(s, nodeKey{label: function.Label(), function: function, level: OfFrame})
			depth++
		}
	}
	at.Self.Add(s.Weight)
}

func (n *Node) child(s *Sample, key nodeKey) *Node {
	c := n.index[key]
	if c == nil {
		if n.index == nil {
			n.index = map[nodeKey]*Node{}
		}
		c = &Node{Label: key.label, Function: key.function, Level: key.level, PID: key.pid, TID: key.tid}
		n.index[key] = c
		n.Children = append(n.Children, c)
	}
	c.Total.Add(s.Weight)
	return c
}

func (w Weight) by(count bool) uint64 {
	if count {
		return w.Count
	}
	return w.Value
}

// narrowest is the least width that is shown: by share, and such that no more nodes are shown
// than may be. Where too many are just as wide, none of them is.
func (n *Node) narrowest(o TreeOptions) uint64 {
	least := max(uint64(o.MinShare*float64(n.Total.by(o.Count))), 1)
	var widths []uint64
	n.each(func(c *Node) { widths = append(widths, c.Total.by(o.Count)) })
	if len(widths) > o.MaxNodes {
		slices.SortFunc(widths, func(a, b uint64) int { return cmp.Compare(b, a) })
		least = max(least, widths[o.MaxNodes]+1)
	}
	return least
}

func (n *Node) each(do func(*Node)) {
	for _, c := range n.Children {
		do(c)
		c.each(do)
	}
}

// finish orders children, and folds the narrow ones of each node into one.
func (n *Node) finish(least uint64, o TreeOptions) {
	n.index = nil
	kept := n.Children[:0]
	var fold Node
	for _, c := range n.Children {
		if c.Total.by(o.Count) >= least {
			c.finish(least, o)
			kept = append(kept, c)
			continue
		}
		fold.Folded++
		c.each(func(*Node) { fold.Folded++ })
		fold.Total.Add(c.Total)
	}
	slices.SortFunc(kept, func(a, b *Node) int {
		x, y := a.Total.by(o.Count), b.Total.by(o.Count)
		return cmp.Or(cmp.Compare(y, x), cmp.Compare(a.Label, b.Label), orderOf(a.Function, b.Function), cmp.Compare(a.PID, b.PID), cmp.Compare(a.TID, b.TID))
	})
	if n.Children = kept; fold.Folded > 0 {
		fold.Label, fold.Level, fold.Self = "[narrow]", OfFold, fold.Total
		n.Children = append(n.Children, &fold)
	}
}

// Size is the number of nodes below a node, and the depth of the deepest.
func (n *Node) Size() (nodes, depth int) {
	for _, c := range n.Children {
		below, deep := c.Size()
		nodes, depth = nodes+1+below, max(depth, deep+1)
	}
	return nodes, depth
}
