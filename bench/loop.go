// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// loopDevice is a loop device over memory. The kernel takes it away when the last
// user closes it, and its file has no name: a killed run leaves nothing behind.
type loopDevice struct {
	path string
	name string
	node *os.File
}

func newLoopDevice(dir string, size int64) (*loopDevice, error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return nil, err
	}
	if fs.Type != unix.TMPFS_MAGIC {
		return nil, fmt.Errorf("%s is not a tmpfs: the load must not reach a real disk", dir)
	}
	backing, err := unnamedFile(dir, size)
	if err != nil {
		return nil, err
	}
	defer backing.Close()
	control, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer control.Close()
	for range 20 {
		d, err := bindLoop(control, backing)
		if errors.Is(err, unix.EBUSY) {
			continue // another process took the free device
		}
		return d, err
	}
	return nil, errors.New("no free loop device")
}

func unnamedFile(dir string, size int64) (*os.File, error) {
	f, err := os.CreateTemp(dir, "disk")
	if err != nil {
		return nil, err
	}
	os.Remove(f.Name())
	if err := unix.Fallocate(int(f.Fd()), 0, 0, size); err != nil {
		f.Close()
		return nil, fmt.Errorf("making a file of %d MiB in %s: %w", size>>20, dir, err)
	}
	return f, nil
}

func bindLoop(control, backing *os.File) (*loopDevice, error) {
	n, err := unix.IoctlRetInt(int(control.Fd()), unix.LOOP_CTL_GET_FREE)
	if err != nil {
		return nil, fmt.Errorf("finding a free loop device: %w", err)
	}
	name := fmt.Sprintf("loop%d", n)
	node, err := os.OpenFile("/dev/"+name, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	config := unix.LoopConfig{Fd: uint32(backing.Fd()), Info: unix.LoopInfo64{Flags: unix.LO_FLAGS_AUTOCLEAR}}
	if err := unix.IoctlLoopConfigure(int(node.Fd()), &config); err != nil {
		node.Close()
		return nil, fmt.Errorf("binding %s: %w", name, err)
	}
	return &loopDevice{path: node.Name(), name: name, node: node}, nil
}

func (d *loopDevice) close() { d.node.Close() }

// reads is the number of read requests the kernel has completed on the device.
func (d *loopDevice) reads() (uint64, error) {
	b, err := os.ReadFile(filepath.Join("/sys/block", d.name, "stat"))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(b))
	if len(fields) == 0 {
		return 0, fmt.Errorf("%s: no statistics", d.name)
	}
	return strconv.ParseUint(fields[0], 10, 64)
}
