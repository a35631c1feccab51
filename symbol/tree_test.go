// SPDX-License-Identifier: Apache-2.0

package symbol_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/iowitness/iowitness/symbol"
)

// tree is a /proc with one process, 7, that was not allowed to be looked into by map_files.
type tree struct {
	root, container string
	inode           uint64
}

func newTree(t *testing.T, program string) *tree {
	t.Helper()
	tr := &tree{root: t.TempDir(), container: t.TempDir()}
	content, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(tr.container, "opt/program"), string(content))
	info, err := os.Stat(filepath.Join(tr.container, "opt/program"))
	if err != nil {
		t.Fatal(err)
	}
	tr.inode = info.Sys().(*syscall.Stat_t).Ino
	write(t, filepath.Join(tr.root, "proc/7/stat"), "7 (a) b) S"+strings.Repeat(" 1", 40)+"\n")
	if err := os.Symlink(tr.container, filepath.Join(tr.root, "proc/7/root")); err != nil {
		t.Fatal(err)
	}
	tr.status(t, os.Geteuid(), 7)
	return tr
}

func (tr *tree) status(t *testing.T, uid, nspid int) {
	t.Helper()
	write(t, filepath.Join(tr.root, "proc/7/status"), fmt.Sprintf("Name:\ta\nUid:\t0\t%d\t0\t0\nNSpid:\t7\t%d\n", uid, nspid))
}

func (tr *tree) maps(t *testing.T, inode uint64, more string) {
	t.Helper()
	line := fmt.Sprintf("400000-%x r-xp 00000000 08:01 %d    /opt/program%s\n", 0x400000+0x100000, inode, more)
	write(t, filepath.Join(tr.root, "proc/7/maps"), line+"7f0000000000-7f0000001000 rwxp 00000000 00:00 0\n")
}

// TestContainer: a file is found below the process's root, if it is still the one that is mapped.
func TestContainer(t *testing.T) {
	program := buildC(t, cSource, "-static")
	leaf := uint64(0)
	for start, f := range truthOf(t, program, any) {
		if f.names[0] == "leaf" {
			leaf = start
		}
	}
	for name, c := range map[string]struct {
		inode uint64 // added to the right one
		more  string
		found bool
	}{
		"the same":       {found: true},
		"another inode":  {inode: 1},
		"deleted":        {more: " (deleted)"},
		"another folder": {more: "x"},
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTree(t, program)
			tr.maps(t, tr.inode+c.inode, c.more)
			r := symbol.New(tr.root, symbol.Options{})
			defer r.Close()
			learned(t, r, 7, 1)
			f := r.Resolve(7, 1, leaf) // linked at 0x400000, its first byte is that of the file
			if c.found && f.Name != "leaf" || !c.found && (f.Name != "" || r.Losses().Modules == 0) || !strings.HasPrefix(f.Module, "program") {
				t.Errorf("%+v, %+v", f, r.Losses())
			}
		})
	}
}

// TestPerfMapInContainer: the map has the number that the process knows itself by.
func TestPerfMapInContainer(t *testing.T) {
	tr := newTree(t, buildC(t, cSource))
	tr.maps(t, tr.inode, "")
	tr.status(t, os.Geteuid(), 1)
	write(t, filepath.Join(tr.container, "tmp/perf-1.map"), "7f0000000000 10 own\n")
	write(t, filepath.Join(tr.container, "tmp/perf-7.map"), "7f0000000000 10 other\n")
	r := symbol.New(tr.root, symbol.Options{})
	defer r.Close()
	learned(t, r, 7, 1)
	if f := r.Resolve(7, 1, 0x7f0000000004); f.Name != "own" || f.Kind != symbol.JIT || f.Offset != 4 {
		t.Errorf("%+v", f)
	}
}

// TestOldLibraries: what a program had loaded and unloaded is named, also later.
func TestOldLibraries(t *testing.T) {
	program := buildC(t, cSource, "-static")
	tr := newTree(t, program)
	tr.maps(t, tr.inode, "")
	r := symbol.New(tr.root, symbol.Options{})
	defer r.Close()
	learned(t, r, 7, 10)
	write(t, filepath.Join(tr.root, "proc/7/maps"), "7f0000000000-7f0000001000 rwxp 00000000 00:00 0\n")
	learned(t, r, 7, 20)
	for _, at := range []uint64{1, 10, 15, 20, 25} {
		if f := r.Resolve(7, at, 0x400000); f.Module != "program" {
			t.Errorf("at %d: %+v", at, f)
		}
	}
	// An end of all code is one of the process, which takes nothing from what is known.
	write(t, filepath.Join(tr.root, "proc/7/maps"), "")
	learned(t, r, 7, 30)
	if f := r.Resolve(7, 30, 0x400000); f.Module != "program" {
		t.Errorf("at its end: %+v", f)
	}
	write(t, filepath.Join(tr.root, "proc/7/stat"), "7 (a")
	if err := r.Learn(7, 40); err == nil {
		t.Error("a stat without fields was taken")
	}
}
