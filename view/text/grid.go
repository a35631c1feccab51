// SPDX-License-Identifier: Apache-2.0

package text

import (
	"slices"
	"strings"
)

// grid is a small table whose columns are as wide as their cells: text to the left,
// numbers to the right. Its first row are the titles.
type grid struct {
	width int      // of the terminal; 0: no limit
	less  []string // titles of the columns that go first where space is short
	text  []string // titles of columns that hold no numbers, beside textColumns
	rows  [][]string
}

func (g *grid) head(titles ...string) { g.row(titles...) }

func (g *grid) row(cells ...string) { g.rows = append(g.rows, cells) }

// minFlex is the width down to which the flexible column shrinks before others go.
const minFlex = 30

// lines lays out all rows. The cells of the flexible column, which is the last one, are
// paths or the like, cut from the left where space is short.
func (g *grid) lines(flex string) []line {
	for _, title := range g.less {
		if g.width <= 0 || g.least(flex) <= g.width {
			break
		}
		g.drop(title)
	}
	widths := g.widths()
	var lines []line
	for n, row := range g.rows {
		style := plain
		if n == 0 {
			style = bold
		}
		lines = append(lines, line{cut(g.join(row, widths, flex), g.width), style})
	}
	return lines
}

func (g *grid) join(row []string, widths []int, flex string) string {
	var b strings.Builder
	used := 0
	for i, cell := range row {
		if i > 0 {
			b.WriteString(strings.Repeat(" ", gap(g.width)))
			used += gap(g.width)
		}
		if g.rows[0][i] == flex && g.width > 0 {
			cell = fitPath(cell, max(g.width-used, 1))
		}
		b.WriteString(pad(cell, widths[i], g.right(i)))
		used += widths[i]
	}
	return strings.TrimRight(b.String(), " ")
}

func (g *grid) widths() []int {
	widths := make([]int, len(g.rows[0]))
	for _, row := range g.rows {
		for i, cell := range row {
			widths[i] = max(widths[i], columnsOf(cell))
		}
	}
	return widths
}

// least is the width that the table cannot do without.
func (g *grid) least(flex string) int {
	sum := gap(g.width) * (len(g.rows[0]) - 1)
	for i, w := range g.widths() {
		if g.rows[0][i] == flex {
			w = min(w, minFlex)
		}
		sum += w
	}
	return sum
}

func (g *grid) drop(title string) {
	i := slices.Index(g.rows[0], title)
	if i < 0 {
		return
	}
	for n := range g.rows {
		g.rows[n] = slices.Delete(g.rows[n], i, i+1)
	}
}

// textColumns are those that hold no numbers, by title.
var textColumns = []string{"", "CALL", "COMMAND", "MOSTLY", "FILE", "FUNCTION", "CALLED BY", "WHO", syncTitle, "MODULE", "PROCESS", "MOSTLY IN"}

func (g *grid) right(column int) bool {
	return !slices.Contains(textColumns, g.rows[0][column]) && !slices.Contains(g.text, g.rows[0][column])
}
