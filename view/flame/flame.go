// SPDX-License-Identifier: Apache-2.0

// Package flame draws profiles as flame graphs: one HTML file that needs no other, or an SVG
// that needs no script.
package flame

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"github.com/iowitness/iowitness/identity"
	"github.com/iowitness/iowitness/profile"
	"github.com/iowitness/iowitness/symbol"
)

// Options choose what is drawn.
type Options struct {
	Title    string
	Threads  bool    // threads have a frame of their own above their process
	Count    bool    // width is the count, not the time; it also is where there is no time
	MinShare float64 // of all, below which a frame is not drawn by itself; 0: 1/20,000 in HTML, 1/1,000 in SVG
	MaxNodes int     // frames in the file; 0: 20,000 in HTML, 5,000 in SVG
}

// maxLabel is how many letters of a name a graph has. With the number of nodes it bounds a file.
const maxLabel = 240

// graph is what both forms draw.
type graph struct {
	root  *profile.Node
	title string
	kind  profile.Kind
	count bool
	lost  []string
}

func draw(p *profile.Profile, o Options, share float64, nodes int) *graph {
	g := &graph{title: o.Title, kind: p.Kind, count: o.Count || p.Total().Value == 0, lost: losses(p.Lost)}
	if g.title == "" {
		g.title = "iowitness " + string(p.Kind)
	}
	g.title = identity.Quote(g.title)
	g.root = p.Tree(profile.TreeOptions{
		Threads: o.Threads, Count: g.count,
		MinShare: cmp.Or(o.MinShare, share), MaxNodes: cmp.Or(o.MaxNodes, nodes),
	})
	return g
}

func losses(l profile.Lost) (all []string) {
	add := func(n uint64, title string) {
		if n > 0 {
			all = append(all, strconv.FormatUint(n, 10)+" × "+title)
		}
	}
	add(l.Samples, "sample not recorded")
	if l.Time > 0 {
		all = append(all, l.Time.String())
	}
	add(l.KernelStacks, "no kernel stack")
	add(l.UserStacks, "no user stack")
	add(l.Frames, "frame not named")
	return all
}

func (g *graph) width(w profile.Weight) uint64 {
	if g.count {
		return w.Count
	}
	return w.Value
}

// label is a node's name as it is shown.
func label(n *profile.Node) string {
	name := cut(identity.Quote(n.Label))
	switch n.Level {
	case profile.OfProcess:
		return fmt.Sprintf("%s (pid %d)", name, n.PID)
	case profile.OfThread:
		return fmt.Sprintf("%s (tid %d)", name, n.TID)
	case profile.OfFold:
		return fmt.Sprintf("%d narrow", n.Folded)
	}
	return name
}

func cut(text string) string {
	letters := 0
	for i := range text {
		if letters++; letters > maxLabel {
			return text[:i] + "…"
		}
	}
	return text
}

// note says more about a frame: module, or where symbols can be looked for.
func note(n *profile.Node) string {
	if n.Level != profile.OfFrame || n.Module == "" {
		return ""
	}
	text := cut(identity.Quote(n.Module))
	switch {
	case n.Name == "" && n.BuildID != "":
		text += ", no symbol, build id " + n.BuildID
	case n.Name == "":
		text += ", no symbol, no build id"
	}
	return text
}

// class is a node's kind in one word, by which it is coloured.
func class(n *profile.Node) string {
	switch {
	case n.Level == profile.OfFrame && n.Name == "" && n.Kind != symbol.Kernel:
		return "unknown"
	case n.Level == profile.OfFrame:
		return n.Kind.String()
	case n.Level == profile.OfFold || n.Level == profile.OfCut:
		return "fold"
	}
	return "process"
}

// amount is a weight in words, with its share of all.
func (g *graph) amount(w profile.Weight) string {
	share := 100 * float64(g.width(w)) / float64(max(g.width(g.root.Total), 1))
	if g.count {
		return fmt.Sprintf("%d (%.2f%%)", w.Count, share)
	}
	return fmt.Sprintf("%s, %d× (%.2f%%)", duration(w.Value), w.Count, share)
}

func duration(ns uint64) string {
	d := time.Duration(min(ns, 1<<62))
	switch {
	case d >= time.Second:
		return d.Round(time.Millisecond).String()
	case d >= time.Millisecond:
		return d.Round(time.Microsecond).String()
	}
	return d.String()
}
