// SPDX-License-Identifier: Apache-2.0

package text

import (
	"fmt"
	"strings"

	"github.com/iowitness/iowitness/blame"
	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/snapshot"
)

// joinLines tell, cause by cause, how waits divide by the requests that ended them, and the
// request of the longest.
func joinLines(r *snapshot.Row, width int) []line {
	p := page{width: width}
	for i := range r.Causes {
		if c := &r.Causes[i]; c.Joins.Waits > 0 {
			p.hang(indent, meanWords(c), dim)
			p.hang(indent+"  longest: ", longestWords(c), dim)
		}
	}
	return p.lines
}

// meanWords divide a cause's mean wait.
func meanWords(c *snapshot.CauseShare) string {
	j := &c.Joins
	s := fmt.Sprintf("%s, %s of %s joined", blame.Words(c.Cause, ""), Count(j.Waits), plural(c.Recorded, "recorded wait"))
	mean, ok := j.Mean()
	if !ok {
		return s + ": how long the device had the requests is not known"
	}
	return s + fmt.Sprintf(", these on average %s: ", Duration(mean.Before+mean.Queued+mean.Within)) + splitWords(mean, mostly(j.QueueTimed, j.Timed))
}

// splitWords tell the parts of a wait. Where queueing is not known, it is in what lies before.
func splitWords(s blame.Split, queueKnown bool) string {
	var parts []string
	part := func(ns uint64, where string) {
		if ns > 0 {
			parts = append(parts, Duration(ns)+where)
		}
	}
	if queueKnown {
		part(s.Before, " before the request was made")
		part(s.Queued, " queued")
	} else {
		part(s.Before+s.Queued, " before the device had the request")
	}
	return strings.Join(append(parts, Duration(s.Within)+" in the device"), comma)
}

// longestWords tell a cause's longest joined wait by its request.
func longestWords(c *snapshot.CauseShare) string {
	r, wait := c.Joins.Longest, c.Joins.LongestWait
	s := Duration(wait) + " for " + requestWords(&r, c.Device)
	if r.Device == 0 {
		return s
	}
	split := blame.SplitBy(wait, r)
	s += ": " + splitWords(split, r.Queue > 0)
	if split.Within < r.Device {
		s += fmt.Sprintf(" (of %s: it had it before the wait began)", Duration(r.Device))
	}
	return s
}

// requestWords name a request, such as "WS of 4.00 KiB at sector 12345 on nvme0n1" or
// "a flush (F) on vda1".
func requestWords(r *event.Request, device string) string {
	s := event.RWBS(r.Op)
	switch {
	case r.Kind() == event.KindFlush:
		s = "a flush (" + s + ")"
	case r.Bytes > 0:
		s += fmt.Sprintf(" of %s at sector %d", Bytes(uint64(r.Bytes)), r.Sector)
	default:
		s += fmt.Sprintf(" at sector %d", r.Sector)
	}
	if device != "" {
		s += " on " + quote(device)
	}
	return s
}

// joinedWords tell how many waits have their request.
func joinedWords(s *snapshot.Snapshot) []string {
	j := &s.Joined
	if !j.Can || j.Of == 0 {
		return nil
	}
	return []string{fmt.Sprintf("joined %s of %s to the request that ended them", Count(j.Joined), plural(j.Of, "recorded storage wait"))}
}

// inDeviceWords tell which share of the largest cause's waiting the device took, if that is
// known of nearly all that was recorded.
func inDeviceWords(r *snapshot.Row) string {
	if len(r.Causes) == 0 {
		return ""
	}
	c := &r.Causes[0]
	if _, ok := c.DevicePercent(); !ok || !mostly(c.Joins.Timed, c.Recorded) {
		return ""
	}
	return fmt.Sprintf(" (%s of that in the device)", share(c.Joins.Within, c.Joins.Blocked))
}
