// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// blkraset is BLKRASET: it sets a block device's read-ahead, in sectors.
const blkraset = 0x1262

// countedReads reads pages of a block device on many threads, each page once, and
// tells how often the threads were switched out for it: device threads n
// direct|buffered. All begin at the same time.
func countedReads(t *Truth, a []string) error {
	threads, err1 := strconv.Atoi(a[1])
	n, err2 := strconv.Atoi(a[2])
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	// A thread keeps its processor of the Go runtime while it sleeps, so that
	// nothing but the read itself makes it sleep.
	runtime.GOMAXPROCS(threads + 2)
	debug.SetGCPercent(-1)
	readers := make([]countedReader, threads)
	errs := make([]error, threads)
	var ready, all sync.WaitGroup
	ready.Add(threads)
	for i := range readers {
		r := &readers[i]
		all.Go(func() {
			runtime.LockOSThread()
			errs[i] = r.open(a[0], a[3])
			ready.Done()
			ready.Wait()
			for k := 0; k < n && errs[i] == nil; k++ {
				errs[i] = r.read(int64(k*threads+i) % r.blocks * 4096)
			}
		})
	}
	all.Wait()
	for i := range readers {
		t.add(&readers[i].truth)
	}
	return errors.Join(errs...)
}

// add sums up what threads know of themselves.
func (t *Truth) add(one *Truth) {
	t.Ops += one.Ops
	t.Slept += one.Slept
	t.Switches += one.Switches
	t.Total += one.Total
	t.Max = max(t.Max, one.Max)
}

type countedReader struct {
	truth  Truth
	fd     int
	blocks int64
	buffer []byte
}

func (r *countedReader) open(path, how string) (err error) {
	flags := map[string]int{"direct": unix.O_RDONLY | unix.O_DIRECT, "buffered": unix.O_RDONLY}
	flag, ok := flags[how]
	if !ok {
		return fmt.Errorf("reads are direct or buffered, not %q", how)
	}
	if r.fd, r.blocks, err = openBlocks(path, flag); err != nil {
		return err
	}
	if how == "buffered" {
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(r.fd), blkraset, 0); errno != 0 {
			return fmt.Errorf("read-ahead of %s: %w", path, errno)
		}
		if err := unix.Fadvise(r.fd, 0, 0, unix.FADV_RANDOM); err != nil {
			return err
		}
	}
	r.buffer = aligned(4096)
	return nil
}

// read reads a page. From the first count of switches to the second there are only
// raw system calls: the Go runtime cannot take the thread off its goroutine there.
func (r *countedReader) read(at int64) error {
	before := switches()
	start := monotonicNow()
	n, _, errno := unix.RawSyscall6(unix.SYS_PREAD64, uintptr(r.fd), uintptr(unsafe.Pointer(&r.buffer[0])), uintptr(len(r.buffer)), uintptr(at), 0, 0)
	took := time.Duration(monotonicNow() - start)
	slept := switches() - before
	if errno != 0 {
		return errno
	}
	if int(n) != len(r.buffer) {
		return fmt.Errorf("read %d bytes of %d at %d", n, len(r.buffer), at)
	}
	r.truth.Ops++
	r.truth.gaveUp(slept)
	r.truth.Total += took
	r.truth.Max = max(r.truth.Max, took)
	return nil
}

// gaveUp adds how often the thread gave up its CPU in an operation.
func (t *Truth) gaveUp(switches int64) {
	t.Switches += int(switches)
	if switches > 0 {
		t.Slept++
	}
}

// switches is how often this thread gave up its CPU by itself.
//
//go:nosplit
func switches() int64 {
	var usage unix.Rusage
	unix.RawSyscall(unix.SYS_GETRUSAGE, unix.RUSAGE_THREAD, uintptr(unsafe.Pointer(&usage)), 0)
	return usage.Nvcsw
}

//go:nosplit
func monotonicNow() int64 {
	var now unix.Timespec
	unix.RawSyscall(unix.SYS_CLOCK_GETTIME, unix.CLOCK_MONOTONIC, uintptr(unsafe.Pointer(&now)), 0)
	return now.Sec*1e9 + now.Nsec
}
