// SPDX-License-Identifier: Apache-2.0

package text

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/iowitness/iowitness/diagnosis"
)

// Catalog shows what can be probed. Functions stand in groups, by how they can be, or why not.
func Catalog(w io.Writer, c *diagnosis.Catalog, o Options) error {
	d := page{width: o.Width}
	d.catalogHead(c)
	for _, g := range groupsOf(c) {
		d.add("", plain)
		d.hang("", g.title, bold)
		for _, p := range g.functions {
			d.probeable(p)
		}
	}
	d.tracepoints(c)
	for i := range c.Structs {
		d.structure(&c.Structs[i])
	}
	if len(c.Notes) > 0 {
		d.section("notes")
		for _, n := range c.Notes {
			d.hang("  ", quote(n), plain)
		}
	}
	b := bufio.NewWriter(w)
	for _, l := range d.lines {
		b.WriteString(strings.TrimRight(l.render(&o), " "))
		b.WriteByte('\n')
	}
	return b.Flush()
}

func (d *page) catalogHead(c *diagnosis.Catalog) {
	release := "unknown"
	if c.Kernel != "" {
		release = quote(c.Kernel)
	}
	d.add("iowitness list · Linux "+release, bold)
	if c.Matched == 0 {
		return
	}
	d.hang("", countOf(c.Matched, "function")+", "+fmt.Sprintf("of which %d can never be probed", c.Refused), plain)
	if !c.Usable() {
		d.hang("", "nothing can be probed here:", plain)
	}
	for i := range c.Means {
		m := &c.Means[i]
		begin := fmt.Sprintf("  %-14s", m.ID)
		if m.Verdict == diagnosis.Usable {
			d.hang(begin, countOf(m.Functions, "function"), plain)
			continue
		}
		d.hang(begin, verdictWords[m.Verdict]+": "+quote(m.Reason), plain)
	}
}

func countOf(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// probeGroup are functions of which the same is to be said.
type probeGroup struct {
	title     string
	functions []*diagnosis.Probeable
}

// groupsOf keeps the order in which groups first come.
func groupsOf(c *diagnosis.Catalog) []*probeGroup {
	var groups []*probeGroup
	byTitle := map[string]*probeGroup{}
	usable := c.Usable()
	for i := range c.Functions {
		p := &c.Functions[i]
		title := probeTitle(p, usable)
		g := byTitle[title]
		if g == nil {
			g = &probeGroup{title: title}
			byTitle[title] = g
			groups = append(groups, g)
		}
		g.functions = append(g.functions, p)
	}
	return groups
}

// probeTitle says how a function can be probed and why not otherwise; what is said of a
// means as a whole stands in the head.
func probeTitle(p *diagnosis.Probeable, usable bool) string {
	var reasons []string
	byReason := map[string][]string{}
	free := 0
	for i := range p.Means {
		m := &p.Means[i]
		if m.Reason == "" || strings.HasSuffix(m.Reason, " is not usable here") {
			free++
			continue
		}
		if byReason[m.Reason] == nil {
			reasons = append(reasons, m.Reason)
		}
		byReason[m.Reason] = append(byReason[m.Reason], m.ID)
	}
	how := "by " + strings.Join(p.By(), ", ")
	switch {
	case len(p.By()) > 0:
	case free == 0 || usable:
		how = "not probed"
	default:
		how = "could be probed if a means worked here"
	}
	var against []string
	for _, r := range reasons {
		if len(byReason[r]) == len(p.Means) {
			return "not probed: " + quote(strings.TrimPrefix(r, "never probed: "))
		}
		against = append(against, "not "+strings.Join(byReason[r], ", ")+": "+quote(r))
	}
	if len(against) == 0 {
		return how
	}
	return how + "; " + strings.Join(against, "; ")
}

func (d *page) probeable(p *diagnosis.Probeable) {
	text := quote(p.Name)
	if p.Signature != "" {
		text = quote(p.Signature)
	}
	if p.Module != "" {
		text += " [" + quote(p.Module) + "]"
	}
	if len(p.Symbols) > 0 && p.Symbols[0] != p.Name {
		text += ", as " + quote(strings.Join(p.Symbols, ", "))
	}
	if p.Changed {
		text += ", its arguments may be changed: they are arg1 to arg6"
	}
	if len(p.NotSeen) > 0 {
		text += ", what runs by " + quote(strings.Join(p.NotSeen, ", ")) + " is not seen"
	}
	d.hang("  ", text, plain)
}

func (d *page) tracepoints(c *diagnosis.Catalog) {
	if len(c.Tracepoints) == 0 {
		return
	}
	d.section(countOf(len(c.Tracepoints), "tracepoint"))
	for i := range c.Tracepoints {
		t := &c.Tracepoints[i]
		text := quote(t.Name)
		if t.Group != "" {
			text = quote(t.Group) + ":" + text
		}
		if t.Arguments != nil {
			text += "(" + quote(declared(t.Arguments)) + ")"
		}
		d.hang("  ", text, plain)
		for _, f := range t.Fields {
			d.hang("    ", quote(f.Type+" "+f.Name), plain)
		}
	}
}

func declared(arguments []diagnosis.Typed) string {
	parts := make([]string, len(arguments))
	for i, a := range arguments {
		parts[i] = a.Type
		switch {
		case a.Name == "":
		case strings.HasSuffix(a.Type, "*"):
			parts[i] += a.Name
		default:
			parts[i] += " " + a.Name
		}
	}
	return strings.Join(parts, ", ")
}

func (d *page) structure(s *diagnosis.Struct) {
	d.section(fmt.Sprintf("%s of %s, %s", quote(s.Value), quote(s.Function), quote(s.Type)))
	widest := 0
	for _, m := range s.Members {
		widest = max(widest, min(columnsOf(quote(m.Path)), 40))
	}
	for _, m := range s.Members {
		kind := quote(m.Type)
		if m.Bits > 0 {
			kind += fmt.Sprintf(":%d", m.Bits)
		}
		d.hang("  "+pad(quote(m.Path), widest, false)+"  ", kind, plain)
	}
}
