// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

const hybridMounts = `30 29 0:26 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
31 29 0:27 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio
32 29 0:28 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd
33 29 0:29 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
`

// TestFindCgroup: by its path in a hierarchy, the unified one first, or by its directory.
func TestFindCgroup(t *testing.T) {
	root := t.TempDir()
	inode := map[string]uint64{}
	for _, dir := range []string{"memory/docker/a", "blkio/docker/a", "blkio/only", "systemd/named", "unified/both", "memory/both"} {
		path := filepath.Join(root, "sys/fs/cgroup", dir)
		if err := os.MkdirAll(path, 0o755); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		inode[dir] = info.Sys().(*syscall.Stat_t).Ino
	}
	if err := os.MkdirAll(filepath.Join(root, "proc/self"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "proc/self/mountinfo"), []byte(hybridMounts), 0o644); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]struct{ controller, dir string }{
		"/docker/a":                  {"memory", "memory/docker/a"},
		"docker/a/":                  {"memory", "memory/docker/a"},
		"/only":                      {"blkio", "blkio/only"},
		"/both":                      {"", "unified/both"},
		"/sys/fs/cgroup/blkio/only":  {"blkio", "blkio/only"},
		"/sys/fs/cgroup/memory/both": {"memory", "memory/both"},
	} {
		got, err := findCgroup(root, path)
		if err != nil || got.Controller != want.controller || got.ID != inode[want.dir] {
			t.Errorf("%s: %+v, %v; want %s", path, got, err, want.dir)
		}
	}
	for _, path := range []string{"/none", "/named", "/sys/fs/cgroup/blkio/none"} {
		if got, err := findCgroup(root, path); err == nil {
			t.Errorf("%s: %+v", path, got)
		}
	}
}
