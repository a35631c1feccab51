// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
)

// CgroupHierarchy is where control groups are mounted, and which of them is at that place.
type CgroupHierarchy struct{ Dir, Root string }

// Cgroups names control groups by their ids. Not safe for concurrent use.
type Cgroups struct {
	hierarchies func() []CgroupHierarchy
	paths       map[uint64]string
	unknown     map[uint64]bool // not found by the last look
	looks       int
}

// Groups come and go: after this many looks in vain there are no more until Age.
const maxLooks = 2

// NewCgroups looks in hierarchies, which are asked for anew each time. An id is told by the last one
// that has it.
func NewCgroups(hierarchies func() []CgroupHierarchy) *Cgroups {
	return &Cgroups{hierarchies: hierarchies, paths: map[uint64]string{}, unknown: map[uint64]bool{}}
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
	for _, h := range c.hierarchies() {
		c.walk(h)
	}
}

func (c *Cgroups) walk(h CgroupHierarchy) {
	_ = filepath.WalkDir(h.Dir, func(dir string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return nil // gone since
		}
		info, err := d.Info()
		if err != nil {
			return nil
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok {
			c.paths[st.Ino] = filepath.Join("/", h.Root, strings.TrimPrefix(dir, h.Dir))
		}
		return nil
	})
}
