// SPDX-License-Identifier: Apache-2.0

package tracefs

import (
	"errors"
	"fmt"
	"os"
	"path"

	"golang.org/x/sys/unix"
)

// Reader reads the buffers of instances, all CPUs together, in the order of time.
// It is not safe for concurrent use.
type Reader struct {
	streams []*stream
	heap    []*stream // those with an event at hand, the oldest first
	latest  uint64    // time of the last event told
	counts  Counts
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
		r.streams = append(r.streams, newStream(cpu.number, raw, layout, stacks, &r.counts))
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
		return s, fmt.Errorf("event ftrace:kernel_stack has other fields than iowitness reads")
	}
	return stackFormat{id: f.ID, pid: pid, size: size, callers: callers.Offset}, nil
}

// Read tells all events up to an instant of the instances' clock, in the order of
// time across CPUs; younger ones are kept for later. An event is written some
// time after it has taken its stamp, so the instant should lie some
// microseconds back when Read is called. What tell is given is only valid until it returns.
func (r *Reader) Read(until uint64, tell func(*Record)) error {
	r.heap = r.heap[:0]
	for _, s := range r.streams {
		if err := s.fill(); err != nil {
			return fmt.Errorf("reading the trace buffer of CPU %d: %w", s.cpu, err)
		}
		if s.has && s.head.Time <= until {
			r.heap = append(r.heap, s)
			r.up(len(r.heap) - 1)
		}
	}
	for len(r.heap) > 0 {
		s := r.heap[0]
		r.count(&s.head)
		tell(&s.head)
		s.has = false
		if err := s.fill(); err != nil {
			return fmt.Errorf("reading the trace buffer of CPU %d: %w", s.cpu, err)
		}
		if !s.has || s.head.Time > until {
			last := len(r.heap) - 1
			r.heap[0], r.heap = r.heap[last], r.heap[:last]
		}
		r.down()
	}
	return nil
}

func (r *Reader) count(record *Record) {
	r.counts.Records++
	if record.Time < r.latest {
		r.counts.OutOfOrder++
	}
	r.latest = max(r.latest, record.Time)
}

func (r *Reader) older(i, j int) bool { return r.heap[i].head.Time < r.heap[j].head.Time }

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
