// SPDX-License-Identifier: Apache-2.0

package tracefs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

const instancesDir = "instances"

// Instance is a tracer of our own within the kernel: its buffers, switches and
// enabled events are nobody else's.
//
// Its dead-man's switch is the kernel's: whoever holds free_buffer open ends the
// tracing of the instance and shrinks its buffers when the file is closed, and
// the kernel closes it however the process dies. While the process is only
// stopped, the buffers fill and then take nothing more, since they do not
// overwrite. Either way a probe that is still hit returns before it has unwound or
// written anything. A second process to watch over the first could be killed
// with it, and would have to be found by whoever looks at what the machine runs.
type Instance struct {
	Name string

	fs        *FS
	dir       string
	bufferKiB int
	free      *os.File
}

// NewInstance makes an instance whose tracing is switched off, with buffers of so
// many KiB for each CPU that keep what is oldest when full, by CLOCK_MONOTONIC.
func (t *FS) NewInstance(name string, bufferKiB int) (*Instance, error) {
	i := &Instance{Name: name, fs: t, dir: path.Join(instancesDir, name), bufferKiB: bufferKiB}
	if err := i.make(); err != nil {
		return nil, fmt.Errorf("no trace instance of our own can be made: %w", err)
	}
	for _, set := range []struct{ file, value string }{
		{"tracing_on", "0"},
		{"options/disable_on_free", "1"},
		{"options/overwrite", "0"},
		{"trace_clock", "mono"},
		{"buffer_size_kb", strconv.Itoa(bufferKiB)},
	} {
		if err := i.Set(set.file, set.value); err != nil {
			return nil, errors.Join(fmt.Errorf("the trace instance's %s cannot be set to %s: %w", set.file, set.value, err), i.Close())
		}
	}
	return i, nil
}

// make makes the directory and takes hold of it: an instance that someone holds
// cannot be removed, so that is how the living are told from the left-overs.
// In between someone else's cleaning may have removed it: then once more.
func (i *Instance) make() error {
	for try := 0; ; try++ {
		if err := i.fs.root.Mkdir(i.dir, 0o750); err != nil {
			return err
		}
		f, err := i.fs.root.OpenFile(path.Join(i.dir, "free_buffer"), os.O_WRONLY, 0)
		if err == nil {
			i.free = f
			return nil
		}
		if try > 0 || !errors.Is(err, fs.ErrNotExist) {
			return errors.Join(err, i.fs.root.Remove(i.dir))
		}
	}
}

// Set writes a value into one of the instance's files.
func (i *Instance) Set(file, value string) error {
	return i.fs.write(path.Join(i.dir, file), value+"\n")
}

// Switch sets a file that takes 0 or 1.
func (i *Instance) Switch(file string, on bool) error {
	value := "0"
	if on {
		value = "1"
	}
	return i.Set(file, value)
}

// Trace opens or closes the gate: events stay enabled, but are not recorded.
func (i *Instance) Trace(on bool) error { return i.Switch("tracing_on", on) }

// Stacks switches whether each event is followed by the kernel stack.
func (i *Instance) Stacks(on bool) error { return i.Switch("options/stacktrace", on) }

// Enable enables or disables an event. A probe that no instance has enabled is
// not armed: it costs nothing.
func (i *Instance) Enable(group, event string, on bool) error {
	return i.Switch(path.Join(eventPath(group, event), "enable"), on)
}

// Filter has only those of an event's records told that meet a condition on its
// fields, in the kernel's own terms; "0" for all. Without an event, of all of a group.
func (i *Instance) Filter(group, event, condition string) error {
	return i.Set(path.Join(eventPath(group, event), "filter"), condition)
}

// OnlyThreads limits events to these threads, by the kernel's own numbers. With
// forks, also to their descendants from now on. Thread 0, that of idle CPUs,
// waits for nothing: to name it alone is to let nobody pass.
func (i *Instance) OnlyThreads(tids []uint32, forks bool) error {
	if err := i.Switch("options/event-fork", forks); err != nil {
		return err
	}
	return i.AddThreads(tids)
}

// AddThreads lets more threads pass.
func (i *Instance) AddThreads(tids []uint32) error {
	var text strings.Builder
	for _, tid := range tids {
		fmt.Fprintf(&text, "%d ", tid)
	}
	return i.Set("set_event_pid", strings.TrimSpace(text.String()))
}

// CPUStats is what the kernel counts of one CPU's buffer.
type CPUStats struct {
	Entries      uint64 // in the buffer
	Overrun      uint64 // events overwritten by younger ones
	CommitFailed uint64 // events that came while too many were being written
	Dropped      uint64 // events that found the buffer full
	Read         uint64 // events read
}

// Lost are all events that no reader will see.
func (s CPUStats) Lost() uint64 { return s.Overrun + s.CommitFailed + s.Dropped }

func (s CPUStats) plus(o CPUStats) CPUStats {
	return CPUStats{
		Entries: s.Entries + o.Entries, Overrun: s.Overrun + o.Overrun,
		CommitFailed: s.CommitFailed + o.CommitFailed, Dropped: s.Dropped + o.Dropped, Read: s.Read + o.Read,
	}
}

// Stats adds up the counts of all CPUs.
func (i *Instance) Stats() (sum CPUStats, err error) {
	cpus, err := i.cpus()
	if err != nil {
		return sum, err
	}
	for _, cpu := range cpus {
		one, err := i.cpuStats(cpu)
		if err != nil {
			return sum, err
		}
		sum = sum.plus(one)
	}
	return sum, nil
}

func (i *Instance) cpuStats(cpu cpuDir) (CPUStats, error) {
	text, err := i.fs.read(path.Join(i.dir, "per_cpu", cpu.name, "stats"))
	return parseStats(text), err
}

func parseStats(text string) (s CPUStats) {
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(line, ":")
		n, err := strconv.ParseUint(strings.TrimSpace(value), 10, 64)
		if err != nil {
			continue
		}
		switch name {
		case "entries":
			s.Entries = n
		case "overrun":
			s.Overrun = n
		case "commit overrun":
			s.CommitFailed = n
		case "dropped events":
			s.Dropped = n
		case "read events":
			s.Read = n
		}
	}
	return s
}

type cpuDir struct {
	number int
	name   string
}

// cpus are those that the machine can have: a buffer of one that is off is empty.
func (i *Instance) cpus() (cpus []cpuDir, err error) {
	entries, err := fs.ReadDir(i.fs.root.FS(), path.Join(i.dir, "per_cpu"))
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		digits, ok := strings.CutPrefix(e.Name(), "cpu")
		if n, isNumber := parseNumber(digits); ok && isNumber {
			cpus = append(cpus, cpuDir{n, e.Name()})
		}
	}
	if len(cpus) == 0 {
		return nil, fmt.Errorf("%s/per_cpu: no CPUs: %w", i.dir, fs.ErrNotExist)
	}
	return cpus, nil
}

// Close ends the tracing and removes the instance; its events are disabled
// thereby. Readers must be closed before.
func (i *Instance) Close() error {
	if i.free == nil {
		return nil
	}
	err := i.free.Close()
	i.free = nil
	return errors.Join(err, i.fs.removeInstance(i.Name))
}

// removeInstance removes an instance, and with it what it has enabled. unix.EBUSY
// says that someone holds a file of it open.
func (t *FS) removeInstance(name string) error {
	err := t.root.Remove(path.Join(instancesDir, name))
	switch {
	case errors.Is(err, unix.EBUSY):
		return unix.EBUSY
	case errors.Is(err, fs.ErrNotExist): // someone else's cleaning was quicker
		return nil
	}
	return err
}
