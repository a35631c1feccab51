// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"fmt"
	"io"
	"slices"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/kernel"
	"github.com/iowitness/iowitness/spelling"
	"github.com/iowitness/iowitness/tracefs"
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

// syscallPoints are both ends of a system call.
var syscallPoints = []Probe{
	{Group: "raw_syscalls", Point: "sys_enter", Programs: map[Means]string{RawTP: "error_enter", TP: "error_enter_tp"}},
	{Group: "raw_syscalls", Point: "sys_exit", Programs: map[Means]string{RawTP: "error_exit", TP: "error_exit_tp"}},
}

// syscallMeans are how system calls are witnessed, best first. Newer kernels let a thread be preempted
// within a program of a raw tracepoint, which all others on that CPU go past until it runs again:
// a good part of their calls. Not so within one of a plain tracepoint, which costs a little more.
func (w *Calls) syscallMeans() []Means {
	switch {
	case !w.options.Errors:
		return nil
	case kernel.Preemption("/") == kernel.Off:
		return []Means{RawTP}
	}
	return []Means{TP, RawTP}
}

// attachSyscalls attaches to system calls by the best means that works: what is left out is counted.
func (w *Calls) attachSyscalls() error {
	var refused error
	for _, via := range w.syscallMeans() {
		links, err := w.attachSyscallsBy(via)
		if err == nil {
			w.links = append(w.links, links...)
			return nil
		}
		refused = err
	}
	return refused
}

func (w *Calls) attachSyscallsBy(via Means) (links []io.Closer, err error) {
	var at *tracefs.FS
	if via == TP {
		if at, err = tracefs.Open("/"); err != nil {
			return nil, err
		}
		defer at.Close()
		if err := placeFields(at, syscallPoints, nil); err != nil {
			return nil, err
		}
	}
	for _, p := range syscallPoints {
		l, err := attachAs(at, p, w.collection.Programs[p.Programs[via]])
		if err != nil {
			for _, l := range links {
				l.Close()
			}
			return nil, fmt.Errorf("attaching to the tracepoint %s: %w", p.Point, err)
		}
		links = append(links, l)
	}
	return links, nil
}

// unseenErrors tells of all runs that were skipped those at functions' returns, which nothing else
// shows: no entry waits for them. An error may then have begun further in than at the first that was seen.
func (w *Calls) unseenErrors(skipped, missed uint64) ([]Loss, error) {
	ofReturns, err := skippedRuns(w.returnPrograms())
	others := RunStats{Misses: less(skipped, ofReturns)}
	return []Loss{
		{ID: "missed_run", Title: "returns of functions not seen, of whatever thread: an error may have begun further in than is told", Count: ofReturns + missed},
		others.skipped(),
	}, err
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
