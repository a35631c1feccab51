// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// openOutput is where a report goes: to a file, or to standard output. With a command, its own
// output stays its own, and the report goes where messages do.
func openOutput(file string, runs bool, s *streams) (*os.File, error) {
	switch {
	case file != "" && file != "-":
		return os.Create(file)
	case runs && file == "":
		return dup(s.err)
	}
	return dup(s.out)
}

func dup(f *os.File) (*os.File, error) {
	fd, err := syscall.Dup(int(f.Fd()))
	if err != nil {
		return nil, err
	}
	syscall.CloseOnExec(fd)
	return os.NewFile(uintptr(fd), f.Name()), nil
}

// reporting says what an error of the output is about.
func reporting(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("writing the report: %w", err)
}

// writeFile writes a file whole, or says why not.
func writeFile(name string, write func(*os.File) error) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	if err := errors.Join(write(f), f.Close()); err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return nil
}

// writeTo writes a document to a file, or to standard output.
func writeTo(file string, s *streams, write func(io.Writer) error) error {
	out, err := openOutput(file, false, s)
	if err != nil {
		return err
	}
	return reporting(errors.Join(write(out), out.Close()))
}

// watchReader calls gone when the other end of a pipe or socket is closed.
func watchReader(out *os.File, gone func()) {
	if info, err := out.Stat(); err != nil || info.Mode()&(os.ModeNamedPipe|os.ModeSocket) == 0 {
		return
	}
	for {
		fds := []unix.PollFd{{Fd: int32(out.Fd())}}
		n, err := unix.Poll(fds, -1)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n > 0 {
			gone()
			return
		}
		time.Sleep(time.Second)
	}
}
