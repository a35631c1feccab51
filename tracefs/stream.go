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

// decode reads the addresses; the declared size of the array is not that of the record.
func (s stackFormat) decode(record []byte) []uint64 {
	size, ok := s.size.Uint(record)
	if !ok || s.callers > len(record) {
		return nil
	}
	n := min(size, uint64(len(record)-s.callers)/8)
	stack := make([]uint64, 0, n)
	for at := s.callers; n > 0; n, at = n-1, at+8 {
		address := binary.NativeEndian.Uint64(record[at:])
		if address != trampoline && address != 0 {
			stack = append(stack, address)
		}
	}
	return stack
}

// stream is one CPU's buffer of one instance, in the order of time. It holds one
// page, and of it one event with its stack.
type stream struct {
	cpu    int
	file   io.ReadCloser
	layout Layout
	stacks stackFormat
	counts *Counts

	buf   []byte
	page  Page
	empty bool // the buffer had no more when last asked

	head   Record
	data   []byte // of head
	has    bool
	joined bool    // what follows head is known
	ahead  *Record // the event behind head, met in search of head's stack
	spare  []byte  // of ahead
}

// Counts is what a Reader has read and what was wrong with it.
type Counts struct {
	Bytes        uint64
	Records      uint64 // events, stacks not counted
	Stacks       uint64
	StrayStacks  uint64 // stacks whose event is missing
	Missed       uint64 // events overwritten before they were read, as far as told
	BrokenPages  uint64 // pages that could not be read to their end
	OutOfOrder   uint64 // events that came after younger ones had been told
	UnknownBegin uint64 // pages before which an unknown number of events is missing
}

func newStream(cpu int, file io.ReadCloser, layout Layout, stacks stackFormat, counts *Counts) *stream {
	return &stream{cpu: cpu, file: file, layout: layout, stacks: stacks, counts: counts, buf: make([]byte, layout.PageBytes())}
}

// fill makes head the next event, if there is one; empty is asked anew.
func (s *stream) fill() error {
	if s.has && s.joined {
		return nil
	}
	s.empty = false
	if s.has {
		return s.join()
	}
	if s.ahead != nil {
		s.head, s.ahead, s.has = *s.ahead, nil, true
		s.data, s.spare = s.spare, s.data
		return s.join()
	}
	for {
		time, record, ok, err := s.next()
		if err != nil || !ok {
			return err
		}
		if s.isStack(record) {
			s.counts.StrayStacks++
			continue
		}
		s.head, s.data = s.record(time, record, s.data)
		s.has = true
		return s.join()
	}
}

// join looks whether the next event is the stack of head.
func (s *stream) join() error {
	time, record, ok, err := s.next()
	s.joined = ok
	if err != nil || !ok {
		return err
	}
	if !s.isStack(record) {
		var ahead Record
		ahead, s.spare = s.record(time, record, s.spare)
		s.ahead = &ahead
		return nil
	}
	if !s.sameThread(record) {
		s.counts.StrayStacks++
		return nil
	}
	s.counts.Stacks++
	s.head.Stack = s.stacks.decode(record)
	return nil
}

// record copies an event, since its page's memory is used again.
func (s *stream) record(time uint64, record, into []byte) (Record, []byte) {
	into = append(into[:0], record...)
	return Record{Time: time, CPU: s.cpu, ID: eventID(record), Data: into}, into
}

func eventID(record []byte) uint16 {
	if len(record) < 2 {
		return 0
	}
	return binary.NativeEndian.Uint16(record)
}

func (s *stream) isStack(record []byte) bool {
	return s.stacks.id != 0 && eventID(record) == s.stacks.id
}

func (s *stream) sameThread(stack []byte) bool {
	a, okA := s.stacks.pid.Uint(s.head.Data)
	b, okB := s.stacks.pid.Uint(stack)
	return okA && okB && a == b
}

// next is the next entry of any kind, from the next page if need be; false when
// the buffer is empty.
func (s *stream) next() (time uint64, record []byte, ok bool, err error) {
	for {
		if time, record, ok = s.page.Next(); ok {
			return time, record, true, nil
		}
		if s.page.Err() != nil {
			s.counts.BrokenPages++
			s.page = Page{}
		}
		if s.empty {
			return 0, nil, false, nil
		}
		if ok, err := s.readPage(); err != nil || !ok {
			s.empty = true
			return 0, nil, false, err
		}
	}
}

func (s *stream) readPage() (bool, error) {
	n, err := s.file.Read(s.buf)
	if n == 0 {
		if err == nil || errors.Is(err, io.EOF) || errors.Is(err, unix.EAGAIN) {
			return false, nil
		}
		return false, err
	}
	s.counts.Bytes += uint64(n)
	page, err := s.layout.Page(s.buf[:n])
	if err != nil {
		s.counts.BrokenPages++
		return true, nil
	}
	s.counts.Missed += page.Missed
	if page.MissedUnknown {
		s.counts.UnknownBegin++
	}
	s.page = page
	return true, nil
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
