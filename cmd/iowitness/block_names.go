// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/identity"
	"github.com/iowitness/iowitness/kernel"
	"github.com/iowitness/iowitness/spelling"
)

// requestNames gives names to what requests are told by.
type requestNames struct {
	base    *names
	cgroups *identity.Cgroups
	files   map[fileID]event.File
}

type fileID struct {
	dev event.Dev
	ino uint64
}

// maxRequestFiles bounds the files that are remembered by name.
const maxRequestFiles = 1 << 16

func newRequestNames(base *names, root string) *requestNames {
	return &requestNames{base: base, cgroups: identity.NewCgroups(func() []identity.CgroupHierarchy { return cgroupHierarchies(root, "blkio") }), files: map[fileID]event.File{}}
}

func (n *requestNames) Device(dev event.Dev) string { return n.base.Device(dev) }

func (n *requestNames) Cgroup(id uint64) string { return n.cgroups.Path(id) }

func (n *requestNames) File(file event.File, pid uint32) string { return n.base.File(file, pid) }

// learn takes a file's name, as the kernel side tells it once.
func (n *requestNames) learn(file event.File) {
	if len(n.files) >= maxRequestFiles {
		clear(n.files)
	}
	n.files[fileID{file.Dev, file.Ino}] = file
}

// known is a file with its name, if that has been told.
func (n *requestNames) known(file event.File) event.File {
	if told, ok := n.files[fileID{file.Dev, file.Ino}]; ok && file.Ino != 0 {
		return told
	}
	return file
}

// age is called once an interval.
func (n *requestNames) age() {
	n.cgroups.Age()
	n.base.processes.Age()
}

// cgroupHierarchies are the unified one and those of v1 with one of some controllers: a
// group's id is unique only within its hierarchy, and the unified one goes before.
func cgroupHierarchies(root string, controllers ...string) (found []identity.CgroupHierarchy) {
	mounts, _ := kernel.ReadCgroupMounts(root)
	for _, v2 := range []bool{true, false} {
		for _, m := range mounts {
			wanted := slices.ContainsFunc(controllers, func(c string) bool { return slices.Contains(m.Controllers, c) })
			if m.V2 == v2 && (v2 || wanted) {
				found = append(found, identity.CgroupHierarchy{Dir: filepath.Join(root, m.Path), Root: m.Root})
			}
		}
	}
	return found
}

// findDevice finds a disk or partition by its name, by the path of its node, or by major:minor.
func findDevice(root, name string) (event.Dev, error) {
	var st unix.Stat_t
	if strings.Contains(name, "/") {
		if err := unix.Stat(filepath.Join(root, name), &st); err != nil {
			return 0, fmt.Errorf("there is no device %s: %w", identity.Quote(name), err)
		}
		if st.Mode&unix.S_IFMT != unix.S_IFBLK {
			return 0, fmt.Errorf("%s is no block device", identity.Quote(name))
		}
		return event.MakeDev(unix.Major(st.Rdev), unix.Minor(st.Rdev)), nil
	}
	if dev, ok := parseDev(name); ok {
		return dev, nil
	}
	text, err := os.ReadFile(filepath.Join(root, "sys/class/block", strings.ReplaceAll(name, "/", "!"), "dev"))
	if err == nil {
		if dev, ok := parseDev(strings.TrimSpace(string(text))); ok {
			return dev, nil
		}
	}
	if dev, ok := identity.HiddenDisk(root, name); ok {
		return dev, nil
	}
	return 0, fmt.Errorf("there is no device %s%s", identity.Quote(name), nearDevices(root, name))
}

func parseDev(text string) (event.Dev, bool) {
	major, minor, ok := strings.Cut(text, ":")
	a, errA := strconv.ParseUint(major, 10, 12)
	b, errB := strconv.ParseUint(minor, 10, 20)
	return event.MakeDev(uint32(a), uint32(b)), ok && errA == nil && errB == nil
}

// nearDevices offers what may have been meant.
func nearDevices(root, name string) string {
	entries, err := os.ReadDir(filepath.Join(root, "sys/class/block"))
	if err != nil || len(entries) == 0 {
		return ""
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return "; near: " + strings.Join(spelling.Sort(name, all)[:min(3, len(all))], ", ")
}

// cgroupWithin is a cgroup's path within its hierarchy, as it is told of requests.
func cgroupWithin(path string) string {
	for _, top := range []string{"/sys/fs/cgroup/blkio", "/sys/fs/cgroup/unified", "/sys/fs/cgroup"} {
		if rest, ok := strings.CutPrefix(path, top); ok && (rest == "" || rest[0] == '/') {
			path = rest
			break
		}
	}
	return filepath.Join("/", path)
}
