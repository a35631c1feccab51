// SPDX-License-Identifier: Apache-2.0

// Package text shows snapshots to a person: a table, a live screen, and the
// report about a command. It never writes a control character that a name holds.
package text

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// steps are the units of durations, from the smallest, with the number of ns in each.
var steps = []struct {
	unit string
	ns   float64
}{{"ns", 1}, {"µs", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"min", 60e9}}

// Duration tells ns nanoseconds with three significant digits and their unit.
// Seconds go up to 100, whence minutes take over.
func Duration(ns uint64) string {
	if ns < 1000 {
		return strconv.FormatUint(ns, 10) + " ns"
	}
	for i := 1; i < len(steps); i++ {
		limit := 999.5
		if steps[i].unit == "s" {
			limit = 99.95
		}
		if v := float64(ns) / steps[i].ns; v < limit || i == len(steps)-1 {
			return significant(v) + " " + steps[i].unit
		}
	}
	return ""
}

func durationOf(d time.Duration) string { return Duration(uint64(max(d, 0))) }

// significant is a positive number with three digits, and more before the point where it has them.
func significant(v float64) string {
	switch {
	case v < 9.995:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case v < 99.95:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return Count(uint64(v + 0.5))
}

// Count tells a number with separators between its thousands.
func Count(n uint64) string {
	digits := strconv.FormatUint(n, 10)
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return b.String()
}

// Percent tells a percentage without its sign. What is there is never told as 0.
func Percent(v float64) string {
	switch {
	case v > 0 && v < 0.05:
		return "<0.1"
	case v < 999.95:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return Count(uint64(v + 0.5))
}

// share is a percentage in running text: whole, with its sign, and 100 only where it is all.
func share(part, whole uint64) string {
	if whole == 0 {
		return "0%"
	}
	v := 100 * float64(part) / float64(whole)
	switch {
	case part > 0 && v < 1:
		return "<1%"
	case part < whole && v > 99:
		return ">99%"
	}
	return fmt.Sprintf("%.0f%%", v)
}

// Bytes tells a size in units of 1,024.
func Bytes(n uint64) string {
	if n < 1024 {
		return Count(n) + " B"
	}
	v := float64(n)
	for _, unit := range []string{"KiB", "MiB", "GiB"} {
		if v /= 1024; v < 1023.5 || unit == "GiB" {
			return significant(v) + " " + unit
		}
	}
	return ""
}
