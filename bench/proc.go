// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// tick is the unit of times in /proc, fixed in the kernel's interface.
const tick = 10 * time.Millisecond

// cpuTime is what all CPUs together have done nothing for, and how many they are.
type cpuTime struct {
	cpus    int
	at      time.Time
	waiting time.Duration // idle and iowait
	stolen  time.Duration
}

func readCPUTime() (cpuTime, error) {
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return cpuTime{}, err
	}
	t, err := parseCPUTime(string(b))
	t.at = time.Now()
	return t, err
}

func parseCPUTime(stat string) (t cpuTime, err error) {
	for line := range strings.Lines(stat) {
		fields := strings.Fields(line)
		if len(fields) < 9 || !strings.HasPrefix(fields[0], "cpu") {
			continue
		}
		if fields[0] != "cpu" {
			t.cpus++
			continue
		}
		for _, f := range []struct {
			index int
			sum   *time.Duration
		}{{4, &t.waiting}, {5, &t.waiting}, {8, &t.stolen}} {
			n, err := strconv.ParseUint(fields[f.index], 10, 63)
			if err != nil {
				return t, fmt.Errorf("/proc/stat: %w", err)
			}
			*f.sum += time.Duration(n) * tick
		}
	}
	if t.cpus == 0 {
		return t, fmt.Errorf("/proc/stat: no CPUs")
	}
	return t, nil
}

// busySince is all time but idle and iowait. It is taken from the clock, not from
// the sum of the busy ticks: when the CPUs are never idle it has no rounding.
// Guest time is in it once, and time stolen by the hypervisor is not ours.
func (t cpuTime) busySince(before cpuTime) time.Duration {
	all := t.at.Sub(before.at) * time.Duration(t.cpus)
	return all - (t.waiting - before.waiting) - (t.stolen - before.stolen)
}

// processClock is the CPU time of a process to the nanosecond.
func processClock(pid int) (time.Duration, error) {
	const scheduled = 2 // CPUCLOCK_SCHED, in the kernel's encoding of a process's clock
	var t unix.Timespec
	err := unix.ClockGettime(int32(^pid<<3|scheduled), &t)
	return time.Duration(t.Nano()), err
}

// userSystem splits a process's CPU time; the kernel tells it in ticks.
func userSystem(pid int) (user, system time.Duration, err error) {
	fields, err := statFields(pid)
	if err != nil {
		return 0, 0, err
	}
	u, errU := strconv.ParseUint(fields[11], 10, 63)
	s, errS := strconv.ParseUint(fields[12], 10, 63)
	if errU != nil || errS != nil {
		return 0, 0, fmt.Errorf("/proc/%d/stat: no times", pid)
	}
	return time.Duration(u) * tick, time.Duration(s) * tick, nil
}

// statFields are the fields after the command name, which may hold anything.
func statFields(pid int) ([]string, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil, err
	}
	_, after, ok := strings.Cut(string(b[max(strings.LastIndexByte(string(b), ')'), 0):]), ") ")
	fields := strings.Fields(after)
	if !ok || len(fields) < 20 {
		return nil, fmt.Errorf("/proc/%d/stat: not understood", pid)
	}
	return fields, nil
}

// children are the processes that a process has started, with their state.
func children(parent int) (map[int]byte, error) {
	entries, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil, err
	}
	found := map[int]byte{}
	for _, e := range entries {
		pid, err := strconv.Atoi(filepath.Base(e))
		if err != nil {
			continue
		}
		fields, err := statFields(pid)
		if err == nil && fields[1] == strconv.Itoa(parent) {
			found[pid] = fields[0][0]
		}
	}
	return found, nil
}

// statusNumber is a number in /proc/PID/status.
func statusNumber(pid int, key string) (uint64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	return findNumber(string(b), key)
}

func findNumber(text, key string) (uint64, error) {
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, key+":"); ok {
			if fields := strings.Fields(rest); len(fields) > 0 {
				return strconv.ParseUint(fields[0], 10, 64)
			}
		}
	}
	return 0, fmt.Errorf("no %s", key)
}
