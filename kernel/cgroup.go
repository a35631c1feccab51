// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// CgroupMount is one mounted cgroup hierarchy.
type CgroupMount struct {
	Path string // mount point
	Root string // the cgroup that is mounted there; "/" unless in a container
	// Controllers of a v1 hierarchy, "name=systemd" included; nil for v2, whose
	// controllers are listed in its cgroup.controllers.
	Controllers []string
	V2          bool
}

// ReadCgroupMounts lists the cgroup hierarchies that proc/self/mountinfo below
// root shows, in its order.
func ReadCgroupMounts(root string) ([]CgroupMount, error) {
	text, err := readText(root, "proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("the cgroup hierarchies cannot be found; is /proc mounted? %w", err)
	}
	return ParseCgroupMounts(text), nil
}

// ChargesWriteback says whether writeback can be charged to the cgroup of whoever dirtied the
// data: block I/O and memory must both be controlled by the unified hierarchy.
func ChargesWriteback(root string) (bool, error) {
	mounts, err := ReadCgroupMounts(root)
	if err != nil {
		return false, err
	}
	for _, m := range mounts {
		if !m.V2 {
			continue
		}
		text, err := readText(root, filepath.Join(m.Path, "cgroup.controllers"))
		if err != nil {
			return false, err
		}
		all := strings.Fields(text)
		if slices.Contains(all, "io") && slices.Contains(all, "memory") {
			return true, nil
		}
	}
	return false, nil
}

// ParseCgroupMounts finds the cgroup hierarchies in the text of a mountinfo
// file (proc_pid_mountinfo(5)); lines of other kinds are passed over.
func ParseCgroupMounts(text string) []CgroupMount {
	var mounts []CgroupMount
	for line := range strings.Lines(text) {
		if m, ok := parseCgroupMount(line); ok {
			mounts = append(mounts, m)
		}
	}
	return mounts
}

func parseCgroupMount(line string) (CgroupMount, bool) {
	before, after, found := strings.Cut(line, " - ")
	place, kind := strings.Fields(before), strings.Fields(after)
	if !found || len(place) < 5 || len(kind) < 3 {
		return CgroupMount{}, false
	}
	m := CgroupMount{Path: unescapeOctal(place[4]), Root: unescapeOctal(place[3])}
	switch kind[0] {
	case "cgroup2":
		m.V2 = true
	case "cgroup":
		m.Controllers = v1Controllers(kind[2])
	default:
		return CgroupMount{}, false
	}
	return m, true
}

// v1Controllers drops the options of a v1 mount that are no controllers.
func v1Controllers(options string) []string {
	return slices.DeleteFunc(strings.Split(options, ","), func(o string) bool {
		switch o {
		case "rw", "ro", "xattr", "noprefix", "clone_children", "cpuset_v2_mode", "favordynmods", "none":
			return true
		}
		return strings.HasPrefix(o, "release_agent=")
	})
}

// unescapeOctal undoes mountinfo's escapes of space, tab, newline and backslash: "\040".
func unescapeOctal(text string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`, `\043`, "#").Replace(text)
}
