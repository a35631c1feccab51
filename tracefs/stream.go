// SPDX-License-Identifier: Apache-2.0

package tracefs

import (
	"encoding/binary"
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Record is one event, with the kernel stack that was taken at it.
type Record struct {
	Time  uint64 // ns, by the instance's clock
	CPU   int
	ID    uint16   // of its event's format
	Data  []byte   // as the format lays it out
	Stack []uint64 // innermost first; nil: none was taken
}

// stackFormat is where a kernel_stack event keeps its stack.
type stackFormat struct {
	id      uint16
	pid     Field
	size    Field
	callers int // offset of the first
}

// trampoline stands in a stack for code that the kernel made at run time.
const trampoline = ^uint64(0)

// decode reads the addresses into a stack that it may use; the declared size of the
// array is not that of the record.
func (s stackFormat) decode(record []byte, stack []uint64) []uint64 {
	size, ok := s.size.Uint(record)
	if !ok || s.callers > len(record) {
		return nil
	}
	stack = stack[:0]
	n := min(size, uint64(len(record)-s.callers)/8)
	for at := s.callers; n > 0; n, at = n-1, at+8 {
		address := binary.NativeEndian.Uint64(record[at:])
		if address != trampoline && address != 0 {
			stack = append(stack, address)
		}
	}
	return stack
}

// stream is one CPU's buffer of one instance, in the order of time: pages that were
// collected, and of the first of them the event that comes next, with its stack.
type stream struct {
	cpu    int
	file   io.ReadCloser
	stats  func() (CPUStats, error)
	layout Layout
	stacks stackFormat
	counts *Counts

	queue   [][]byte // pages collected, of which the first is being read
	free    [][]byte // pages read
	page    Page
	reading bool   // page is the first of the queue
	taken   int    // pages of the last collecting
	lost    uint64 // events lost, as last told by the kernel
	current entry  // not yet told
	follows entry  // the one behind it, met in search of its stack
	last    bool   // there was nothing behind current: its stack may still come
	room    []uint64
}

// entry is an event within a page, whose memory it shares.
type entry struct {
	time   uint64
	record []byte
	stack  []uint64
	ok     bool
}

func newStream(cpu int, file io.ReadCloser, layout Layout, stacks stackFormat, counts *Counts) *stream {
	return &stream{cpu: cpu, file: file, layout: layout, stacks: stacks, counts: counts}
}

// collect takes pages out of the kernel's buffer until it is empty, or so many: a
// writer that is as quick as we are must not keep us for ever.
func (s *stream) collect(limit int) error {
	for s.taken = 0; s.taken < limit; s.taken++ {
		b := s.blank()
		n, err := s.file.Read(b)
		if n == 0 {
			s.free = append(s.free, b)
			if err == nil || errors.Is(err, io.EOF) || errors.Is(err, unix.EAGAIN) {
				return nil
			}
			return err
		}
		s.counts.Bytes += uint64(n)
		s.queue = append(s.queue, b[:n])
	}
	return nil
}

// Pages kept for the next collecting; more are only needed in a flood.
const keepFree = 64

func (s *stream) blank() []byte {
	if last := len(s.free) - 1; last >= 0 {
		b := s.free[last]
		s.free = s.free[:last]
		return b[:cap(b)]
	}
	return make([]byte, s.layout.PageBytes())
}

// peek makes current the event that is next to be told, if there is one.
func (s *stream) peek() bool {
	if s.current.ok {
		if s.last {
			s.findStack()
		}
		return true
	}
	s.current, s.follows = s.follows, entry{}
	s.last = false
	for !s.current.ok {
		e := s.next()
		if !e.ok {
			return false
		}
		if s.isStack(e.record) {
			s.counts.StrayStacks++
			continue
		}
		s.current = e
	}
	s.findStack()
	return true
}

// findStack looks whether the next event is the stack of the current one.
func (s *stream) findStack() {
	e := s.next()
	s.last = !e.ok
	switch {
	case s.last:
	case !s.isStack(e.record):
		s.follows = e
	case !s.sameThread(e.record):
		s.counts.StrayStacks++
	default:
		s.counts.Stacks++
		s.room = s.stacks.decode(e.record, s.room)
		s.current.stack = s.room
	}
}

func (s *stream) isStack(record []byte) bool {
	return s.stacks.id != 0 && eventID(record) == s.stacks.id
}

func (s *stream) sameThread(stack []byte) bool {
	a, okA := s.stacks.pid.Uint(s.current.record)
	b, okB := s.stacks.pid.Uint(stack)
	return okA && okB && a == b
}

func eventID(record []byte) uint16 {
	if len(record) < 2 {
		return 0
	}
	return binary.NativeEndian.Uint16(record)
}

// next is the next entry of any kind. A page that was read stays in the queue until
// the next one is needed, since its entries share its memory: the current one is copied then.
func (s *stream) next() entry {
	for {
		if time, record, ok := s.page.Next(); ok {
			return entry{time: time, record: record, ok: true}
		}
		if s.page.Err() != nil {
			s.counts.BrokenPages++
			s.page = Page{}
		}
		if !s.turn() {
			return entry{}
		}
	}
}

// turn goes to the next page.
func (s *stream) turn() bool {
	if s.reading {
		s.current.record = append([]byte(nil), s.current.record...)
		if len(s.free) < keepFree {
			s.free = append(s.free, s.queue[0])
		}
		s.queue[0] = nil
		s.queue, s.reading = s.queue[1:], false
	}
	if len(s.queue) == 0 {
		s.queue = nil
		return false
	}
	s.reading = true
	page, err := s.layout.Page(s.queue[0])
	if err != nil {
		s.counts.BrokenPages++
		return true
	}
	s.counts.Missed += page.Missed
	if page.MissedUnknown {
		s.counts.UnknownBegin++
	}
	s.page = page
	return true
}

// lastBefore is the time of the last event collected that lies before an instant; 0: none.
func (s *stream) lastBefore(instant uint64) (last uint64) {
	look := func(time uint64) {
		if time < instant {
			last = max(last, time)
		}
	}
	if s.current.ok {
		look(s.current.time)
	}
	if s.follows.ok {
		look(s.follows.time)
	}
	rest := s.page
	for time, _, ok := rest.Next(); ok; time, _, ok = rest.Next() {
		look(time)
	}
	for i, b := range s.queue {
		if i == 0 && s.reading {
			continue
		}
		page, err := s.layout.Page(b)
		if err != nil {
			continue
		}
		for time, _, ok := page.Next(); ok; time, _, ok = page.Next() {
			look(time)
		}
	}
	return last
}

// rawFile reads without the runtime's poller: an empty buffer is told at once.
type rawFile struct {
	file *os.File
	fd   int
}

// newRawFile takes a file's descriptor without Fd, which would make it block.
func newRawFile(f *os.File) (rawFile, error) {
	r := rawFile{file: f}
	conn, err := f.SyscallConn()
	if err != nil {
		return r, err
	}
	err = conn.Control(func(fd uintptr) { r.fd = int(fd) })
	return r, errors.Join(err, unix.SetNonblock(r.fd, true))
}

func (r rawFile) Read(b []byte) (int, error) {
	for {
		n, err := unix.Read(r.fd, b)
		if !errors.Is(err, unix.EINTR) {
			return max(n, 0), err
		}
	}
}

func (r rawFile) Close() error { return r.file.Close() }
