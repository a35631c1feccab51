// SPDX-License-Identifier: Apache-2.0

package identity

import "strings"

// cgroupV1Order is which v1 hierarchies tell best where a process belongs.
var cgroupV1Order = [...]string{"memory", "blkio", "pids", "cpu", "name=systemd"}

// ParseCgroup finds the telling path in the text of a /proc/PID/cgroup file
// (cgroups(7)): that of v2, unless it is the root and a v1 hierarchy knows
// better. v1 says which of the two it is. ok is false if there is none at all.
func ParseCgroup(text string) (path string, v1, ok bool) {
	v2, hierarchies := cgroupPaths(text)
	if v2 != "" && v2 != "/" {
		return v2, false, true
	}
	for _, name := range cgroupV1Order {
		if path := hierarchies[name]; path != "" && path != "/" {
			return path, true, true
		}
	}
	if v2 == "" && len(hierarchies) > 0 {
		return "/", true, true
	}
	return v2, false, v2 != ""
}

// CgroupIn finds the path within one hierarchy in the text of a /proc/PID/cgroup
// file: that of a v1 controller, or "" for v2.
func CgroupIn(text, controller string) (path string, ok bool) {
	v2, v1 := cgroupPaths(text)
	if controller != "" {
		path, ok = v1[controller]
		return path, ok
	}
	return v2, v2 != ""
}

// cgroupPaths reads lines "id:controllers:path"; a path may hold colons.
func cgroupPaths(text string) (v2 string, v1 map[string]string) {
	v1 = map[string]string{}
	for line := range strings.Lines(text) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(fields) < 3 || !strings.HasPrefix(fields[2], "/") {
			continue
		}
		path := strings.TrimSuffix(fields[2], " (deleted)")
		if fields[0] == "0" && fields[1] == "" {
			v2 = path
			continue
		}
		for controller := range strings.SplitSeq(fields[1], ",") {
			v1[controller] = path
		}
	}
	return v2, v1
}
