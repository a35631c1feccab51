// SPDX-License-Identifier: Apache-2.0

package text

import (
	"slices"
	"strings"

	"github.com/iowitness/iowitness/snapshot"
)

// maxRigid bounds columns that are as wide as their longest cell: a name of
// escape sequences may take four times its bytes.
const maxRigid = 24

// luxury is the priority below which a column goes before words get short.
const luxury = 60

// column is a field with its place in a table.
type column struct {
	*snapshot.Field
	natural int // what its cells take, without limit
	width   int // what it gets
}

// layout gives each column its width. Columns of low priority go first where
// the terminal is narrow; total 0 is no limit.
func layout(columns []column, total int) []column {
	if total <= 0 {
		for i := range columns {
			columns[i].width = columns[i].natural
		}
		return columns
	}
	for len(columns) > 1 {
		i := leastImportant(columns)
		if leastWidth(columns, total, columns[i].Priority < luxury) <= total {
			break
		}
		columns = slices.Delete(columns, i, i+1)
	}
	spread(columns, total)
	return columns
}

func gap(total int) int {
	if total > 0 && total < 100 {
		return 1
	}
	return 2
}

// least is what the column cannot do without, or twice that in comfort.
func (c *column) least(comfort bool) int {
	if c.Flex {
		return min(c.natural, c.Width*(1+btoi(comfort)))
	}
	return min(c.natural, maxRigid)
}

func leastWidth(columns []column, total int, comfort bool) int {
	sum := gap(total) * (len(columns) - 1)
	for i := range columns {
		sum += columns[i].least(comfort)
	}
	return sum
}

func leastImportant(columns []column) int {
	least := 0
	for i := range columns {
		if columns[i].Priority < columns[least].Priority {
			least = i
		}
	}
	return least
}

// spread shares the space that is left among the columns that can use it, evenly.
func spread(columns []column, total int) {
	left := total - leastWidth(columns, total, false)
	for i := range columns {
		columns[i].width = columns[i].least(false)
	}
	if left < 0 { // a single column wider than all there is
		columns[0].width = total
		return
	}
	for left > 0 {
		grown := false
		for i := len(columns) - 1; i >= 0 && left > 0; i-- {
			if c := &columns[i]; c.width < c.natural {
				c.width++
				left--
				grown = true
			}
		}
		if !grown {
			return
		}
	}
}

// join lays cells side by side. The last one is not padded.
func join(columns []column, cells []string, total int) string {
	var b strings.Builder
	for i, c := range columns {
		if i > 0 {
			b.WriteString(strings.Repeat(" ", gap(total)))
		}
		b.WriteString(pad(cells[i], c.width, c.Right))
	}
	return strings.TrimRight(b.String(), " ")
}
