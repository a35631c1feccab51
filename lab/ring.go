// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"io"
	"os"
	"runtime"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The parts of io_uring's interface that a single read needs.
const (
	ringOffSQ      = 0
	ringOffSQEs    = 0x10000000
	ringGetEvents  = 1
	ringOpRead     = 22
	ringAsync      = 1 << 4 // by a worker, at once
	ringEntries    = 4
	ringEntrySize  = 64
	ringParamsSize = 120
)

// ring is one of io_uring's, for one read at a time.
type ring struct {
	fd                         uintptr
	queue, entries             []byte
	tail, array, head, results uint32 // where these are in queue
	mask                       uint32 // of an index into the results
}

func newRing() (*ring, error) {
	var params [ringParamsSize]byte
	fd, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, ringEntries, uintptr(unsafe.Pointer(&params[0])), 0)
	if errno != 0 {
		return nil, os.NewSyscallError("io_uring_setup", errno)
	}
	at := func(offset int) uint32 { return *(*uint32)(unsafe.Pointer(&params[offset])) }
	r := &ring{fd: fd, tail: at(40 + 4), array: at(40 + 24), head: at(80), results: at(80 + 20), mask: at(4) - 1}
	var err error
	if r.queue, err = unix.Mmap(int(fd), ringOffSQ, int(r.array)+ringEntries*4, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		return nil, err
	}
	r.entries, err = unix.Mmap(int(fd), ringOffSQEs, ringEntries*ringEntrySize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	return r, err
}

func (r *ring) word(at uint32) *uint32 { return (*uint32)(unsafe.Pointer(&r.queue[at])) }

// read submits a read and waits for its end.
func (r *ring) read(fd int, b []byte, at int64, flags byte) (n int, err error) {
	tail := *r.word(r.tail)
	slot := tail % ringEntries
	entry := r.entries[slot*ringEntrySize:]
	entry[0], entry[1] = ringOpRead, flags
	*(*int32)(unsafe.Pointer(&entry[4])) = int32(fd)
	*(*int64)(unsafe.Pointer(&entry[8])) = at
	*(*uint64)(unsafe.Pointer(&entry[16])) = uint64(uintptr(unsafe.Pointer(&b[0])))
	*(*uint32)(unsafe.Pointer(&entry[24])) = uint32(len(b))
	*r.word(r.array + slot*4) = slot
	*r.word(r.tail) = tail + 1
	for {
		_, _, errno := unix.Syscall6(unix.SYS_IO_URING_ENTER, r.fd, 1, 1, ringGetEvents, 0, 0)
		if errno == 0 {
			break
		}
		if errno != unix.EINTR {
			return 0, os.NewSyscallError("io_uring_enter", errno)
		}
	}
	head := *r.word(r.head)
	result := int32(*r.word(r.results + head&r.mask*16 + 8))
	*r.word(r.head) = head + 1
	if result < 0 {
		return 0, unix.Errno(-result)
	}
	return int(result), nil
}

// ringIdle submits a read of an empty pipe and waits for it: the kernel flags
// the thread as iowait though no storage is at work.
func ringIdle(t *Truth, a []string) error {
	ms, err := strconv.Atoi(a[0])
	if err != nil {
		return err
	}
	runtime.LockOSThread()
	r, err := newRing()
	if err != nil {
		return err
	}
	from, to, err := os.Pipe()
	if err != nil {
		return err
	}
	time.AfterFunc(time.Duration(ms)*time.Millisecond, func() { to.Write([]byte("x")) })
	return t.timed(func() error {
		_, err := r.read(int(from.Fd()), make([]byte, 1), 0, 0)
		return err
	})
}

func ringReads(t *Truth, a []string) error {
	fd, blocks, err := openBlocks(a[0], unix.O_RDONLY)
	if err != nil {
		return err
	}
	if err := unix.Fadvise(fd, 0, 0, unix.FADV_RANDOM); err != nil {
		return err
	}
	r, err := newRing()
	if err != nil {
		return err
	}
	b := make([]byte, 4096)
	return t.repeat(a[1], func(i int) error {
		n, err := r.read(fd, b, int64(i)*37%blocks*4096, ringAsync)
		if err == nil && n != len(b) {
			err = io.ErrUnexpectedEOF
		}
		return err
	})
}
