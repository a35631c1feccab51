// SPDX-License-Identifier: Apache-2.0

package tracefs

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path"

	"golang.org/x/sys/unix"
)

// Reader reads the buffers of instances, all CPUs together, in the order of time.
// It is not safe for concurrent use.
type Reader struct {
	streams  []*stream
	capacity int       // pages of one buffer
	heap     []*stream // those with an event at hand, the oldest first
	record   Record    // being told
	latest   uint64    // time of the last event told
	counts   Counts
}

// Counts is what a Reader has read and what was wrong with it.
type Counts struct {
	Bytes        uint64
	Records      uint64 // events told, stacks not counted
	Stacks       uint64
	StrayStacks  uint64 // stacks whose event is missing
	Missed       uint64 // events overwritten before they were read, as far as told
	BrokenPages  uint64 // pages that could not be read to their end
	OutOfOrder   uint64 // events that came after younger ones had been told
	UnknownBegin uint64 // pages before which an unknown number of events is missing
}

// NewReader opens the buffers of some instances of one file system.
func (t *FS) NewReader(instances ...*Instance) (_ *Reader, err error) {
	layout, err := t.layout()
	if err != nil {
		return nil, err
	}
	stacks, err := t.stackFormat()
	if err != nil {
		return nil, err
	}
	r := &Reader{}
	for _, i := range instances {
		r.capacity = max(r.capacity, i.bufferKiB<<10/layout.PageBytes())
		if err := r.open(i, layout, stacks); err != nil {
			return nil, errors.Join(err, r.Close())
		}
	}
	return r, nil
}

func (r *Reader) open(i *Instance, layout Layout, stacks stackFormat) error {
	cpus, err := i.cpus()
	if err != nil {
		return err
	}
	for _, cpu := range cpus {
		name := path.Join(i.dir, "per_cpu", cpu.name, "trace_pipe_raw")
		f, err := i.fs.root.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
		if err != nil {
			return fmt.Errorf("the trace buffer of CPU %d: %w", cpu.number, err)
		}
		raw, err := newRawFile(f)
		if err != nil {
			return errors.Join(err, f.Close())
		}
		s := newStream(cpu.number, raw, layout, stacks, &r.counts)
		s.stats = func() (CPUStats, error) { return i.cpuStats(cpu) }
		r.streams = append(r.streams, s)
	}
	return nil
}

func (t *FS) layout() (Layout, error) {
	page, err := t.read("events/header_page")
	if err != nil {
		return Layout{}, err
	}
	entry, err := t.read("events/header_event")
	if err != nil {
		return Layout{}, err
	}
	if err := CheckEntryHead(entry); err != nil {
		return Layout{}, err
	}
	return ParseLayout(page)
}

// stackFormat reads where a kernel_stack event keeps its stack.
func (t *FS) stackFormat() (s stackFormat, err error) {
	f, err := t.Format("ftrace", "kernel_stack")
	if err != nil {
		return s, err
	}
	pid, hasPID := f.Field("common_pid")
	size, hasSize := f.Field("size")
	callers, hasCallers := f.Field("caller")
	if f.ID == 0 || !hasPID || !hasSize || !hasCallers {
		return s, errors.New("event ftrace:kernel_stack has other fields than iowitness reads")
	}
	return stackFormat{id: f.ID, pid: pid, size: size, callers: callers.Offset}, nil
}

// Collect takes all pages out of the kernel's buffers, and says how full the
// fullest one was, from 0 to 1. It does not wait: a reader that waits for data
// makes the kernel raise an interrupt for it, up to one an event.
func (r *Reader) Collect() (full float64, err error) {
	for _, s := range r.streams {
		if err := s.collect(r.capacity + 1); err != nil {
			return 0, fmt.Errorf("reading the trace buffer of CPU %d: %w", s.cpu, err)
		}
		full = max(full, float64(s.taken)/float64(max(r.capacity, 1)))
	}
	return min(full, 1), nil
}

