// SPDX-License-Identifier: Apache-2.0

package call

import "github.com/iowitness/iowitness/event"

// Since is what sums have grown by. The longest call of an interval is only known where
// it is the longest of all; else the histogram tells in which slot it is.
func Since(now, before map[event.CallKey]*event.CallSum) map[event.CallKey]*event.CallSum {
	grown := make(map[event.CallKey]*event.CallSum, len(now))
	for key, sum := range now {
		old := before[key]
		if old == nil {
			grown[key] = sum
			continue
		}
		if sum.Count == old.Count {
			continue
		}
		g := &event.CallSum{
			Count: sum.Count - old.Count, NS: sum.NS - old.NS, Inner: sum.Inner - min(old.Inner, sum.Inner), Errors: sum.Errors - old.Errors,
			Hist: sum.Hist.Since(old.Hist),
		}
		if sum.Max > old.Max {
			g.Max = sum.Max
		}
		grown[key] = g
	}
	return grown
}
