// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// workloads are named by what they do; their arguments follow the name in the
// comment. Each does its operations on one thread unless it says otherwise.
var workloads = map[string]func(*Truth, []string) error{
	"direct_read":  directRead,   // file n: O_DIRECT reads of 4 KiB
	"direct_write": directWrite,  // file n: O_DIRECT writes of 4 KiB
	"buffered":     bufferedRead, // file: reads of 4 KiB from all over the file
	"mmap":         mmapRead,     // file: touches each 64th page
	"fsync":        func(t *Truth, a []string) error { return writeThrough(t, a, 0, unix.Fsync) },
	"osync":        func(t *Truth, a []string) error { return writeThrough(t, a, unix.O_SYNC, nil) },
	"sync":         syncAll,        // dir n: writes a file, then sync(2)
	"metadata":     listTree,       // dir: opens and stats all files below
	"make":         makeTree,       // dir n: makes n files and a directory for each tenth
	"fsync_dir":    fsyncDir,       // dir n: makes a directory, then fsync(2) of the one it is in
	"unlink":       unlinkAll,      // dir: removes the files
	"exec":         execAll,        // file n: runs the file
	"dirty":        dirtyPages,     // file mib: writes without sync
	"touch_memory": touchMemory,    // mib: writes and rereads anonymous memory
	"stat":         statOnce,       // file: stat(2)
	"threads":      threadedReads,  // file threads n: O_DIRECT reads of each of many threads
	"counted":      countedReads,   // device threads n direct|buffered: reads, and the switches within them
	"ring_idle":    ringIdle,       // ms: waits in io_uring for a pipe that stays empty
	"ring_reads":   ringReads,      // file n: buffered reads by workers of io_uring, one after the other
	"vfork":        vforkParent,    // file: waits for a child to run it
	"storm":        threadStorm,    // file threads every: as many short threads, of which each so many reads once
	"mount":        mountBlank,     // device: tries to mount it, which reads its superblock and fails
	"msync":        msyncAll,       // file n: dirties a mapped page, then msync(2)
	"files":        fileCalls,      // file opens reads writes fsyncs: calls of each kind, told apart
	"spin":         spin,           // ms...: threads that use up so much CPU time each, at the same time
	"compete":      compete,        // ms...: the same, all on one CPU
	"sleeper":      sleeper,        // n ms: sleeps
	"ping":         ping,           // n: two threads that wake each other in turn
	"leave":        leaveMemory,    // mib [device]: leaves so much memory, and dirty pages of a device, to its end
	"take_over":    takeOver,       // command...: becomes it, in a thread that is not the first
	"migrate":      migratingReads, // file n: O_DIRECT reads, changing the CPU between them
}

// timed runs an operation once and counts it.
func (t *Truth) timed(op func() error) error {
	start := time.Now()
	err := op()
	took := time.Since(start)
	t.Ops++
	t.Total += took
	t.Max = max(t.Max, took)
	return err
}

// scheduled adds what the scheduler gave the calling thread until the result is called.
func (t *Truth) scheduled() (done func()) {
	read := func() (cpu, runQueue time.Duration) {
		text, err := os.ReadFile("/proc/thread-self/schedstat")
		if err != nil {
			return 0, 0
		}
		fmt.Sscan(string(text), (*int64)(&cpu), (*int64)(&runQueue))
		return cpu, runQueue
	}
	cpu, runQueue := read()
	return func() {
		cpuNow, runQueueNow := read()
		t.CPU += cpuNow - cpu
		t.RunQueue += runQueueNow - runQueue
	}
}

func (t *Truth) repeat(n string, op func(i int) error) error {
	count, err := strconv.Atoi(n)
	if err != nil {
		return err
	}
	for i := range count {
		if err := t.timed(func() error { return op(i) }); err != nil {
			return err
		}
	}
	return nil
}

