// SPDX-License-Identifier: Apache-2.0

package text

import (
	"fmt"
	"strings"

	"github.com/iowitness/iowitness/request"
)

// victim tells who had each disk while a process's requests to it were slow.
func (p *requestsPage) victim() {
	v := p.s.Victim
	if v == nil {
		return
	}
	if v.All == 0 {
		p.section("WHO HAD THE DEVICE")
		p.hang("  ", "no request of "+quote(v.Name)+" was seen: no thread of this pid or name made one", plain)
		return
	}
	p.section("WHO HAD THE DEVICE while " + processName(v.Comm, v.PID) + " was slow")
	p.hang("  ", fmt.Sprintf("%s of its %s were slow, %s or more", Count(v.Slow), plural(v.All, "request"), Duration(v.Least)), plain)
	for i := range v.Crowds {
		c := &v.Crowds[i]
		p.hang("  "+deviceName(p.names, c.Disk)+": ", fmt.Sprintf("%s in %s, at most %s: ", Duration(c.NS), plural(c.Waits, "wait"), Duration(c.Max))+crowdWords(c, v), plain)
	}
	if v.Unplaced > 0 {
		p.hang("  ", fmt.Sprintf("%s longer than what is remembered: of these only their end is told", plural(v.Unplaced, "wait")), bold)
	}
}

// crowdWords name those with most of a disk first, and the victim always.
func crowdWords(c *request.Crowd, victim *request.Suffering) string {
	var parts []string
	more, left := 0, 0.0
	for i := range c.Neighbours {
		n := &c.Neighbours[i]
		if len(parts) >= issuersTold && !n.Itself {
			more, left = more+1, left+n.Percent
			continue
		}
		who := processName(n.Comm, n.PID)
		switch {
		case n.Itself && n.PID == victim.PID:
			who = "itself"
		case n.PID == 0 && n.Comm == "":
			who = "not known"
		}
		parts = append(parts, fmt.Sprintf("%s %s%% (%s, %s)", who, Percent(n.Percent), plural(n.Requests, "request"), Bytes(n.Bytes)))
	}
	if more > 0 {
		parts = append(parts, fmt.Sprintf("%s more %s%%", Count(uint64(more)), Percent(left)))
	}
	return strings.Join(parts, ", ")
}
