// SPDX-License-Identifier: Apache-2.0

package blame

import (
	"fmt"
	"strings"

	"github.com/iowitness/iowitness/spelling"
)

// ParseCause finds a cause by its id. The error offers ids that are near.
func ParseCause(id string) (Cause, error) {
	for _, c := range Causes() {
		if c.ID() == id {
			return c, nil
		}
	}
	near := nearIDs(strings.ToLower(strings.TrimSpace(id)))
	if len(near) == 0 {
		return Unknown, fmt.Errorf("unknown cause %q; the causes are %s", id, strings.Join(allIDs(), ", "))
	}
	return Unknown, fmt.Errorf("unknown cause %q; did you mean %s?", id, strings.Join(near, " or "))
}

func allIDs() []string {
	var ids []string
	for _, c := range Causes() {
		ids = append(ids, c.ID())
	}
	return ids
}

// nearIDs gives the ids that differ by a slip of typing, else those that share a
// word, or that people call by this word.
func nearIDs(text string) []string {
	text = strings.NewReplacer("-", "_", " ", "_").Replace(text)
	var slips, related []string
	for _, c := range Causes() {
		switch {
		case spelling.Apart(text, c.ID()) <= 1+len(c.ID())/8:
			slips = append(slips, c.ID())
		case text != "" && len(text) <= 64 && sharesWord(text, c):
			related = append(related, c.ID())
		}
	}
	if len(slips) > 0 {
		return slips
	}
	return related
}

// sharesWord compares words of at least three letters: with those of the id, and
// with the other names the cause goes by.
func sharesWord(text string, c Cause) bool {
	names := strings.Split(c.ID(), "_")
	names = append(names, strings.Fields(c.about().aka)...)
	for word := range strings.SplitSeq(text, "_") {
		for _, name := range names {
			if len(word) >= 3 && (strings.HasPrefix(name, word) || name != "" && len(name) >= 3 && strings.HasPrefix(word, name)) {
				return true
			}
		}
	}
	return false
}