// aligned is a buffer fit for O_DIRECT.
func aligned(n int) []byte {
	b := make([]byte, n+4096)
	skip := 4096 - int(uintptr(unsafe.Pointer(&b[0]))&4095)
	return b[skip : skip+n]
}

func sizeOf(fd int) (int64, error) {
	return unix.Seek(fd, 0, unix.SEEK_END)
}

// openBlocks opens a file and counts its blocks of 4 KiB; the thread stays its own from here on.
func openBlocks(path string, flags int) (fd int, blocks int64, err error) {
	runtime.LockOSThread()
	if fd, err = unix.Open(path, flags, 0); err != nil {
		return fd, 0, err
	}
	n, err := sizeOf(fd)
	if err == nil && n < 4096 {
		err = errors.New("file is too small")
	}
	return fd, n / 4096, err
}

func directRead(t *Truth, a []string) error { return directReadBy(t, a, func(int) {}) }

func directReadBy(t *Truth, a []string, before func(i int)) error {
	fd, blocks, err := openBlocks(a[0], unix.O_RDONLY|unix.O_DIRECT)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	b := aligned(4096)
	defer t.scheduled()()
	return t.repeat(a[1], func(i int) error {
		before(i)
		_, err := unix.Pread(fd, b, rand.Int64N(blocks)*4096)
		return err
	})
}

func migratingReads(t *Truth, a []string) error {
	return directReadBy(t, a, func(i int) {
		var set unix.CPUSet
		set.Set(i % runtime.NumCPU())
		unix.SchedSetaffinity(0, &set)
	})
}

func directWrite(t *Truth, a []string) error {
	fd, blocks, err := openBlocks(a[0], unix.O_WRONLY|unix.O_DIRECT)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	b := aligned(4096)
	return t.repeat(a[1], func(int) error {
		_, err := unix.Pwrite(fd, b, rand.Int64N(blocks)*4096)
		return err
	})
}

func bufferedRead(t *Truth, a []string) error {
	fd, blocks, err := openBlocks(a[0], unix.O_RDONLY)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	unix.Fadvise(fd, 0, 0, unix.FADV_RANDOM)
	b := make([]byte, 4096)
	return t.repeat(fmt.Sprint(blocks/16), func(i int) error {
		_, err := unix.Pread(fd, b, int64(i)*16*4096)
		return err
	})
}

func mmapRead(t *Truth, a []string) error {
	runtime.LockOSThread()
	fd, err := unix.Open(a[0], unix.O_RDONLY, 0)
	if err != nil {
		return err
	}
	size, err := sizeOf(fd)
	if err != nil {
		return err
	}
	m, err := unix.Mmap(fd, 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
	unix.Close(fd) // the mapping keeps the file; no descriptor names it
	if err != nil {
		return err
	}
	unix.Madvise(m, unix.MADV_RANDOM)
	sum := byte(0)
	for at := 0; at < len(m); at += 64 * 4096 {
		t.timed(func() error { sum += m[at]; return nil })
	}
	runtime.KeepAlive(sum)
	return nil
}

// writeThrough writes 4 KiB n times: file n.
func writeThrough(t *Truth, a []string, flags int, after func(int) error) error {
	runtime.LockOSThread()
	fd, err := unix.Open(a[0], unix.O_WRONLY|unix.O_CREAT|flags, 0o644)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	b := make([]byte, 4096)
	defer t.scheduled()()
	return t.repeat(a[1], func(i int) error {
		if _, err := unix.Pwrite(fd, b, int64(i)*4096); err != nil || after == nil {
			return err
		}
		return after(fd)
	})
}

func syncAll(t *Truth, a []string) error {
	runtime.LockOSThread()
	return t.repeat(a[1], func(i int) error {
		if err := os.WriteFile(filepath.Join(a[0], fmt.Sprint("sync", i%20)), make([]byte, 4<<20), 0o644); err != nil {
			return err
		}
		unix.Sync()
		return nil
	})
}

func listTree(t *Truth, a []string) error {
	runtime.LockOSThread()
	return filepath.WalkDir(a[0], func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return t.timed(func() error { _, err := os.Lstat(path); return err })
	})
}

