// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// SelfCost is what this process costs the machine.
type SelfCost struct {
	CPU time.Duration // user and system time since its start
	RSS int64         // resident bytes now
}

// ReadSelfCost asks the kernel for this process's CPU time and reads its
// resident memory from proc/self/statm below root.
func ReadSelfCost(root string) (SelfCost, error) {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		return SelfCost{}, fmt.Errorf("the CPU time of iowitness itself cannot be read: %w", err)
	}
	cost := SelfCost{CPU: time.Duration(usage.Utime.Nano() + usage.Stime.Nano())}
	text, err := readText(root, "proc/self/statm")
	if err != nil {
		return cost, fmt.Errorf("the memory of iowitness itself cannot be read; is /proc mounted? %w", err)
	}
	pages, err := parseResident(text)
	cost.RSS = pages * int64(os.Getpagesize())
	return cost, err
}

// parseResident finds the resident pages: the second number of statm.
func parseResident(text string) (int64, error) {
	fields := strings.Fields(text)
	if len(fields) < 2 {
		return 0, fmt.Errorf("statm has %d numbers where at least 2 were expected", len(fields))
	}
	pages, err := strconv.ParseInt(fields[1], 10, 48)
	if err != nil || pages < 0 {
		return 0, fmt.Errorf("statm's resident size is no number of pages: %q", fields[1])
	}
	return pages, nil
}
