// SPDX-License-Identifier: Apache-2.0

package text

import (
	"fmt"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/request"
)

// repeatsTold are those that are told in words; JSON has all.
const repeatsTold = 5

func (p *requestsPage) repeats() {
	for i := range min(len(p.s.Repeats), repeatsTold) {
		p.hang("  ", RepeatWords(&p.s.Repeats[i], p.names, p.s.Missed), plain)
	}
	if n := len(p.s.Repeats) - repeatsTold; n > 0 {
		p.hang("  ", Count(uint64(n))+" more who used the same blocks again and again", dim)
	}
}

// RepeatWords say who used the same blocks again and again. By missed a count may be too low.
func RepeatWords(r *request.Repeat, names request.Names, missed uint64) string {
	did := map[event.OpKind]string{event.KindRead: "read", event.KindWrite: "wrote"}[r.Op]
	times, least := Count(r.Least)+" times each", ""
	if r.Most != r.Least {
		times = Count(r.Least) + " to " + Count(r.Most) + " times"
	}
	if missed > 0 {
		least = "at least "
	}
	of := fmt.Sprintf("%s%s%% of the %ss of the disk", least, Percent(r.Share), r.Op)
	if path := r.Path(names); path != "" {
		of += ", file " + quote(path)
	}
	what := fmt.Sprintf("the same %s places (%s in all)", Count(r.Extents), Bytes(r.Bytes))
	if r.Extents == 1 {
		what = fmt.Sprintf("the same place (%s)", Bytes(r.Bytes))
	}
	return fmt.Sprintf("%s: %s %s %s %s%s: %s", deviceName(names, r.Disk), processName(r.Comm, r.PID), did, what, least, times, of)
}
