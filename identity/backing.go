// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/iowitness/iowitness/event"
)

// Backing finds the block devices behind a file system that has no device
// number of its own (major 0): its source if that is a block device node, and
// all devices of a btrfs file system, in ascending order. It is empty for
// network, FUSE, overlay and memory file systems, and for what is unknown.
func (m *Mounts) Backing(dev event.Dev) []event.Dev {
	if dev.Major() != 0 {
		return []event.Dev{dev}
	}
	source, fstype, ok := m.Source(dev)
	if !ok || !strings.HasPrefix(source, "/dev/") {
		return nil
	}
	device, err := m.StatDevice(filepath.Join(m.root, source))
	if err != nil {
		return nil
	}
	if fstype == "btrfs" {
		if all := btrfsDevices(m.root, device); len(all) > 0 {
			return all
		}
	}
	return []event.Dev{device}
}

// btrfsDevices lists the devices of the btrfs file system that one is part of:
// /sys/fs/btrfs/UUID/devices/NAME/dev.
func btrfsDevices(root string, one event.Dev) []event.Dev {
	systems, _ := filepath.Glob(filepath.Join(root, "sys/fs/btrfs/*/devices"))
	for _, system := range systems {
		devices := devicesIn(system)
		if slices.Contains(devices, one) {
			slices.Sort(devices)
			return devices
		}
	}
	return nil
}

func devicesIn(directory string) []event.Dev {
	var devices []event.Dev
	files, _ := filepath.Glob(filepath.Join(directory, "*/dev"))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		if dev, err := ParseDev(string(text)); err == nil {
			devices = append(devices, dev)
		}
	}
	return devices
}

// statDevice follows links, as /dev/mapper and /dev/disk hold them.
func statDevice(path string) (event.Dev, error) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return 0, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFBLK {
		return 0, unix.ENOTBLK
	}
	return event.MakeDev(unix.Major(st.Rdev), unix.Minor(st.Rdev)), nil
}
