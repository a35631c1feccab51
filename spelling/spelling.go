// SPDX-License-Identifier: Apache-2.0

// Package spelling finds the names that were meant by one that does not exist.
package spelling

import (
	"fmt"
	"slices"
	"strings"
)

// longest bounds how much of a name is compared: it grows with the square.
const longest = 64

// offered is how many names a sentence offers.
const offered = 3

// Apart is how many letters must be changed, put in, left out or exchanged with their neighbour
// to make one name of the other, by their first 64 bytes.
func Apart(a, b string) int {
	a, b = a[:min(len(a), longest)], b[:min(len(b), longest)]
	var before [longest + 1]int
	row, above := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		copy(before[:], above)
		copy(above, row)
		row[0] = i + 1
		for j := range len(b) {
			change := above[j]
			if a[i] != b[j] {
				change++
			}
			row[j+1] = min(change, row[j]+1, above[j+1]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}

// slips is how many letters may be wrong in a name of some length.
func slips(length int) int { return max(length/3, 1) }

// Near are the names that may have been meant, the likeliest first: those that differ by few
// letters, or begin with what was written. Upper and lower case are alike.
func Near(written string, names []string) []string {
	text := strings.ToLower(strings.TrimSpace(written))
	var near []string
	for _, name := range names {
		lower := strings.ToLower(name)
		if text != "" && (strings.HasPrefix(lower, text) || Apart(text, lower) <= slips(len(name))) {
			near = append(near, name)
		}
	}
	return Sort(text, near)
}

// Sort puts names in order, those that differ least from what was written first, and drops
// doubles. A name that begins with it, or has it as its last word, goes before all.
func Sort(written string, names []string) []string {
	out := slices.Clone(names)
	slices.Sort(out)
	out = slices.Compact(out)
	apart := make(map[string]int, len(out))
	for _, name := range out {
		if !strings.HasPrefix(name, written) && !strings.HasSuffix(name, "_"+written) {
			apart[name] = Apart(written, name)
		}
	}
	slices.SortStableFunc(out, func(a, b string) int { return apart[a] - apart[b] })
	return out
}

// Unknown is the error for a name that is none of a closed set: what says so in words that go
// before the name; offered is what is near, or else all there is.
func Unknown(what, written string, names []string) error {
	if near := Near(written, names); len(near) > 0 {
		return fmt.Errorf("%s %q: did you mean %s?", what, written, strings.Join(near[:min(offered, len(near))], " or "))
	}
	return fmt.Errorf("%s %q: choose from %s", what, written, strings.Join(names, ", "))
}
