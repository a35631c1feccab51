// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

func init() {
	workloads["rewrite"] = rewrite   // file blocks times: O_DIRECT writes of 4 KiB, each of so many blocks so often
	workloads["jobs"] = jobs         // thread|process n mib: makes so many, one after the other, that do nothing
	workloads["copy"] = copyFile     // from to calls|mapped bytes: copies by read and write, or through mappings
	workloads["database"] = database // cached device hits misses: buffered reads of a cached page, and O_DIRECT reads, mixed
	workloads["messages"] = messages // n small large: as many messages of each size over loopback TCP
}

// rewrite writes blocks that lie two blocks apart, so that none is merged with the next.
func rewrite(t *Truth, a []string) error {
	blocks, err1 := strconv.Atoi(a[1])
	times, err2 := strconv.Atoi(a[2])
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	fd, size, err := openBlocks(a[0], unix.O_WRONLY|unix.O_DIRECT)
	if err != nil {
		return err
	}
	if int64(2*blocks) > size {
		return errors.New("file is too small")
	}
	defer unix.Close(fd)
	b := aligned(4096)
	b[0] = 1 // a buffer that was never written to is the kernel's page of zeros
	return t.repeat(fmt.Sprint(blocks*times), func(i int) error {
		_, err := unix.Pwrite(fd, b, int64(i%blocks)*2*4096)
		return err
	})
}

// jobs makes threads that share its memory, or processes that get a copy of its page tables: so many
// MiB in pages of 4 KiB. It waits for the end of each.
func jobs(t *Truth, a []string) error {
	n, err1 := strconv.Atoi(a[1])
	mib, err2 := strconv.Atoi(a[2])
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	m, err := unix.Mmap(-1, 0, mib<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return err
	}
	_ = unix.Madvise(m, unix.MADV_NOHUGEPAGE)
	for at := 0; at < len(m); at += 4096 {
		m[at] = 1
	}
	start := map[string]func() error{"thread": oneThread, "process": oneProcess}[a[0]]
	if start == nil {
		return fmt.Errorf("jobs are threads or processes, not %q", a[0])
	}
	runtime.LockOSThread()
	before := processCPU()
	err = t.repeat(fmt.Sprint(n), func(int) error { return start() })
	t.CPU = processCPU() - before
	return err
}

// processCPU is of all threads, and of children that were waited for.
func processCPU() time.Duration {
	var sum time.Duration
	for _, who := range []int{unix.RUSAGE_SELF, unix.RUSAGE_CHILDREN} {
		var u unix.Rusage
		_ = unix.Getrusage(who, &u)
		sum += time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	return sum
}

func oneThread() error {
	ended := make(chan struct{})
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		close(ended)
	}()
	<-ended
	return nil
}

