// SPDX-License-Identifier: Apache-2.0

package text

import (
	"fmt"
	"math"
	"time"

	"github.com/iowitness/iowitness/blame"
	"github.com/iowitness/iowitness/snapshot"
)

// sentenceFile bounds a path within a sentence, in columns.
const sentenceFile = 48

// Sentence names the process that waited most, and for what.
func Sentence(s *snapshot.Snapshot) string {
	l := s.Head.Largest
	switch {
	case l == nil && (s.Filtered || s.Scope != ""):
		return "nothing that was selected waited for I/O"
	case l == nil:
		return "nobody waited for I/O"
	case !l.Storage:
		return "nobody waited for storage; " + waitedHowLong(s, l) + forWhat(l) + ", which is no wait for storage"
	}
	text := waitedHowLong(s, l) + forWhat(l)
	if l.OtherNS > 0 {
		text += fmt.Sprintf("; %s%s more were not for storage", estimateMark(s), Duration(l.OtherNS))
	}
	return text
}

func waitedHowLong(s *snapshot.Snapshot, l *snapshot.Largest) string {
	total, wall := estimateMark(s)+Duration(l.Total), s.Wall
	name := processName(l.Top.Comm, l.Top.PID)
	if l.Threads > 1 && l.Total > uint64(wall) {
		return fmt.Sprintf("%s waited %s in %s with %s threads", name, total, period(wall), Count(uint64(l.Threads)))
	}
	return fmt.Sprintf("%s waited %s of %s", name, total, period(wall))
}

func period(wall time.Duration) string {
	if math.Abs(wall.Seconds()-1) < 0.05 {
		return "the last second"
	}
	if whole := wall.Round(time.Second); whole >= time.Second && whole < 100*time.Second && (wall-whole).Abs() < whole/20 {
		return fmt.Sprintf("the last %d s", whole/time.Second)
	}
	return "the last " + durationOf(wall)
}

func forWhat(l *snapshot.Largest) string {
	t := &l.Top
	text := ", "
	switch {
	case t.CauseNS < l.Total:
		if l.Sampled.Any {
			text += "about "
		}
		text += share(t.CauseNS, l.Total) + " for "
	default:
		text += "all of it for "
	}
	text += causeWords(t) + deviceWords(t) + inDeviceWords(&l.Row)
	if file := fileWords(t, sentenceFile); file != "" {
		if t.File != "" {
			file = "file " + file
		}
		text += ", " + file
	}
	if t.Cause == blame.Unattributed {
		text += " (no cause was looked for in these waits)"
	}
	return text
}