// nearlyFull is how full a buffer must have been for events to be missing.
const nearlyFull = 0.5

// Lost asks the kernel how many events it has lost since this was last called,
// in the buffers that the last Collect, begun at an instant, found nearly full.
// Up to the instant whole nothing is missing: a full buffer takes nothing until it
// is read, so what it holds from before the Collect is what came before the loss.
func (r *Reader) Lost(begun uint64) (lost, whole uint64, err error) {
	whole = math.MaxUint64
	for _, s := range r.streams {
		if float64(s.taken) < nearlyFull*float64(r.capacity) {
			continue
		}
		stats, err := s.stats()
		if err != nil {
			return 0, 0, err
		}
		if grown := stats.Lost() - s.lost; grown > 0 {
			lost, s.lost = lost+grown, stats.Lost()
			whole = min(whole, s.lastBefore(begun))
		}
	}
	return lost, whole, nil
}

// Read tells all events collected up to an instant of the instances' clock, in the
// order of time across CPUs; younger ones are kept for later. An event is written
// some time after it has taken its stamp, so the instant should lie some
// microseconds before the Collect. What tell is given is only valid until it returns.
func (r *Reader) Read(until uint64, tell func(*Record)) {
	r.heap = r.heap[:0]
	for _, s := range r.streams {
		if s.peek() && s.current.time <= until {
			r.heap = append(r.heap, s)
			r.up(len(r.heap) - 1)
		}
	}
	for len(r.heap) > 0 {
		s := r.heap[0]
		r.record = Record{Time: s.current.time, CPU: s.cpu, ID: eventID(s.current.record), Data: s.current.record, Stack: s.current.stack}
		r.count()
		tell(&r.record)
		s.current = entry{}
		if !s.peek() || s.current.time > until {
			last := len(r.heap) - 1
			r.heap[0], r.heap = r.heap[last], r.heap[:last]
		}
		r.down()
	}
}

func (r *Reader) count() {
	r.counts.Records++
	if r.record.Time < r.latest {
		r.counts.OutOfOrder++
	}
	r.latest = max(r.latest, r.record.Time)
}

// Restart drops all that the buffers hold and all that was collected and not told:
// so many events. It also says how many events were lost of which Lost has not told.
// Nothing may be recorded meanwhile.
func (r *Reader) Restart() (dropped, lost uint64, err error) {
	before := r.counts
	if _, err := r.Collect(); err != nil {
		return 0, 0, err
	}
	r.Read(math.MaxUint64, func(*Record) { dropped++ })
	r.counts.Records, r.counts.OutOfOrder, r.latest = before.Records, before.OutOfOrder, 0
	for _, s := range r.streams {
		stats, err := s.stats()
		if err != nil {
			return dropped, lost, err
		}
		lost, s.lost = lost+stats.Lost()-s.lost, stats.Lost()
	}
	return dropped, lost, nil
}

func (r *Reader) older(i, j int) bool { return r.heap[i].current.time < r.heap[j].current.time }

func (r *Reader) up(i int) {
	for i > 0 && r.older(i, (i-1)/2) {
		r.heap[i], r.heap[(i-1)/2] = r.heap[(i-1)/2], r.heap[i]
		i = (i - 1) / 2
	}
}

func (r *Reader) down() {
	for i := 0; ; {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(r.heap); child++ {
			if r.older(child, least) {
				least = child
			}
		}
		if least == i {
			return
		}
		r.heap[i], r.heap[least] = r.heap[least], r.heap[i]
		i = least
	}
}

// Counts are those since the reader was opened.
func (r *Reader) Counts() Counts { return r.counts }

// Close closes the buffers' files.
func (r *Reader) Close() error {
	var errs []error
	for _, s := range r.streams {
		errs = append(errs, s.file.Close())
	}
	r.streams, r.heap = nil, nil
	return errors.Join(errs...)
}
