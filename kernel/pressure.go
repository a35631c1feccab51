// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Stall is one line of a pressure file.
type Stall struct {
	Avg10 float64       // percent of the last 10 s, the kernel's own average
	Total time.Duration // stalled since boot, in µs steps
}

// Pressure is the kernel's stall information for I/O (/proc/pressure/io).
type Pressure struct {
	Some Stall // at least one task was stalled
	Full Stall // all tasks that were not idle were stalled
}

// ReadPressure reads proc/pressure/io below root. ok is false where the kernel
// has none, or has it switched off (psi=0).
func ReadPressure(root string) (p Pressure, ok bool) {
	text, err := readText(root, "proc/pressure/io")
	if err != nil {
		return Pressure{}, false
	}
	p, err = ParsePressure(text)
	return p, err == nil
}

// ParsePressure reads the text of a /proc/pressure file.
func ParsePressure(text string) (Pressure, error) {
	var p Pressure
	lines := 0
	for line := range strings.Lines(text) {
		name, values, _ := strings.Cut(strings.TrimSpace(line), " ")
		stall, err := parseStall(values)
		if err != nil {
			return Pressure{}, err
		}
		switch name {
		case "some":
			p.Some = stall
		case "full":
			p.Full = stall
		default:
			continue
		}
		lines++
	}
	if lines == 0 {
		return Pressure{}, fmt.Errorf("the pressure file has neither a line \"some\" nor \"full\"")
	}
	return p, nil
}

func parseStall(values string) (Stall, error) {
	var s Stall
	for field := range strings.FieldsSeq(values) {
		key, value, _ := strings.Cut(field, "=")
		switch key {
		case "avg10":
			percent, err := strconv.ParseFloat(value, 64)
			if err != nil || !(percent >= 0 && percent <= 100) { // NaN too
				return Stall{}, fmt.Errorf("the pressure file's avg10 is no percentage: %q", value)
			}
			s.Avg10 = percent
		case "total":
			us, err := strconv.ParseUint(value, 10, 63)
			if err != nil || us > uint64(1<<63-1)/uint64(time.Microsecond) {
				return Stall{}, fmt.Errorf("the pressure file's total is no time in microseconds: %q", value)
			}
			s.Total = time.Duration(us) * time.Microsecond
		}
	}
	return s, nil
}

// Share is the part of the wall time between two readings that was stalled, in
// percent, 0 to 100.
func Share(prev, now Pressure, wall time.Duration) (some, full float64) {
	return stallShare(prev.Some, now.Some, wall), stallShare(prev.Full, now.Full, wall)
}

// stallShare clamps: the two readings and the wall clock are not of one instant.
func stallShare(prev, now Stall, wall time.Duration) float64 {
	if wall <= 0 {
		return 0
	}
	return max(0, min(100, 100*float64(now.Total-prev.Total)/float64(wall)))
}
