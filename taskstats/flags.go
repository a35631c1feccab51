// SPDX-License-Identifier: Apache-2.0

package taskstats

// flags remembers by the functions that threads sleep in whether the kernel calls
// it iowait there. That is a property of the code: a function calls io_schedule
// or it does not. So it holds for waits that go on, and for threads that the
// accounting does not cover.
type flags map[string]map[Flag]int

// of is what was learned; FlagUnknown where nothing was, or too little agrees.
func (f flags) of(w *Wait) Flag {
	seen := f[w.place]
	switch yes, no := seen[Flagged], seen[Unflagged]; {
	case w.place == "":
	case yes > 9*no:
		return Flagged
	case no > 9*yes:
		return Unflagged
	}
	return FlagUnknown
}

func (f flags) learn(w *Wait, flag Flag) {
	if w.place == "" || flag == FlagUnknown {
		return
	}
	if f[w.place] == nil {
		if len(f) >= maxKnown {
			clear(f)
		}
		f[w.place] = map[Flag]int{}
	}
	f[w.place][flag]++
}
