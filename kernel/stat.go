// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"fmt"
	"strconv"
	"strings"
)

// Stat is the CPU time of all CPUs together since boot, by state, in ticks of
// 1/100 s (proc_stat(5)). Guest time is part of User and Nice.
type Stat struct {
	User, Nice, System, Idle, IOWait, IRQ, SoftIRQ, Steal uint64

	CPUs     int    // online CPUs
	Switches uint64 // context switches of all CPUs since boot
}

// ReadStat reads proc/stat below root.
func ReadStat(root string) (Stat, error) {
	text, err := readText(root, "proc/stat")
	if err != nil {
		return Stat{}, fmt.Errorf("the CPU times, and with them the kernel's own iowait, cannot be read; is /proc mounted? %w", err)
	}
	return ParseStat(text)
}

// ParseStat reads the text of /proc/stat.
func ParseStat(text string) (Stat, error) {
	var s Stat
	found := false
	for line := range strings.Lines(text) {
		name, values, _ := strings.Cut(line, " ")
		if name == "ctxt" {
			s.Switches, _ = strconv.ParseUint(strings.TrimSpace(values), 10, 64)
			break // nothing of interest follows
		}
		if !strings.HasPrefix(name, "cpu") {
			continue
		}
		if name != "cpu" {
			s.CPUs++
			continue
		}
		if err := s.parseTimes(values); err != nil {
			return Stat{}, err
		}
		found = true
	}
	if !found {
		return Stat{}, fmt.Errorf("/proc/stat has no line for all CPUs")
	}
	return s, nil
}

// ReadStatOfCPUs reads the times of each CPU that is online from proc/stat below root; of a Stat only
// the times are known.
func ReadStatOfCPUs(root string) (map[int]Stat, error) {
	text, err := readText(root, "proc/stat")
	if err != nil {
		return nil, err
	}
	return ParseStatOfCPUs(text)
}

// ParseStatOfCPUs reads the text of /proc/stat.
func ParseStatOfCPUs(text string) (map[int]Stat, error) {
	cpus := map[int]Stat{}
	for line := range strings.Lines(text) {
		name, values, _ := strings.Cut(line, " ")
		number, isCPU := strings.CutPrefix(name, "cpu")
		if !isCPU {
			break // they come first
		}
		if number == "" {
			continue // all together
		}
		cpu, err := strconv.ParseUint(number, 10, 31)
		if err != nil {
			return nil, fmt.Errorf("/proc/stat holds a CPU whose number is none: %q", name)
		}
		var s Stat
		if err := s.parseTimes(values); err != nil {
			return nil, err
		}
		cpus[int(cpu)] = s
	}
	return cpus, nil
}

// parseTimes accepts fewer values, as old kernels lack the last ones.
func (s *Stat) parseTimes(values string) error {
	states := s.states()
	fields := strings.Fields(values)
	if len(fields) < 5 {
		return fmt.Errorf("/proc/stat has %d CPU times where at least 5 were expected", len(fields))
	}
	for i := range min(len(fields), len(states)) {
		n, err := strconv.ParseUint(fields[i], 10, 64)
		if err != nil {
			return fmt.Errorf("/proc/stat holds a CPU time that is no number: %q", fields[i])
		}
		*states[i] = n
	}
	return nil
}

func (s *Stat) states() [8]*uint64 {
	return [8]*uint64{&s.User, &s.Nice, &s.System, &s.Idle, &s.IOWait, &s.IRQ, &s.SoftIRQ, &s.Steal}
}

// Sub is the time in each state since prev. A state whose counter went
// backwards counts as zero, and backwards is true.
func (s Stat) Sub(prev Stat) (passed Stat, backwards bool) {
	passed = Stat{CPUs: s.CPUs}
	to, now, then := passed.states(), s.states(), prev.states()
	for i := range to {
		if *now[i] < *then[i] {
			backwards = true
			continue
		}
		*to[i] = *now[i] - *then[i]
	}
	return passed, backwards
}

// Total is the time in all states, in ticks.
func (s Stat) Total() uint64 {
	total := uint64(0)
	for _, state := range s.states() {
		total += *state
	}
	return total
}

// IOWaitPercent is the share of all CPUs' time between two readings that the
// kernel calls iowait, 0 to 100. The kernel's iowait and idle counters may go
// backwards; then that share is a floor and backwards is true.
func IOWaitPercent(prev, now Stat) (percent float64, backwards bool) {
	passed, backwards := now.Sub(prev)
	total := 0.0 // not Total, whose sum could overflow on counters that make no sense
	for _, state := range passed.states() {
		total += float64(*state)
	}
	if total == 0 {
		return 0, backwards
	}
	return 100 * float64(passed.IOWait) / total, backwards
}
