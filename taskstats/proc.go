// SPDX-License-Identifier: Apache-2.0

package taskstats

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// proc reads a mounted /proc by plain system calls into one buffer: it is done
// thousands of times a second. What it returns holds until the next call.
type proc struct {
	root string // with a slash at its end
	pids int    // the open directory
	buf  []byte
}

func openProc(root string) (*proc, error) {
	p := &proc{root: filepath.Join(root, "proc") + "/", buf: make([]byte, 16<<10)}
	var err error
	p.pids, err = unix.Open(p.root, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	return p, os.NewSyscallError("open "+p.root, err)
}

func (p *proc) close() error {
	if p.pids < 0 {
		return nil
	}
	err := unix.Close(p.pids)
	p.pids = -1
	return err
}

func (p *proc) process(pid uint32, name string) string {
	return p.root + strconv.FormatUint(uint64(pid), 10) + "/" + name
}

func (p *proc) thread(pid, tid uint32, name string) string {
	return p.process(pid, "task/"+strconv.FormatUint(uint64(tid), 10)+"/"+name)
}

// text reads a file that fits into the buffer.
func (p *proc) text(path string) ([]byte, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	return p.textOf(fd)
}

// textOf reads an open file of /proc anew. The kernel makes up to a page of text at a time.
func (p *proc) textOf(fd int) ([]byte, error) {
	n := 0
	for n < len(p.buf) {
		got, err := unix.Pread(fd, p.buf[n:], int64(n))
		if err != nil {
			return nil, err
		}
		if n += got; got == 0 || got < 1024 {
			break
		}
	}
	return p.buf[:n], nil
}

// processes appends the processes that /proc shows.
func (p *proc) processes(list []uint32) ([]uint32, error) {
	if _, err := unix.Seek(p.pids, 0, unix.SEEK_SET); err != nil {
		return list, err
	}
	return p.numbers(list, p.pids)
}

// threads appends those of a process.
func (p *proc) threads(list []uint32, pid uint32) ([]uint32, error) {
	fd, err := unix.Open(p.process(pid, "task"), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return list, err
	}
	defer unix.Close(fd)
	return p.numbers(list, fd)
}

func (p *proc) numbers(list []uint32, fd int) ([]uint32, error) {
	for {
		n, err := unix.Getdents(fd, p.buf)
		if err != nil || n == 0 {
			return list, err
		}
		list = appendNumbers(list, p.buf[:n])
	}
}

// direntName is where the name lies in struct linux_dirent64, whose length is at 16.
const direntName = 19

// appendNumbers adds the entries whose names are numbers.
func appendNumbers(list []uint32, dirents []byte) []uint32 {
	for len(dirents) > direntName {
		size := int(binary.NativeEndian.Uint16(dirents[16:]))
		if size <= direntName || size > len(dirents) {
			break
		}
		name := dirents[direntName:size]
		for i, c := range name {
			if c == 0 {
				name = name[:i]
				break
			}
		}
		if n, ok := decimal(name); ok && n <= 1<<31 {
			list = append(list, uint32(n))
		}
		dirents = dirents[size:]
	}
	return list
}

// isGone says that an error is that of a thread that has ended.
func isGone(err error) bool { return errors.Is(err, unix.ESRCH) || errors.Is(err, unix.ENOENT) }

// isHidden says that an error is that of a thread we may not look into.
func isHidden(err error) bool { return errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) }

const monotonic = unix.CLOCK_MONOTONIC

// instant reads one of the kernel's clocks, in ns.
func instant(clock int32) uint64 {
	var now unix.Timespec
	if unix.ClockGettime(clock, &now) != nil {
		return 0
	}
	return uint64(now.Nano())
}
