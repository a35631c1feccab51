// SPDX-License-Identifier: Apache-2.0

package identity_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/iowitness/iowitness/identity"
)

func TestCgroupsAreFoundByTheirIds(t *testing.T) {
	top := t.TempDir()
	asked := 0
	c := identity.NewCgroups(func() []identity.CgroupHierarchy {
		asked++
		return []identity.CgroupHierarchy{{Dir: top, Root: "/outer"}, {Dir: filepath.Join(top, "gone"), Root: "/"}}
	})
	id := func(path string) uint64 {
		t.Helper()
		dir := filepath.Join(top, path)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(dir)
		if err != nil {
			t.Fatal(err)
		}
		return info.Sys().(*syscall.Stat_t).Ino
	}
	a, b := id("a/b"), id("")
	if got := c.Path(a); got != "/outer/a/b" {
		t.Errorf("%q", got)
	}
	if got := c.Path(b); got != "/outer" {
		t.Errorf("%q", got)
	}
	for range 10 {
		if got := c.Path(1<<63 + 5); got != "" {
			t.Errorf("%q", got)
		}
	}
	if asked > 2 {
		t.Errorf("looked %d times in one interval", asked)
	}
	late := id("late")
	c.Age()
	if got := c.Path(late); got != "/outer/late" {
		t.Errorf("made later: %q", got)
	}
}
