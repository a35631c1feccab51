// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"fmt"
	"slices"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/kernel"
	"github.com/iowitness/iowitness/spelling"
)

// NoFunctions has only system calls and signals witnessed.
const NoFunctions Means = "none"

// errorMeans are the means of witnessing where errors begin. Tracefs is none of them: it
// cannot tell errors from results.
var errorMeans = append(slices.Clone(callMeans), NoFunctions)

// ParseErrorMeans reads the id of a means of witnessing where errors begin.
func ParseErrorMeans(id string) (Means, error) {
	if slices.Contains(errorMeans, Means(id)) {
		return Means(id), nil
	}
	return "", spelling.Unknown("errors are not witnessed by", id, meansIDs(errorMeans))
}

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
