// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/iowitness/iowitness/event"
)

// How often a table of mounts is read again: when something is not in it, and
// in any case.
const (
	rereadOnMiss = time.Second
	rereadAlways = 30 * time.Second
)

// Mounts finds mount points by device, as one mount namespace has them. It
// reads the table when it is first needed, and again when a device is missing.
// Safe for concurrent use.
type Mounts struct {
	// StatDevice gives the device number of a block device node; the path
	// includes the root directory. Replaceable for tests; set before use.
	StatDevice func(path string) (event.Dev, error)

	root string

	mu        sync.Mutex
	process   string // whose table is read: "self" or a pid
	namespace string // what that process's namespace must be; "": anything
	mounts    map[event.Dev][]Mount
	read      time.Time
}

// NewMounts reads proc/self/mountinfo below root.
func NewMounts(root string) *Mounts {
	return &Mounts{root: root, process: "self", StatDevice: statDevice}
}

// Resolve is the path of a file by its file system's device and its path
// within that file system. Of several mounts it takes the one that shows the
// smallest part of the file system, then the one nearest to the root, then the
// first. ok is false if no mount shows the file.
func (m *Mounts) Resolve(dev event.Dev, pathInFS string) (path string, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.refresh(rereadAlways)
	if path, ok = resolve(m.mounts[dev], pathInFS); ok {
		return path, true
	}
	m.refresh(rereadOnMiss)
	return resolve(m.mounts[dev], pathInFS)
}

func resolve(mounts []Mount, pathInFS string) (path string, ok bool) {
	var best Mount
	for _, mount := range mounts {
		if _, inside := below(mount.Root, pathInFS); !inside || !strings.HasPrefix(mount.Point, "/") {
			continue
		}
		if !ok || betterMount(mount, best) {
			best, ok = mount, true
		}
	}
	if !ok {
		return "", false
	}
	rest, _ := below(best.Root, pathInFS)
	return joinPath(best.Point, rest), true
}

// betterMount compares lengths: of roots that hold one path the longer shows less.
func betterMount(a, b Mount) bool {
	if len(a.Root) != len(b.Root) {
		return len(a.Root) > len(b.Root)
	}
	return len(a.Point) < len(b.Point)
}

// below is what of a path lies below a directory: "" or "/x/y".
func below(directory, path string) (rest string, inside bool) {
	if directory == "/" {
		return strings.TrimSuffix(path, "/"), strings.HasPrefix(path, "/") || path == ""
	}
	rest, inside = strings.CutPrefix(path, directory)
	return rest, inside && (rest == "" || rest[0] == '/')
}

func joinPath(point, rest string) string {
	if rest == "" {
		return point
	}
	return strings.TrimSuffix(point, "/") + rest
}

// Source is what is mounted, such as "/dev/vda1" or "server:/export", and the
// file system's type.
func (m *Mounts) Source(dev event.Dev) (source, fstype string, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.refresh(rereadAlways)
	if len(m.mounts[dev]) == 0 {
		m.refresh(rereadOnMiss)
	}
	if len(m.mounts[dev]) == 0 {
		return "", "", false
	}
	first := m.mounts[dev][0]
	return first.Source, first.FSType, true
}

// refresh reads the table again if it is older than an age. What was known
// stays if it cannot be read: its process may have ended.
func (m *Mounts) refresh(age time.Duration) {
	if time.Since(m.read) < age {
		return
	}
	m.read = time.Now()
	if m.namespace != "" && namespaceOf(m.root, m.process) != m.namespace {
		return
	}
	text, err := os.ReadFile(filepath.Join(m.root, "proc", m.process, "mountinfo"))
	if err != nil {
		return
	}
	m.mounts = map[event.Dev][]Mount{}
	for _, mount := range ParseMounts(string(text)) {
		m.mounts[mount.Dev] = append(m.mounts[mount.Dev], mount)
	}
}

// namespaceOf names the mount namespace and root directory of a process, which
// together decide what its mountinfo says; "" if the process has ended or
// cannot be read.
func namespaceOf(root, process string) string {
	namespace, err1 := os.Readlink(filepath.Join(root, "proc", process, "ns/mnt"))
	directory, err2 := os.Readlink(filepath.Join(root, "proc", process, "root"))
	if err1 != nil || err2 != nil {
		return ""
	}
	return namespace + " " + directory
}
