// SPDX-License-Identifier: Apache-2.0

package main

import (
	"sync"

	"github.com/iowitness/iowitness/blame"
	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/identity"
	"github.com/iowitness/iowitness/kernel"
	"github.com/iowitness/iowitness/snapshot"
)

// Bounds of what is remembered.
const (
	maxProcesses = 8000
	maxFiles     = 4096
)

// names gives names to all ids: for blame the functions of stacks, for views
// processes, devices and files.
type names struct {
	facts     kernel.Facts
	symbols   func() (*kernel.Symbols, error) // waits for the loading, which begins at once
	views     *identity.MountViews
	devices   *identity.Devices
	processes *identity.Processes
	files     map[event.File]string
	named     bool // stacks come with their names: symbols are not needed
	wantCwd   bool // working directories change, so they are read each time: only on request
}

func newNames(root string) *names {
	views := identity.NewMountViews(root)
	n := &names{
		facts:   kernel.Read(root),
		views:   views,
		devices: identity.NewDevices(root, views.Own()),
		files:   map[event.File]string{},
	}
	n.symbols = sync.OnceValues(func() (*kernel.Symbols, error) { return kernel.LoadSymbols(root) })
	n.processes = identity.NewProcesses(root, views, identity.NewUsers(root), maxProcesses)
	return n
}

// notes are sentences on the names that cannot be had.
func (n *names) notes() []string {
	if n.named {
		return nil
	}
	if _, err := n.symbols(); err != nil {
		return []string{err.Error()}
	}
	return nil
}

// Stack names functions. An address of a stack is where a call returns to: the
// byte before it belongs to the caller even if the call was its last instruction.
// The begin of a function is no such place: what the kernel side has found among
// the words of the stack may be a pointer to a function. Only the outermost frame
// begins there, where a new thread does.
func (n *names) Stack(addresses []uint64) []string {
	symbols, err := n.symbols()
	if err != nil || len(addresses) == 0 {
		return nil
	}
	stack := make([]string, 0, len(addresses))
	for i, address := range addresses {
		if _, offset, ok := symbols.Lookup(address); ok && offset == 0 && i < len(addresses)-1 {
			continue
		}
		name, _, ok := symbols.Lookup(address - 1)
		if !ok {
			name = "?"
		}
		stack = append(stack, name)
	}
	return stack
}

// Syscall names a system call.
func (n *names) Syscall(number int32) string {
	if number < 0 {
		return ""
	}
	return kernel.SyscallName(number)
}

// Process names a process.
func (n *names) Process(pid uint32) snapshot.ProcessName {
	p := n.processes.Process(pid)
	cwd := ""
	if n.wantCwd {
		cwd, _ = n.processes.Cwd(pid)
	}
	return snapshot.ProcessName{
		Cwd:  cwd,
		Comm: p.Display(), Exe: p.Exe, Cgroup: p.Cgroup, Container: p.Container.ID, User: p.User, UID: p.UID,
		NSPID: p.NSPID, Kernel: p.Kernel, Known: p.Known != identity.FromNowhere,
	}
}

// Device names a device; of a file system without a device number of its own
// (btrfs), the one device that it is on.
func (n *names) Device(dev event.Dev) string {
	if dev.Major() == 0 {
		if on := n.views.Own().Backing(dev); len(on) == 1 {
			dev = on[0]
		}
	}
	return n.devices.Name(dev)
}

// File is a path by which the file can be found: in a container the path within it.
func (n *names) File(file event.File, pid uint32) string {
	if path, ok := n.files[file]; ok {
		return path
	}
	contained := n.processes.Process(pid).Container.ID != ""
	mounts := n.views.Own()
	if contained {
		mounts, _ = n.views.Of(pid)
	}
	path, ok := identity.FilePath(file, mounts, n.devices)
	if !ok && !contained {
		mounts, _ = n.views.Of(pid)
		path, _ = identity.FilePath(file, mounts, n.devices)
	}
	if !contained {
		if len(n.files) >= maxFiles {
			clear(n.files)
		}
		n.files[file] = path
	}
	return path
}

// meet is called with the accounts of each interval.
func (n *names) meet(threads []blame.Thread) {
	for i := range threads {
		if t := &threads[i]; t.Exited && t.TID == t.PID {
			n.processes.Ended(t.PID)
		}
	}
	n.processes.Age()
}
