// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// report is all that was measured, and on what.
type report struct {
	Facts    []fact     `json:"facts"`
	Sections []*section `json:"sections"`
}

// section is what one part has measured.
type section struct {
	ID      string   `json:"id"`
	Title   string   `json:"title"`
	Took    string   `json:"took"`
	Columns []string `json:"columns"` // of the values; a row's name comes before, its bar after
	Rows    []row    `json:"rows"`
	Notes   []string `json:"notes"`
}

// row is one thing measured.
type row struct {
	Name   string    `json:"name"`
	Values []measure `json:"values"`
	Bar    *bar      `json:"bar,omitempty"`
}

// bar is what was promised, and whether it was kept.
type bar struct {
	Promise string `json:"promise"`
	Met     bool   `json:"met"`
}

func (b *bar) String() string {
	switch {
	case b == nil:
		return ""
	case b.Met:
		return b.Promise + ": met"
	}
	return b.Promise + ": MISSED"
}

func (s *section) note(format string, args ...any) {
	s.Notes = append(s.Notes, fmt.Sprintf(format, args...))
}

func (s *section) add(name string, b *bar, values ...measure) {
	s.Rows = append(s.Rows, row{name, values, b})
}

// table is the section as text, with a head; a bar's column only where there is one.
func (s *section) table() [][]string {
	barred := slices.ContainsFunc(s.Rows, func(r row) bool { return r.Bar != nil })
	lines := [][]string{append([]string{"measured"}, s.Columns...)}
	for _, r := range s.Rows {
		line := []string{r.Name}
		for i := range s.Columns {
			line = append(line, r.value(i).String())
		}
		lines = append(lines, line)
	}
	for i := range lines {
		switch {
		case !barred:
		case i == 0:
			lines[i] = append(lines[i], "bar")
		default:
			lines[i] = append(lines[i], s.Rows[i-1].Bar.String())
		}
	}
	return lines
}

// value is a row's value in a column, or an empty one.
func (r *row) value(column int) measure {
	if column < len(r.Values) {
		return r.Values[column]
	}
	return measure{}
}

// writeText prints the sections one below the other.
func writeText(w io.Writer, r *report) error {
	var b strings.Builder
	for _, f := range r.Facts {
		fmt.Fprintf(&b, "%s: %s\n", f.Name, f.Value)
	}
	for _, s := range r.Sections {
		fmt.Fprintf(&b, "\n%s: %s (took %s)\n", s.ID, s.Title, s.Took)
		if len(s.Rows) > 0 {
			writeLines(&b, s.table())
		}
		for _, n := range s.Notes {
			fmt.Fprintf(&b, "  * %s\n", n)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func writeLines(b *strings.Builder, lines [][]string) {
	widths := make([]int, len(lines[0]))
	for _, line := range lines {
		for i, cell := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, line := range lines {
		var text strings.Builder
		for i, cell := range line {
			text.WriteString("  " + cell + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)))
		}
		b.WriteString(strings.TrimRight(text.String(), " ") + "\n")
	}
}

// writeMarkdown prints a table for each section.
func writeMarkdown(w io.Writer, r *report) error {
	var b strings.Builder
	for _, f := range r.Facts {
		fmt.Fprintf(&b, "* %s: %s\n", f.Name, escape(f.Value))
	}
	for _, s := range r.Sections {
		fmt.Fprintf(&b, "\n## %s: %s\n", s.ID, s.Title)
		if len(s.Rows) > 0 {
			b.WriteString("\n")
		}
		for i, line := range s.table() {
			if len(s.Rows) == 0 {
				break
			}
			for j := range line {
				line[j] = escape(line[j])
			}
			fmt.Fprintf(&b, "| %s |\n", strings.Join(line, " | "))
			if i == 0 {
				b.WriteString("|---|" + strings.Repeat("---:|", len(s.Columns)) + strings.Repeat("---|", len(line)-1-len(s.Columns)) + "\n")
			}
		}
		if len(s.Notes) > 0 {
			b.WriteString("\n")
		}
		for _, n := range s.Notes {
			fmt.Fprintf(&b, "* %s\n", escape(n))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

var escapes = strings.NewReplacer("|", `\|`, "<", "&lt;", "*", `\*`)

func escape(s string) string { return escapes.Replace(s) }

func writeJSON(w io.Writer, r *report) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(r)
}