func makeTree(t *Truth, a []string) error {
	runtime.LockOSThread()
	dir := a[0]
	return t.repeat(a[1], func(i int) error {
		if i%10 == 0 {
			dir = filepath.Join(a[0], fmt.Sprint("dir", i))
			if err := os.Mkdir(dir, 0o755); err != nil {
				return err
			}
		}
		return os.WriteFile(filepath.Join(dir, fmt.Sprint("file", i)), []byte("x"), 0o644)
	})
}

func fsyncDir(t *Truth, a []string) error {
	runtime.LockOSThread()
	fd, err := unix.Open(a[0], unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return t.repeat(a[1], func(i int) error {
		if err := unix.Mkdirat(fd, fmt.Sprint("made", i), 0o755); err != nil {
			return err
		}
		return unix.Fsync(fd)
	})
}

func unlinkAll(t *Truth, a []string) error {
	runtime.LockOSThread()
	entries, err := os.ReadDir(a[0])
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Type().IsRegular() {
			if err := t.timed(func() error { return os.Remove(filepath.Join(a[0], e.Name())) }); err != nil {
				return err
			}
		}
	}
	return nil
}

func execAll(t *Truth, a []string) error {
	return t.repeat(a[1], func(int) error { return exec.Command(a[0]).Run() })
}

func dirtyPages(t *Truth, a []string) error {
	runtime.LockOSThread()
	mib, err := strconv.Atoi(a[1])
	if err != nil {
		return err
	}
	f, err := os.Create(a[0])
	if err != nil {
		return err
	}
	defer f.Close()
	b := make([]byte, 256<<10)
	return t.repeat(fmt.Sprint(mib*4), func(int) error { _, err := f.Write(b); return err })
}

func touchMemory(t *Truth, a []string) error {
	mib, err := strconv.Atoi(a[0])
	if err != nil {
		return err
	}
	m, err := unix.Mmap(-1, 0, mib<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return err
	}
	runtime.LockOSThread()
	for pass := range 2 {
		for at := 0; at < len(m); at += 4096 {
			t.timed(func() error { m[at] = byte(at>>12) + byte(pass) + m[at]; return nil })
		}
	}
	return nil
}

func statOnce(t *Truth, a []string) error {
	runtime.LockOSThread()
	return t.timed(func() error { _, err := os.Stat(a[0]); return err })
}

func mountBlank(t *Truth, a []string) error {
	runtime.LockOSThread()
	return t.timed(func() error {
		if err := unix.Mount(a[0], "/mnt", "ext4", unix.MS_RDONLY, ""); err == nil {
			return errors.Join(errors.New("it is not blank"), unix.Unmount("/mnt", 0))
		}
		return nil
	})
}

func threadedReads(t *Truth, a []string) error {
	threads, err := strconv.Atoi(a[1])
	if err != nil {
		return err
	}
	var all sync.WaitGroup
	truths := make([]Truth, threads)
	errs := make([]error, threads)
	for i := range threads {
		all.Go(func() { errs[i] = directRead(&truths[i], []string{a[0], a[2]}) })
	}
	all.Wait()
	for _, one := range truths {
		t.Ops += one.Ops
		t.Total += one.Total
		t.Max = max(t.Max, one.Max)
	}
	return errors.Join(errs...)
}

// vforkParent sleeps uninterruptibly until its child has got so far as to run the file.
func vforkParent(t *Truth, a []string) error {
	runtime.LockOSThread()
	return t.timed(func() error {
		pid, err := syscall.ForkExec(a[0], a, nil)
		if err == nil {
			_, err = unix.Wait4(pid, nil, 0, nil)
		}
		return err
	})
}
