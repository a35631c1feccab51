// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// notUnique is why a function cannot be probed by its name.
const notUnique = "several functions have that name, and the kernel cannot tell which is meant"

// leftOut are functions that are not witnessed, by the reason.
type leftOut struct {
	reasons []string
	names   map[string][]string
}

// refused takes a function in to which a means could not attach.
func (l *leftOut) refused(name string, err error) {
	why := strings.TrimSuffix(reason(err), ": "+os.ErrNotExist.Error())
	switch {
	case errors.Is(err, unix.EADDRNOTAVAIL):
		why = notUnique
	case errors.Is(err, os.ErrNotExist) && strings.Contains(why, "arch-specific fallback"):
		why = "the kernel finds nothing to probe by that name: it is freed after boot, or no function"
	}
	l.add(name, why)
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
