// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	threadsCommand = "threads"
	readsPerThread = 4
	block          = 4096
)

// threadLoad is a process of many threads.
type threadLoad struct {
	*child
	input io.Closer
	ready chan struct{} // one value when each thread has done its reads; closed at the end
}

func startThreads(d *loopDevice, threads int) (*threadLoad, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	l := &threadLoad{child: newChild(syscall.SIGKILL, self, threadsCommand, d.path, strconv.Itoa(threads)), ready: make(chan struct{}, 1)}
	if l.input, err = l.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	l.cmd.Stdout = w
	err = l.start()
	w.Close()
	if err != nil {
		r.Close()
		return nil, err
	}
	go func() {
		defer r.Close()
		defer close(l.ready)
		lines := bufio.NewReader(r)
		if _, err := lines.ReadString('\n'); err == nil {
			l.ready <- struct{}{}
			io.Copy(io.Discard, lines)
		}
	}()
	return l, nil
}

// stop ends the process: it lives as long as its input.
func (l *threadLoad) stop() {
	l.input.Close()
	select {
	case <-l.ended:
	case <-time.After(toolEnds):
		l.cmd.Process.Kill()
		<-l.ended
	}
}

// runThreads is the process: each thread waits for a few reads, a second apart,
// and then sleeps in the kernel.
func runThreads(args []string) error {
	if len(args) != 2 {
		return usageError{errors.New("threads DEVICE COUNT")}
	}
	n, err := strconv.Atoi(args[1])
	if err != nil {
		return usageError{err}
	}
	fd, err := unix.Open(args[0], unix.O_RDONLY|unix.O_DIRECT|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	// Page aligned, as O_DIRECT wants it; nobody looks at what is read.
	buffer, err := unix.Mmap(-1, 0, block, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return err
	}
	debug.SetMaxThreads(n + 1000)
	failures := make(chan error, n)
	var done sync.WaitGroup
	for i := range n {
		done.Add(1)
		go thread(fd, buffer, int64(i%1024)*block, failures, &done)
	}
	done.Wait()
	select {
	case err := <-failures:
		return err
	default:
	}
	fmt.Println("ready")
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

func thread(fd int, buffer []byte, offset int64, failures chan<- error, done *sync.WaitGroup) {
	runtime.LockOSThread()
	for range readsPerThread {
		if _, err := unix.Pread(fd, buffer, offset); err != nil {
			failures <- err
			break
		}
		sleepThread(time.Second)
	}
	done.Done()
	for {
		unix.Pause()
	}
}

// sleepThread sleeps as the thread itself: time.Sleep would leave it to the runtime.
func sleepThread(d time.Duration) {
	left := unix.NsecToTimespec(int64(d))
	for unix.Nanosleep(&left, &left) == unix.EINTR {
	}
}
