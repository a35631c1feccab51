// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"cmp"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/iowitness/iowitness/event"
)

// deviceAge is how long a device's name is trusted: numbers are reused.
const deviceAge = 10 * time.Second

// Devices names device numbers. Safe for concurrent use.
type Devices struct {
	root   string
	mounts *Mounts // names file systems without a block device; may be nil

	mu    sync.Mutex
	known map[event.Dev]deviceName
}

type deviceName struct {
	name   string
	node   string // below /dev; "": none
	detail string
	read   time.Time
}

// NewDevices reads sys/dev/block below root, when asked; mounts, if not nil,
// name file systems without a block device.
func NewDevices(root string, mounts *Mounts) *Devices {
	return &Devices{root: root, mounts: mounts, known: map[event.Dev]deviceName{}}
}

// Name is the kernel's name of a block device ("vda1", "loop0"), with that of
// the device mapper ("dm-0 (vg-lv)"); type and source of a file system without
// one ("btrfs on /dev/loop3", "nfs server:/export"); else "major:minor".
func (d *Devices) Name(dev event.Dev) string { return d.lookup(dev).name }

// Detail is the file behind a loop device; "" for others.
func (d *Devices) Detail(dev event.Dev) string { return d.lookup(dev).detail }

// Node is the path of a block device below /dev; "" if it is not known.
func (d *Devices) Node(dev event.Dev) string { return d.lookup(dev).node }

func (d *Devices) lookup(dev event.Dev) deviceName {
	d.mu.Lock()
	defer d.mu.Unlock()
	known, ok := d.known[dev]
	if ok && time.Since(known.read) < deviceAge {
		return known
	}
	if len(d.known) >= 4096 {
		clear(d.known)
	}
	known = d.read(dev)
	known.read = time.Now()
	d.known[dev] = known
	return known
}

func (d *Devices) read(dev event.Dev) deviceName {
	if dev.Major() == 0 {
		return deviceName{name: d.fileSystem(dev)}
	}
	directory := filepath.Join(d.root, "sys/dev/block", number(dev))
	link, err := os.Readlink(directory)
	if err != nil {
		return deviceName{name: cmp.Or(d.hidden(dev), number(dev))}
	}
	name := strings.ReplaceAll(filepath.Base(link), "!", "/") // sysfs cannot hold a slash: cciss!c0d0
	if mapped := readLine(filepath.Join(directory, "dm/name")); mapped != "" {
		return deviceName{name: name + " (" + mapped + ")", node: "/dev/mapper/" + mapped}
	}
	return deviceName{name: name, node: "/dev/" + name, detail: readLine(filepath.Join(directory, "loop/backing_file"))}
}

// hidden is the name of a disk that has no node and no number in sysfs, as the paths of an NVMe
// disk; "": there is none.
func (d *Devices) hidden(dev event.Dev) string {
	for at, name := range statistics(d.root) {
		if at == dev {
			return name
		}
	}
	return ""
}

// HiddenDisk is the number of such a disk by its name.
func HiddenDisk(root, name string) (dev event.Dev, ok bool) {
	for at, known := range statistics(root) {
		if known == name {
			return at, true
		}
	}
	return 0, false
}

// statistics are all disks of which the kernel keeps some, hidden ones too.
func statistics(root string) iter.Seq2[event.Dev, string] {
	return func(yield func(event.Dev, string) bool) {
		text, _ := os.ReadFile(filepath.Join(root, "proc/diskstats"))
		for line := range strings.Lines(string(text)) {
			var major, minor uint32
			var name string
			if n, _ := fmt.Sscan(line, &major, &minor, &name); n == 3 && !yield(event.MakeDev(major, minor), name) {
				return
			}
		}
	}
}

func (d *Devices) fileSystem(dev event.Dev) string {
	if d.mounts == nil {
		return number(dev)
	}
	source, fstype, ok := d.mounts.Source(dev)
	switch {
	case !ok:
		return number(dev)
	case strings.HasPrefix(source, "/dev/"):
		return fstype + " on " + source
	case source == "" || source == "none" || source == fstype:
		return fstype
	}
	return fstype + " " + source
}

func number(dev event.Dev) string { return fmt.Sprintf("%d:%d", dev.Major(), dev.Minor()) }

// readLine is a sysfs attribute without its newline; "" if it cannot be read.
func readLine(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(string(text), "\n")
}