// oneProcess forks, as no function of the Go library does. The child calls nothing of the Go runtime.
func oneProcess() error {
	pid, _, errno := unix.RawSyscall(unix.SYS_FORK, 0, 0, 0)
	if errno != 0 {
		return errno
	}
	if pid == 0 {
		unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
	}
	var status unix.WaitStatus
	for {
		if _, err := unix.Wait4(int(pid), &status, 0, nil); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// copyFile counts its read and write calls, and page faults as the kernel counts them for it.
func copyFile(t *Truth, a []string) error {
	runtime.LockOSThread()
	size, err := strconv.Atoi(a[3])
	if err != nil {
		return err
	}
	from, err := os.Open(a[0])
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.OpenFile(a[1], os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	defer to.Close()
	t.Calls = map[string]*Calls{"read": {}, "write": {}}
	before := faults()
	start := time.Now()
	if a[2] == "mapped" {
		err = copyMapped(from, to, size)
	} else {
		err = t.copyByCalls(int(from.Fd()), int(to.Fd()), make([]byte, size))
	}
	t.Total = time.Since(start)
	after := faults()
	t.MinorFaults, t.MajorFaults = after[0]-before[0], after[1]-before[1]
	return err
}

func faults() [2]int64 {
	var u unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &u)
	return [2]int64{u.Minflt, u.Majflt}
}

func (t *Truth) copyByCalls(from, to int, b []byte) error {
	read, write := t.Calls["read"], t.Calls["write"]
	for {
		n, err := unix.Read(from, b)
		read.Count++
		if n <= 0 || err != nil {
			return err
		}
		read.Bytes += n
		w, err := unix.Write(to, b[:n])
		if err != nil {
			return err
		}
		write.Count++
		write.Bytes += w
	}
}

func copyMapped(from, to *os.File, step int) error {
	info, err := from.Stat()
	if err != nil {
		return err
	}
	n := int(info.Size())
	if err := to.Truncate(info.Size()); err != nil {
		return err
	}
	source, err := unix.Mmap(int(from.Fd()), 0, n, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	defer unix.Munmap(source)
	target, err := unix.Mmap(int(to.Fd()), 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	defer unix.Munmap(target)
	for at := 0; at < n; at += step {
		copy(target[at:min(at+step, n)], source[at:])
	}
	return nil
}

// database reads a page that is cached so often, and pages of a device past the cache so often, evenly
// mixed, by calls of one kind. Both are told in Calls.
func database(t *Truth, a []string) error {
	hits, err1 := strconv.Atoi(a[2])
	misses, err2 := strconv.Atoi(a[3])
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	cached, _, err := openBlocks(a[0], unix.O_RDONLY)
	if err != nil {
		return err
	}
	device, blocks, err := openBlocks(a[1], unix.O_RDONLY|unix.O_DIRECT)
	if err != nil {
		return err
	}
	f := &calledFile{buffer: aligned(4096), calls: map[string]*Calls{}}
	t.Calls = f.calls
	read := func(kind string, fd int, at int64) error {
		n, err := f.call(kind, unix.SYS_PREAD64, uintptr(fd), uintptr(unsafe.Pointer(&f.buffer[0])), 4096, uintptr(at))
		if err == nil && n != 4096 {
			err = io.ErrUnexpectedEOF
		}
		f.calls[kind].Bytes += int(n)
		return err
	}
	for i, missed := 0, 0; i < hits+misses; i++ {
		if missed*(hits+misses) <= i*misses && missed < misses {
			err = read("miss", device, int64(missed)*37%blocks*4096)
			missed++
		} else {
			err = read("hit", cached, 0)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// messages sends over one connection, each once the one before was received, so that no call waits for room;
// it times each by its own clock: in Calls are "small" and "large".
func messages(t *Truth, a []string) error {
	runtime.LockOSThread()
	// Who is woken by a message would else take the CPU within the sender's time, but after its call.
	if err := unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 1}, 0); err != nil {
		return err
	}
	var n [3]int
	var errs []error
	for i := range n {
		var err error
		n[i], err = strconv.Atoi(a[i])
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer listener.Close()
	received := make(chan error, 1)
	go func() {
		c, err := listener.Accept()
		for i := 0; i < 2*n[0] && err == nil; i++ {
			if _, err = io.CopyN(io.Discard, c, int64(n[1+i%2])); err == nil {
				_, err = c.Write([]byte{1})
			}
		}
		received <- err
	}()
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		return err
	}
	file, err := conn.(*net.TCPConn).File() // its calls block
	if err != nil {
		return err
	}
	defer file.Close()
	conn.Close()
	f := &calledFile{fd: file.Fd(), buffer: make([]byte, max(n[1], n[2])), calls: map[string]*Calls{}}
	t.Calls = f.calls
	for i := range 2 * n[0] {
		kind, size := []string{"small", "large"}[i%2], n[1+i%2]
		sent, err := f.call(kind, unix.SYS_WRITE, f.fd, uintptr(unsafe.Pointer(&f.buffer[0])), uintptr(size), 0)
		if err != nil {
			return err
		}
		if int(sent) != size {
			return io.ErrShortWrite
		}
		f.calls[kind].Bytes += size
		if _, err := unix.Read(int(f.fd), make([]byte, 1)); err != nil {
			return err
		}
	}
	return <-received
}
