// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/iowitness/iowitness/kernel"
)

// Cgroups names the control groups of the hierarchy by which block I/O is charged: the
// unified one, or that of blkio in v1. Not safe for concurrent use.
type Cgroups struct {
	root    string
	paths   map[uint64]string
	unknown map[uint64]bool // not found by the last look
	looks   int
}

// Groups come and go: after this many looks in vain there are no more until Age.
const maxLooks = 2

// NewCgroups reads mounts below root when asked.
func NewCgroups(root string) *Cgroups {
	return &Cgroups{root: root, paths: map[uint64]string{}, unknown: map[uint64]bool{}}
}

// Age lets groups that were not found be looked for again. It is called once an interval.
func (c *Cgroups) Age() {
	c.looks = 0
	clear(c.unknown)
}

// Path is a group's path within its hierarchy; "" if it is not found.
func (c *Cgroups) Path(id uint64) string {
	if path, ok := c.paths[id]; ok || c.unknown[id] || c.looks >= maxLooks {
		return path
	}
	c.looks++
	c.look()
	path, ok := c.paths[id]
	if !ok {
		c.unknown[id] = true
	}
	return path
}

func (c *Cgroups) look() {
	mounts, err := kernel.ReadCgroupMounts(c.root)
	if err != nil {
		return
	}
	// Ids are those of one hierarchy: what charges I/O in v1 comes before the unified one.
	for _, v1 := range []bool{false, true} {
		for _, m := range mounts {
			if m.V2 == v1 || v1 != slices.Contains(m.Controllers, "blkio") {
				continue
			}
			c.walk(m)
		}
	}
}

func (c *Cgroups) walk(m kernel.CgroupMount) {
	top := filepath.Join(c.root, m.Path)
	_ = filepath.WalkDir(top, func(dir string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return nil // gone since
		}
		info, err := d.Info()
		if err != nil {
			return nil
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok {
			c.paths[st.Ino] = filepath.Join("/", m.Root, strings.TrimPrefix(dir, top))
		}
		return nil
	})
}
