// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"fmt"

	"github.com/iowitness/iowitness/event"
)

// ProcessName is what is known of a process. Strings are as the kernel has
// them, in any bytes; an empty one is not known.
type ProcessName struct {
	Comm      string // of its leader
	Exe       string
	Cwd       string
	Cgroup    string
	Container string
	User      string
	UID       uint32
	NSPID     uint32 // process id in its innermost pid namespace; 0: not known
	Kernel    bool   // a kernel thread
	Known     bool   // false: nothing but the pid is known, UID included
}

// Names turns ids into names. An empty string means that there is no name.
type Names interface {
	Process(pid uint32) ProcessName
	Device(dev event.Dev) string
	// File is the path by which the process sees the file.
	File(file event.File, pid uint32) string
	// Syscall is the name of a system call by its number.
	Syscall(number int32) string
}

// nameCache asks for each process and device once a build.
type nameCache struct {
	Names
	processes map[uint32]ProcessName
	devices   map[event.Dev]string
	named     map[string]event.Dev // the first device of a name
}

func newNameCache(names Names) *nameCache {
	return &nameCache{Names: names, processes: map[uint32]ProcessName{}, devices: map[event.Dev]string{}, named: map[string]event.Dev{}}
}

func (c *nameCache) Process(pid uint32) ProcessName {
	name, ok := c.processes[pid]
	if !ok {
		name = c.Names.Process(pid)
		c.processes[pid] = name
	}
	return name
}

func (c *nameCache) Device(dev event.Dev) string {
	if dev == 0 {
		return ""
	}
	name, ok := c.devices[dev]
	if !ok {
		name = c.Names.Device(dev)
		c.devices[dev] = name
	}
	return name
}

func (c *nameCache) deviceOrNumber(dev event.Dev) string {
	if name := c.Device(dev); name != "" || dev == 0 {
		return name
	}
	return fmt.Sprintf("%d:%d", dev.Major(), dev.Minor())
}

// sameDevice is one number for all that go by the same name: btrfs has numbers of
// its own beside those of the devices it is on.
func (c *nameCache) sameDevice(dev event.Dev) event.Dev {
	name := c.Device(dev)
	if name == "" {
		return dev
	}
	if first, ok := c.named[name]; ok {
		return first
	}
	c.named[name] = dev
	return dev
}

func (c *nameCache) Syscall(number int32) string {
	if number < 0 {
		return ""
	}
	return c.Names.Syscall(number)
}

// File falls back on the path within the file system, which is true though
// it lacks the mount point.
func (c *nameCache) File(file event.File, pid uint32) string {
	if file.Source == event.NoFile {
		return ""
	}
	if path := c.Names.File(file, pid); path != "" {
		return path
	}
	return file.Path
}
