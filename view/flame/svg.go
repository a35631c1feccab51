// SPDX-License-Identifier: Apache-2.0

package flame

import (
	"bufio"
	_ "embed"
	"encoding/xml"
	"fmt"
	"hash/fnv"
	"io"
	"strings"

	"github.com/iowitness/iowitness/profile"
)

// The measures of a picture, in pixels.
const (
	pictureWidth = 1200
	rowHeight    = 17
	margin       = 10
	headHeight   = 48
	letterWidth  = 6.7 // of the font, about
)

//go:embed svg.css
var pictureStyle string

// WriteSVG writes a picture: titles tell what a pointer is over, no script is in it.
func WriteSVG(w io.Writer, p *profile.Profile, o Options) error {
	g := draw(p, o, 1e-3, 5_000)
	_, depth := g.root.Size()
	height := headHeight + (depth+1)*rowHeight + 2*margin + rowHeight
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, `<?xml version="1.0" encoding="UTF-8"?>
<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 %d %d" width="%d" height="%d" font-family="ui-monospace, monospace" font-size="11">
<title>%s</title>
<style>%s</style>
<rect class="ground" width="100%%" height="100%%"/>
<text class="head" x="%d" y="24" font-size="16">%s</text>
<text class="sub" x="%d" y="40">%s</text>
`, pictureWidth, height, pictureWidth, height, escape(g.title), pictureStyle, margin, escape(g.title), margin, escape(g.subtitle()))
	s := picture{graph: g, out: out, floor: headHeight + depth*rowHeight + margin}
	s.node(g.root, margin, float64(pictureWidth-2*margin)/float64(max(g.width(g.root.Total), 1)), 0)
	io.WriteString(out, "</svg>\n")
	return out.Flush()
}

// subtitle tells how much there is, and what is missing.
func (g *graph) subtitle() string {
	text := g.amount(g.root.Total)
	if len(g.lost) > 0 {
		text += " · lost: " + strings.Join(g.lost, ", ")
	}
	return text
}

type picture struct {
	*graph
	out   *bufio.Writer
	floor int
}

// node draws a node at x, and those that it called above it.
func (s *picture) node(n *profile.Node, x, scale float64, depth int) {
	width := float64(s.width(n.Total)) * scale
	s.box(n, x, width, s.floor-depth*rowHeight)
	for _, c := range n.Children {
		s.node(c, x, scale, depth+1)
		x += float64(s.width(c.Total)) * scale
	}
}

func (s *picture) box(n *profile.Node, x, width float64, y int) {
	name, more := label(n), note(n)
	title := name
	if more != "" {
		title += " · " + more
	}
	title += " · " + s.amount(n.Total)
	if s.width(n.Self) > 0 {
		title += " · own " + s.amount(n.Self)
	}
	fmt.Fprintf(s.out, `<g class="%s s%d"><title>%s</title><rect x="%.2f" y="%d" width="%.2f" height="%d"/>`,
		class(n), shade(name), escape(title), x, y, max(width-0.3, 0.1), rowHeight-1)
	if text := fit(name, int((width-6)/letterWidth)); text != "" {
		fmt.Fprintf(s.out, `<text x="%.2f" y="%d">%s</text>`, x+3, y+12, escape(text))
	}
	io.WriteString(s.out, "</g>\n")
}

// fit is as much of a name as there is room for; nothing if that says nothing.
func fit(name string, letters int) string {
	runes := []rune(name)
	switch {
	case len(runes) <= letters:
		return name
	case letters < 4:
		return ""
	}
	return string(runes[:letters-1]) + "…"
}

// shade tells neighbours apart: the same name always has the same.
func shade(name string) uint32 {
	h := fnv.New32a()
	io.WriteString(h, name)
	return h.Sum32() % 5
}

func escape(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a strings.Builder does not fail
	return b.String()
}
