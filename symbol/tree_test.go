// SPDX-License-Identifier: Apache-2.0

package symbol_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

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

// forkedTree is a container in which process 7 was forked from process 5, with the same image if so told.
func forkedTree(t *testing.T, same bool) *tree {
	t.Helper()
	tr := newTree(t, buildC(t, cSource))
	tr.maps(t, tr.inode, "")
	stat := func(pid, parent, stack int) {
		fields := strings.Fields(strings.Repeat("1 ", 40))
		fields[0], fields[24] = fmt.Sprint(parent), fmt.Sprint(stack)
		write(t, filepath.Join(tr.root, fmt.Sprintf("proc/%d/stat", pid)), fmt.Sprintf("%d (a) S %s\n", pid, strings.Join(fields, " ")))
	}
	stack := 4000
	if !same {
		stack = 5000
	}
	stat(7, 5, 4000)
	stat(5, 1, stack)
	write(t, filepath.Join(tr.root, "proc/5/status"), "Uid:\t0\t0\t0\t0\nNSpid:\t5\t3\n")
	return tr
}

// TestPerfMapOfTheParent: a child that has not called exec has the code that its parent has compiled, and its own.
func TestPerfMapOfTheParent(t *testing.T) {
	for _, same := range []bool{true, false} {
		tr := forkedTree(t, same)
		write(t, filepath.Join(tr.container, "tmp/perf-3.map"), "7f0000000000 10 parents\n7f0000000100 10 replaced\n")
		write(t, filepath.Join(tr.container, "tmp/perf-7.map"), "7f0000000100 10 own\n")
		r := symbol.New(tr.root, symbol.Options{})
		learned(t, r, 7, 1)
		parents := ""
		if same {
			parents = "parents"
		}
		for address, want := range map[uint64]string{0x7f0000000004: parents, 0x7f0000000104: "own"} {
			if f := r.Resolve(7, 1, address); f.Name != want {
				t.Errorf("same image %v: %+v, not %q", same, f, want)
			}
		}
		r.Close()
	}
}

// TestPerfMapOfAForkedChild: the same, where the fork was seen.
func TestPerfMapOfAForkedChild(t *testing.T) {
	tr := newTree(t, buildC(t, cSource))
	tr.maps(t, tr.inode, "")
	write(t, filepath.Join(tr.container, "tmp/perf-7.map"), "7f0000000000 10 parents\n")
	r := symbol.New(tr.root, symbol.Options{})
	defer r.Close()
	learned(t, r, 7, 1)
	r.Forked(7, 8, 2)
	if f := r.Resolve(8, 3, 0x7f0000000004); f.Name != "parents" {
		t.Errorf("before it was looked at: %+v", f)
	}
	for _, name := range []string{"stat", "maps"} {
		text, err := os.ReadFile(filepath.Join(tr.root, "proc/7", name))
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(tr.root, "proc/8", name), string(text))
	}
	write(t, filepath.Join(tr.root, "proc/8/status"), "Uid:\t0\t0\t0\t0\nNSpid:\t8\n")
	if err := os.Symlink(tr.container, filepath.Join(tr.root, "proc/8/root")); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(tr.container, "tmp/perf-8.map"), "7f0000000100 10 own\n")
	learned(t, r, 8, 4)
	for address, want := range map[uint64]string{0x7f0000000004: "parents", 0x7f0000000104: "own"} {
		if f := r.Resolve(8, 5, address); f.Name != want {
			t.Errorf("%+v, not %q", f, want)
		}
	}
	r.Executed(8, 6)
	if f := r.Resolve(8, 7, 0x7f0000000004); f.Name != "" {
		t.Errorf("after exec: %+v", f)
	}
}

// TestPerfMapThatIsReplaced: where a process has compiled something else since, the later is named.
func TestPerfMapThatIsReplaced(t *testing.T) {
	tr := newTree(t, buildC(t, cSource))
	tr.maps(t, tr.inode, "")
	file := filepath.Join(tr.container, "tmp/perf-7.map")
	write(t, file, "7f0000000000 10 before\n")
	r := symbol.New(tr.root, symbol.Options{})
	defer r.Close()
	learned(t, r, 7, 1)
	for _, want := range []string{"before", "after"} {
		if f := r.Resolve(7, 1, 0x7f0000000004); f.Name != want {
			t.Errorf("%+v, not %q", f, want)
		}
		time.Sleep(1100 * time.Millisecond)
		appended(t, file, "7f0000000000 20 after\n")
	}
}

func appended(t *testing.T, file, text string) {
	t.Helper()
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(text)
		f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}
