// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// left is what a process still has when it ends.
var left []byte

// leaveMemory touches memory and, where a device is named, dirties its first MiB: the kernel takes back
// the one and writes out the other as the process ends, when it can no longer tell of it.
func leaveMemory(t *Truth, a []string) error {
	mib, err := strconv.Atoi(a[0])
	if err != nil {
		return err
	}
	if left, err = unix.Mmap(-1, 0, mib<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS); err != nil {
		return err
	}
	_ = unix.Madvise(left, unix.MADV_NOHUGEPAGE)
	for at := 0; at < len(left); at += 4096 {
		left[at] = 1
	}
	if len(a) > 1 {
		fd, err := unix.Open(a[1], unix.O_WRONLY|unix.O_CLOEXEC, 0)
		if err == nil {
			_, err = unix.Write(fd, make([]byte, 1<<20))
		}
		if err != nil {
			return err
		}
	}
	var used unix.Rusage
	err = unix.Getrusage(unix.RUSAGE_SELF, &used)
	t.CPU = time.Duration(used.Utime.Nano() + used.Stime.Nano())
	return err
}

// takeOver lets a thread that is not its process's first become another program, which takes that
// one's number.
func takeOver(_ *Truth, a []string) error {
	path, err := exec.LookPath(a[0])
	if err != nil {
		return err
	}
	runtime.LockOSThread() // a workload begins on the first thread, and what it makes here runs on another
	failed := make(chan error)
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == os.Getpid() {
			failed <- errors.New("this is the first thread")
			return
		}
		failed <- syscall.Exec(path, a, os.Environ())
	}()
	return <-failed
}
