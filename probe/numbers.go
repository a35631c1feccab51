// SPDX-License-Identifier: Apache-2.0

package probe

import "time"

// numbers are those of threads in the caller's pid namespace, by those that the kernel side tells.
type numbers struct {
	here   map[uint32]uint32 // nil: they are the same
	looked time.Time
}

// Bounds of looking through all threads for a number that is not known, and of what is remembered.
const (
	looksEvery = 10 * time.Millisecond
	maxNumbers = 1 << 17
)

// Number is how the caller's pid namespace numbers a thread or process that the kernel side tells
// of; 0: it is outside, or has ended before anybody asked. Those that have ended since keep theirs.
func (o *object) Number(id uint32) uint32 {
	n := &o.numbers
	if n.here == nil || id == 0 {
		return id
	}
	if here, known := n.here[id]; known || o.resolve == nil || time.Since(n.looked) < looksEvery {
		return here
	}
	o.look()
	return n.here[id]
}

// look takes note of the numbers of all threads that there are.
func (o *object) look() {
	n := &o.numbers
	n.looked = time.Now()
	seen, err := resolveIDs(o.resolve)
	if err != nil {
		return // they have no numbers until it is tried again
	}
	if len(n.here) > maxNumbers {
		clear(n.here)
	}
	for here, id := range seen.tid {
		n.here[id] = here
	}
}

// Renumbers says whether the caller's pid namespace has numbers of its own.
func (o *object) Renumbers() bool { return o.numbers.here != nil }
