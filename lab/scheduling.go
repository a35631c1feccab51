// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

func threadCPU() time.Duration {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now)
	return time.Duration(now.Nano())
}

func nameThread(name string) {
	b := append([]byte(name), 0)
	_ = unix.Prctl(unix.PR_SET_NAME, uintptr(unsafe.Pointer(&b[0])), 0, 0, 0)
}

//go:noinline
func spinFor(cpu time.Duration) {
	for until := threadCPU() + cpu; threadCPU() < until; {
		for i := range 100_000 {
			runtime.KeepAlive(i)
		}
	}
}

// spin lets threads named spin0, spin1 and so forth use up so much CPU time each, in ms, at the
// same time. Each counts as an operation.
func spin(t *Truth, a []string) error { return spinUntil(t, a, func() error { return nil }) }

// spinUntil calls done when the threads are done, while they still are there.
func spinUntil(t *Truth, a []string, done func() error) error {
	t.Each = make([]time.Duration, len(a))
	var all sync.WaitGroup
	leave := make(chan struct{})
	defer close(leave)
	for i, ms := range a {
		n, err := strconv.Atoi(ms)
		if err != nil {
			return err
		}
		all.Add(1)
		go func() {
			runtime.LockOSThread()
			nameThread("spin" + strconv.Itoa(i))
			before := threadCPU()
			spinFor(time.Duration(n) * time.Millisecond)
			t.Each[i] = threadCPU() - before
			all.Done()
			<-leave
		}()
	}
	all.Wait()
	for _, cpu := range t.Each {
		t.Ops++
		t.CPU += cpu
	}
	return done()
}

// compete is spin with all threads on one CPU.
func compete(t *Truth, a []string) error {
	before, err := ownRunDelay()
	if err != nil {
		return err
	}
	var one unix.CPUSet
	one.Set(0)
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return err
	}
	for _, task := range tasks {
		tid, _ := strconv.Atoi(task.Name())
		if err := unix.SchedSetaffinity(tid, &one); err != nil && !errors.Is(err, unix.ESRCH) {
			return err
		}
	}
	runtime.LockOSThread()
	return spinUntil(t, a, func() error {
		after, err := ownRunDelay()
		t.RunQueue = after - before
		return err
	})
}

// ownRunDelay is how long the process's threads have waited for a CPU, by the scheduler's own count.
func ownRunDelay() (sum time.Duration, err error) {
	files, err := filepath.Glob("/proc/self/task/*/schedstat")
	if err != nil {
		return 0, err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		var cpu, delay int64
		if _, err := fmt.Sscan(string(text), &cpu, &delay); err != nil {
			return 0, err
		}
		sum += time.Duration(delay)
	}
	return sum, nil
}

// sleeper sleeps so often for so many ms. As in counted reads, there are only raw
// system calls between two counts of switches.
func sleeper(t *Truth, a []string) error {
	ms, err := strconv.Atoi(a[1])
	if err != nil {
		return err
	}
	runtime.LockOSThread()
	nameThread("sleeper")
	t.TID = unix.Gettid()
	length := unix.NsecToTimespec(int64(ms) * int64(time.Millisecond))
	defer t.scheduled()()
	return t.repeat(a[0], func(int) error {
		rest := length
		before := switches()
		errno := unix.EINTR
		for errno == unix.EINTR {
			_, _, errno = unix.RawSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&rest)), uintptr(unsafe.Pointer(&rest)), 0)
		}
		t.gaveUp(switches() - before)
		if errno != 0 {
			return errno
		}
		return nil
	})
}

// ping lets two threads, named ping and pong, wake each other in turn. Each turn is an operation.
func ping(t *Truth, a []string) error {
	n, err := strconv.Atoi(a[0])
	if err != nil {
		return err
	}
	var there, back [2]int
	if err := errors.Join(unix.Pipe(there[:]), unix.Pipe(back[:])); err != nil {
		return err
	}
	failed := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		nameThread("pong")
		var ball [1]byte
		for range n {
			if err := errors.Join(pass(unix.Read, there[0], ball[:]), pass(unix.Write, back[1], ball[:])); err != nil {
				failed <- err
				return
			}
		}
		failed <- nil
	}()
	runtime.LockOSThread()
	nameThread("ping")
	var ball [1]byte
	for range n {
		if err := t.timed(func() error {
			return errors.Join(pass(unix.Write, there[1], ball[:]), pass(unix.Read, back[0], ball[:]))
		}); err != nil {
			return err
		}
	}
	return <-failed
}

// pass reads or writes a byte.
func pass(how func(int, []byte) (int, error), fd int, ball []byte) error {
	_, err := how(fd, ball)
	return err
}
