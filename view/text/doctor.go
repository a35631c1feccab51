// SPDX-License-Identifier: Apache-2.0

package text

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/iowitness/iowitness/diagnosis"
)

// Doctor shows a diagnosis.
func Doctor(w io.Writer, r *diagnosis.Report, o Options) error {
	d := page{width: o.Width}
	d.head(r)
	d.means(r.Means)
	d.verbs(r.Verbs)
	d.functions(r.Functions)
	d.facts(r.Facts)
	if len(r.Notes) > 0 {
		d.section("notes")
		for _, n := range r.Notes {
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

// page is a report as it grows.
type page struct {
	width int
	lines []line
}

// add is for a line that may be as wide as the terminal.
func (d *page) add(text string, st style) {
	d.lines = append(d.lines, line{cut(text, d.width), st})
}

func (d *page) section(title string) {
	d.add("", plain)
	d.add(title, bold)
}

// leastHang is the room below which a text begins on a line of its own, and near the margin.
const leastHang = 24

// hang writes a text beside what begins its first line, broken within its own margin.
func (d *page) hang(first, text string, st style) {
	margin := columnsOf(first)
	room := d.width - margin
	if d.width > 0 && room < leastHang {
		if strings.TrimSpace(first) != "" {
			d.add(first, st)
		}
		margin = min(2, d.width/4)
		room, first = d.width-margin, strings.Repeat(" ", margin)
	}
	if d.width <= 0 {
		room = 0
	}
	for i, l := range wrap(text, room) {
		if i == 1 {
			first = strings.Repeat(" ", margin)
		}
		d.add(first+l, st)
	}
}

func (d *page) head(r *diagnosis.Report) {
	release := "unknown"
	if r.Kernel != "" {
		release = quote(r.Kernel)
	}
	d.add("iowitness doctor · Linux "+release, bold)
	var usable []string
	for i := range r.Means {
		m := &r.Means[i]
		if m.Verdict != diagnosis.Usable {
			continue
		}
		id := m.ID
		if m.Used {
			id += " (used)"
		}
		usable = append(usable, id)
	}
	if len(usable) == 0 {
		d.hang("", "nothing works here: waits cannot be witnessed", plain)
		return
	}
	d.hang("", "works here: "+strings.Join(usable, ", "), plain)
}

// verdictWords are as wide as one another, so that titles stand below each other.
var verdictWords = map[diagnosis.Verdict]string{
	diagnosis.Usable: "works", diagnosis.Unusable: "no", diagnosis.Untried: "?",
}

func (d *page) means(means []diagnosis.Means) {
	d.section("means, best first")
	for i := range means {
		m := &means[i]
		word := verdictWords[m.Verdict]
		if m.Used {
			word = "used"
		}
		begin := fmt.Sprintf("  %-10s %-5s  ", m.ID, word)
		margin := strings.Repeat(" ", columnsOf(begin))
		d.hang(begin, quote(m.Title), plain)
		if m.Reason != "" {
			d.hang(margin, quote(m.Reason), plain)
		} else if len(m.Loses) > 0 {
			d.hang(margin, "loses: "+quote(strings.Join(m.Loses, "; ")), dim)
		}
		for _, n := range m.Notes {
			d.hang(margin, "note: "+quote(n), plain)
		}
	}
}

func (d *page) verbs(verbs []diagnosis.Verb) {
	if len(verbs) == 0 {
		return
	}
	d.section("besides waits")
	for i := range verbs {
		v := &verbs[i]
		begin := fmt.Sprintf("  %-10s %-5s  ", v.ID, verdictWords[v.Verdict])
		margin := strings.Repeat(" ", columnsOf(begin))
		title := quote(v.Title)
		if v.Means != "" {
			title += " by " + quote(v.Means)
		}
		d.hang(begin, title, plain)
		if v.Reason != "" {
			d.hang(margin, quote(v.Reason), plain)
		}
		for _, n := range v.Notes {
			d.hang(margin, "note: "+quote(n), dim)
		}
	}
}

func (d *page) functions(functions []diagnosis.Function) {
	if len(functions) == 0 {
		return
	}
	d.section("functions, for the means by functions")
	any := false
	widest := 0
	for i := range functions {
		any = any || len(functions[i].Usable()) > 0
		widest = max(widest, columnsOf(quote(functions[i].Name)))
	}
	if !any {
		d.hang("  ", fmt.Sprintf("none of the %d can be witnessed here", len(functions)), plain)
	}
	for i := range functions {
		f := &functions[i]
		begin := "  " + pad(quote(f.Name), widest, false) + "  "
		if text := functionText(f, any); text != "" {
			d.hang(begin, text, plain)
		}
	}
}

// functionText says which means can witness a function, and why others cannot.
// Where no means by functions works at all, only what is special is told.
func functionText(f *diagnosis.Function, some bool) string {
	var parts []string
	if usable := f.Usable(); len(usable) > 0 {
		parts = append(parts, strings.Join(usable, ", "))
	}
	if f.Note != "" {
		parts = append(parts, quote(f.Note))
	}
	told := map[string]bool{f.Note: true}
	for _, m := range f.Means {
		if m.Reason == "" || told[m.Reason] || strings.HasSuffix(m.Reason, " is not usable here") {
			continue
		}
		told[m.Reason] = true
		parts = append(parts, "not "+m.ID+": "+quote(m.Reason))
	}
	if len(parts) == 0 && some {
		return "no"
	}
	return strings.Join(parts, "; ")
}

func (d *page) facts(facts []diagnosis.Fact) {
	d.section("facts")
	widest := 0
	for i := range diagnosis.FactTable {
		widest = max(widest, columnsOf(diagnosis.FactTable[i].Title))
	}
	for i := range facts {
		f := &facts[i]
		title := f.ID
		if described := diagnosis.FactByID(f.ID); described != nil {
			title = described.Title
		}
		text := factWords(f.Value)
		if f.Note != "" {
			text += " (" + quote(f.Note) + ")"
		}
		d.hang("  "+pad(title, widest, false)+"  ", text, plain)
	}
}

func factWords(value any) string {
	switch v := value.(type) {
	case nil:
		return "-"
	case string:
		return quote(v)
	case bool:
		if v {
			return "yes"
		}
		return "no"
	case int64:
		return strconv.FormatInt(v, 10)
	case []string:
		if len(v) == 0 {
			return "none"
		}
		return quote(strings.Join(v, ", "))
	}
	return fmt.Sprint(value)
}
