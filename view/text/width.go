// SPDX-License-Identifier: Apache-2.0

package text

import (
	"strings"

	"github.com/rivo/uniseg"

	"github.com/iowitness/iowitness/identity"
)

const ellipsis = "…"

// quote makes a name safe to show: every name passes through here.
func quote(raw string) string { return identity.Quote(raw) }

// columnsOf is the number of terminal columns that s takes.
func columnsOf(s string) int { return uniseg.StringWidth(s) }

// cut shortens s to a number of columns; 0 is no limit.
func cut(s string, columns int) string {
	if columns <= 0 || columnsOf(s) <= columns {
		return s
	}
	var b strings.Builder
	used, state := 0, -1
	for s != "" {
		var cluster string
		var width int
		cluster, s, width, state = uniseg.FirstGraphemeClusterInString(s, state)
		if used+width > columns-1 {
			break
		}
		b.WriteString(cluster)
		used += width
	}
	return b.String() + ellipsis
}

// fitPath shortens a path from the left, by whole components where it can, so
// that its end stays to be read; 0 is no limit.
func fitPath(path string, columns int) string {
	if columns <= 0 || columnsOf(path) <= columns {
		return path
	}
	last := path
	for i := 1; i < len(path); i++ {
		if path[i] != '/' {
			continue
		}
		last = ellipsis + path[i:]
		if columnsOf(last) <= columns {
			return last
		}
	}
	return cut(last, columns)
}

func pad(s string, columns int, right bool) string {
	space := strings.Repeat(" ", max(columns-columnsOf(s), 0))
	if right {
		return space + s
	}
	return s + space
}

// wrap breaks a text at spaces into lines of at most so many columns, later
// ones indented; 0 is no limit.
func wrap(s string, columns int) []string {
	if columns <= 0 || columnsOf(s) <= columns {
		return []string{s}
	}
	var lines []string
	line := ""
	for _, word := range strings.Split(s, " ") {
		switch {
		case line == "":
			line = word
		case columnsOf(line)+1+columnsOf(word) <= columns:
			line += " " + word
		default:
			lines = append(lines, cut(line, columns))
			line = wrapIndent(columns) + word
		}
	}
	return append(lines, cut(line, columns))
}

func wrapIndent(columns int) string {
	if columns < 40 {
		return ""
	}
	return "  "
}
