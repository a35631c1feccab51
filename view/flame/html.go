// SPDX-License-Identifier: Apache-2.0

package flame

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"html/template"
	"io"
	"strings"

	"github.com/iowitness/iowitness/profile"
)

//go:embed page.html
var pageText string

//go:embed page.css
var pageStyle string

//go:embed page.js
var pageScript string

var page = template.Must(template.New("page").Parse(pageText))

// WriteHTML writes a page to look into: zoom, search, tooltips. It needs no other file, asks no
// network, and its policy lets no script run but its own, whatever names are in it.
func WriteHTML(w io.Writer, p *profile.Profile, o Options) error {
	g := draw(p, o, 1.0/20_000, 20_000)
	data, err := json.Marshal(g.data())
	if err != nil {
		return err
	}
	style, script := strings.TrimSpace(pageStyle), strings.TrimSpace(pageScript)
	// Style, script and data are ours, or escaped by encoding/json, which leaves no < in a string.
	return page.Execute(w, map[string]any{
		"Title": g.title, "Summary": g.subtitle(),
		"Policy": "default-src 'none'; style-src '" + hashOf(style) + "'; script-src '" + hashOf(script) + "'",
		"Style":  template.HTML("<style>" + style + "</style>"),
		"Script": template.HTML("<script>" + script + "</script>"),
		"Data":   template.HTML(`<script type="application/json" id="data">` + string(data) + "</script>"),
	})
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// document is what the page's script draws: nodes from the root on, each before those below it.
type document struct {
	Unit  string     `json:"unit"` // ns or count
	Texts []string   `json:"texts"`
	Nodes [][]uint64 `json:"nodes"` // depth, text, note (text), class, width, own width, count
}

// classes are numbered in the document as here.
var classes = []string{"process", "user", "kernel", "jit", "unknown", "fold"}

func (g *graph) data() *document {
	d := &document{Unit: "ns"}
	if g.count {
		d.Unit = "count"
	}
	texts := map[string]uint64{}
	d.text(texts, "")
	d.add(g, g.root, 0, texts)
	return d
}

func (d *document) text(known map[string]uint64, text string) uint64 {
	n, found := known[text]
	if !found {
		n = uint64(len(d.Texts))
		known[text] = n
		d.Texts = append(d.Texts, text)
	}
	return n
}

func (d *document) add(g *graph, n *profile.Node, depth uint64, texts map[string]uint64) {
	number := uint64(0)
	for i, c := range classes {
		if c == class(n) {
			number = uint64(i)
		}
	}
	d.Nodes = append(d.Nodes, []uint64{
		depth, d.text(texts, label(n)), d.text(texts, note(n)), number,
		g.width(n.Total), g.width(n.Self), n.Total.Count,
	})
	for _, c := range n.Children {
		d.add(g, c, depth+1, texts)
	}
}
