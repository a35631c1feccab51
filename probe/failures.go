// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"fmt"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/kernel"
)

// Bits of path_arguments in bpf/errors.h.
const (
	secondPathShift = 3
	pathAtEntry     = 64
)

// pathArguments says for each system call which of its arguments are paths, as bpf/errors.h wants it.
func pathArguments(wanted bool) (table [kernel.MaxSyscalls]uint8) {
	if !wanted {
		return table
	}
	for number := range table {
		first, second := kernel.PathArguments(int32(number))
		table[number] = uint8(first | second<<secondPathShift)
		if name := kernel.SyscallName(int32(number)); name == "execve" || name == "execveat" {
			table[number] |= pathAtEntry
		}
	}
	return table
}

// Failures are all system calls that failed since the start.
func (w *Calls) Failures() (map[event.FailureKey]event.FailureSum, error) {
	sums := map[event.FailureKey]event.FailureSum{}
	var key callFailedKey
	var sum callFailedSum
	all := w.collection.Maps["failed_sums"].Iterate()
	for all.Next(&key, &sum) {
		sums[event.FailureKey{Number: key.Number, Compat: key.Compat != 0, Errno: key.Error}] = event.FailureSum{Count: sum.Count, NS: sum.Ns}
	}
	if err := all.Err(); err != nil {
		return nil, fmt.Errorf("reading the sums of failed system calls: %w", err)
	}
	return sums, nil
}
