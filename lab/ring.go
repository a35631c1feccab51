// SPDX-License-Identifier: Apache-2.0

package lab

import (
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
	ringEntrySize  = 64
	ringParamsSize = 120
)

// ringIdle submits a read of an empty pipe and waits for it: the kernel flags
// the thread as iowait though no storage is at work.
func ringIdle(t *Truth, a []string) error {
	ms, err := strconv.Atoi(a[0])
	if err != nil {
		return err
	}
	runtime.LockOSThread()
	var params [ringParamsSize]byte
	ring, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 4, uintptr(unsafe.Pointer(&params[0])), 0)
	if errno != 0 {
		return os.NewSyscallError("io_uring_setup", errno)
	}
	at := func(offset int) uint32 { return *(*uint32)(unsafe.Pointer(&params[offset])) }
	queue, err := unix.Mmap(int(ring), ringOffSQ, int(at(40+24))+4*4, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	entries, err := unix.Mmap(int(ring), ringOffSQEs, 4*ringEntrySize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	time.AfterFunc(time.Duration(ms)*time.Millisecond, func() { w.Write([]byte("x")) })
	b := make([]byte, 1)
	entries[0] = ringOpRead
	*(*int32)(unsafe.Pointer(&entries[4])) = int32(r.Fd())
	*(*uint64)(unsafe.Pointer(&entries[16])) = uint64(uintptr(unsafe.Pointer(&b[0])))
	*(*uint32)(unsafe.Pointer(&entries[24])) = 1
	*(*uint32)(unsafe.Pointer(&queue[at(40+24)])) = 0 // the array of submissions: entry 0 first
	*(*uint32)(unsafe.Pointer(&queue[at(40+4)]))++    // the tail
	return t.timed(func() error {
		for {
			_, _, errno := unix.Syscall6(unix.SYS_IO_URING_ENTER, ring, 1, 1, ringGetEvents, 0, 0)
			if errno == 0 {
				return nil
			}
			if errno != unix.EINTR {
				return os.NewSyscallError("io_uring_enter", errno)
			}
		}
	})
}
