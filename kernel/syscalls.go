// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"slices"
	"strings"
)

// MaxSyscalls bounds the system call numbers that tables cover.
const MaxSyscalls = 512

// syscallRun is names of system calls with consecutive numbers.
type syscallRun struct {
	first int
	names string // separated by spaces
}

var syscallNames, fdArguments = syscallTables(syscallRuns, fdCalls)

// syscallTables panics on a table that contradicts itself: a programming error.
func syscallTables(runs []syscallRun, calls map[string]uint8) (names [MaxSyscalls]string, fds [MaxSyscalls]uint8) {
	known := 0
	for _, run := range runs {
		for i, name := range strings.Fields(run.names) {
			names[run.first+i] = name
			fds[run.first+i] = calls[name]
			if calls[name] != 0 {
				known++
			}
		}
	}
	if len(runs) > 0 && known != len(calls) {
		panic("kernel: the table of file descriptor arguments names an unknown system call")
	}
	return names, fds
}

// SyscallName is the name of a system call of this architecture, e.g. "fsync"
// for 74 on amd64; "" if the number is not known, or the architecture has no table.
func SyscallName(number int32) string {
	if number < 0 || number >= MaxSyscalls {
		return ""
	}
	return syscallNames[number]
}

// FDArguments tells, by system call number, which argument (1 to 6; 0: none)
// is the descriptor of the file that the call does I/O on. A directory
// descriptor from which a path starts is not one. All zero on an architecture
// without a table.
func FDArguments() [MaxSyscalls]uint8 { return fdArguments }

// SyscallNumbers are the numbers of system calls by name; names that this
// architecture lacks, or has no table for, are left out.
func SyscallNumbers(names ...string) []int {
	var numbers []int
	for number, name := range syscallNames {
		if name != "" && slices.Contains(names, name) {
			numbers = append(numbers, number)
		}
	}
	return numbers
}
