// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"fmt"
	"strings"
)

// leftOut are functions that are not witnessed, by the reason.
type leftOut struct {
	reasons []string
	names   map[string][]string
}

func (l *leftOut) add(name, reason string) {
	if l.names == nil {
		l.names = map[string][]string{}
	}
	if l.names[reason] == nil {
		l.reasons = append(l.reasons, reason)
	}
	l.names[reason] = append(l.names[reason], name)
}

// notes are a sentence for each reason.
func (l *leftOut) notes() (notes []string) {
	for _, reason := range l.reasons {
		if names := l.names[reason]; len(names) == 1 {
			notes = append(notes, fmt.Sprintf("%s is not witnessed: %s", names[0], reason))
		} else {
			notes = append(notes, fmt.Sprintf("%d functions are not witnessed: %s: %s", len(names), reason, strings.Join(names, ", ")))
		}
	}
	return notes
}
