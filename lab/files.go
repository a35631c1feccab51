// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"errors"
	"runtime"
	"runtime/debug"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// FileCallBytes is what each read and write of the workload "files" moves: so much that
// the way into the kernel and out of it takes next to nothing of its time.
const FileCallBytes = 1 << 20

// fileCalls makes a known number of calls of each kind on one file, by raw system calls:
// file opens reads writes fsyncs. Before each fsync there is a write, of which writes is
// told the sum; one more open is made for all of them.
func fileCalls(t *Truth, a []string) error {
	runtime.LockOSThread()
	debug.SetGCPercent(-1)
	defer t.scheduled()()
	var n [4]int
	var errs []error
	for i := range n {
		var err error
		n[i], err = strconv.Atoi(a[i+1])
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	f := &calledFile{buffer: make([]byte, FileCallBytes), calls: map[string]*Calls{}}
	t.Calls = f.calls
	return f.run(a[0], n[0], n[1], n[2], n[3])
}

// calledFile is a file on which calls are counted.
type calledFile struct {
	fd     uintptr
	buffer []byte
	calls  map[string]*Calls
}

func (f *calledFile) run(path string, opens, reads, writes, syncs int) error {
	name, err := unix.BytePtrFromString(path)
	if err != nil {
		return err
	}
	open := func() (err error) {
		f.fd, err = f.call("open", unix.SYS_OPENAT, uintptr(dirFD), uintptr(unsafe.Pointer(name)), unix.O_RDWR|unix.O_CREAT, 0o644)
		return err
	}
	for range opens {
		if err := open(); err != nil {
			return err
		}
		unix.Close(int(f.fd))
	}
	if err := open(); err != nil {
		return err
	}
	buffer := uintptr(unsafe.Pointer(&f.buffer[0]))
	move := func(op string, number uintptr) error {
		n, err := f.call(op, number, f.fd, buffer, FileCallBytes, 0)
		f.calls[op].Bytes += int(n)
		return err
	}
	for range writes {
		if err := move("write", unix.SYS_PWRITE64); err != nil {
			return err
		}
	}
	for range reads {
		if err := move("read", unix.SYS_PREAD64); err != nil {
			return err
		}
	}
	for range syncs {
		if err := move("write", unix.SYS_PWRITE64); err != nil {
			return err
		}
		if _, err := f.call("fsync", unix.SYS_FSYNC, f.fd, 0, 0, 0); err != nil {
			return err
		}
	}
	return unix.Close(int(f.fd))
}

// dirFD is AT_FDCWD as an argument.
var dirFD = unix.AT_FDCWD

func (f *calledFile) call(op string, number, a, b, c, d uintptr) (uintptr, error) {
	start := monotonicNow()
	r, _, errno := unix.RawSyscall6(number, a, b, c, d, 0, 0)
	took := time.Duration(monotonicNow() - start)
	calls := f.calls[op]
	if calls == nil {
		calls = &Calls{}
		f.calls[op] = calls
	}
	calls.Count++
	calls.Total += took
	calls.Max = max(calls.Max, took)
	if errno != 0 {
		return 0, errno
	}
	return r, nil
}

// msyncAll writes to a mapping and synchronizes it, n times.
func msyncAll(t *Truth, a []string) error {
	runtime.LockOSThread()
	fd, err := unix.Open(a[0], unix.O_RDWR|unix.O_CREAT, 0o644)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.Ftruncate(fd, 4096); err != nil {
		return err
	}
	m, err := unix.Mmap(fd, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	defer unix.Munmap(m)
	return t.repeat(a[1], func(i int) error {
		m[i%4096]++
		return unix.Msync(m, unix.MS_SYNC)
	})
}
