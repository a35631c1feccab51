// SPDX-License-Identifier: Apache-2.0

package blktrace

import "time"

const maxNames = 1 << 16

// notes is what a recording has besides the actions on bios and requests.
type notes struct {
	names  map[uint32]string // of threads
	wall   time.Time
	wallAt uint64 // ns: when it was wall
}

// take says whether it was a note.
func (n *notes) take(t *trace) bool {
	switch t.action {
	case Process:
		if len(n.names) >= maxNames {
			clear(n.names)
		}
		n.names[t.task.TID] = t.task.Comm
	case Timestamp:
		if n.wall.IsZero() {
			n.wall, n.wallAt = t.wall, t.at
		}
	case Message:
	default:
		return false
	}
	return true
}

// name names the process of an action that has only its number.
func (n *notes) name(t *trace) {
	if t.task.Comm == "" {
		t.task.Comm = n.names[t.task.TID]
	}
}
