// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/filesystem"
	"github.com/iowitness/iowitness/identity"
	"github.com/iowitness/iowitness/probe"
)

// fsMounts are the file systems that are watched.
type fsMounts struct {
	root  string
	asked []identity.Mount // in the order in which they were asked for; empty: all
}

// findMounts finds the file systems on which paths are.
func findMounts(root string, paths []string) (*fsMounts, error) {
	m := &fsMounts{root: root}
	for _, path := range paths {
		mount, err := identity.MountOf(root, path)
		if err != nil {
			return nil, err
		}
		if !probe.IsFSKind(mount.FSType) {
			return nil, usageError{fmt.Errorf("%q is on a file system of type %s: only %s are watched", path, mount.FSType, kindNames())}
		}
		m.asked = append(m.asked, mount)
	}
	return m, nil
}

func kindNames() string {
	var names []string
	for _, kind := range probe.FSKinds {
		names = append(names, kind.Types[0])
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

func (m *fsMounts) devs() (devs []event.Dev) {
	for i := range m.asked {
		devs = append(devs, m.asked[i].Dev)
	}
	return devs
}

// now is what is mounted: those asked for first, each file system once, with the device that it is on.
func (m *fsMounts) now(names *names) (mounted []filesystem.Mounted, err error) {
	all, err := identity.ReadMounts(m.root)
	if err != nil {
		return nil, err
	}
	seen := map[event.Dev]bool{}
	for _, mount := range m.asked {
		if !seen[mount.Dev] {
			seen[mount.Dev] = true
			one := describe(&mount, names)
			one.Gone = !isMounted(all, mount.ID)
			mounted = append(mounted, one)
		}
	}
	for i := range all {
		if mount := &all[i]; probe.IsFSKind(mount.FSType) && !seen[mount.Dev] {
			seen[mount.Dev] = true
			mounted = append(mounted, describe(mount, names))
		}
	}
	return mounted, nil
}

func isMounted(all []identity.Mount, id uint64) bool {
	for i := range all {
		if all[i].ID == id {
			return true
		}
	}
	return false
}

func describe(m *identity.Mount, names *names) filesystem.Mounted {
	d := filesystem.Mounted{Dev: m.Dev, Point: m.Point, FSType: m.FSType, Device: names.Device(m.Dev)}
	if on := names.views.Own().Backing(m.Dev); len(on) == 1 {
		d.Disk = names.devices.Whole(on[0])
		d.DiskName = names.devices.Name(d.Disk)
	}
	return d
}
