// SPDX-License-Identifier: Apache-2.0

package symbol

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

// look is what one look at a process found, and took hold of.
type look struct {
	image    born
	owner    uint32 // effective uid
	nspid    uint32 // pid in its innermost namespace
	areas    []area
	left     uint64
	opened   []opened // for each area
	root     *os.File // nil: it could not be had
	rootKey  fileKey
	compiled held // its perf map

	inherited held // that of the process that it was forked from
}

// folder is a process's folder in /proc.
func (r *Resolver) folder(pid uint32) string {
	return filepath.Join(r.path, "proc", strconv.FormatUint(uint64(pid), 10))
}

// look looks at a process. What is known of it already is not opened again.
func (r *Resolver) look(pid uint32, last program) (l *look, err error) {
	l = &look{}
	folder := r.folder(pid)
	if l.image, err = readImage(folder + "/stat"); err != nil {
		return nil, err
	}
	l.owner, l.nspid = readOwner(folder+"/status", pid)
	maps, err := os.Open(folder + "/maps")
	if err != nil {
		return nil, err
	}
	defer maps.Close()
	if l.areas, l.left, err = parseAreas(maps, r.limits.Mappings); err != nil || len(l.areas) == 0 {
		return l, err
	}
	l.root, l.rootKey, _ = openRoot(folder + "/root")
	for _, a := range l.areas {
		o := opened{known: last.known(&a)}
		if o.known == nil {
			o = openArea(folder, a, l.root)
		}
		l.opened = append(l.opened, o)
	}
	if l.root != nil && hasAnonymous(l.areas) {
		if last.compiled == nil {
			l.compiled, _ = holdPerfMap(l.root, l.nspid, l.owner)
		}
		if last.inherited == nil {
			r.lookAtParents(l)
		}
	}
	return l, nil
}

// mostParents is how far up a perf map is looked for.
const mostParents = 4

// lookAtParents finds the perf map of the process that this one was forked from: as long as it does not
// call exec, it has the code that was compiled there. That it does not shows in where its
// program and its stack begin, which each exec chooses anew.
func (r *Resolver) lookAtParents(l *look) {
	for pid, i := l.image.parent, 0; pid > 1 && i < mostParents; i++ {
		folder := r.folder(pid)
		parent, err := readImage(folder + "/stat")
		if err != nil || parent.stack == 0 || parent.stack != l.image.stack || parent.code != l.image.code {
			return
		}
		_, nspid := readOwner(folder+"/status", pid)
		if l.inherited, err = holdPerfMap(l.root, nspid, l.owner); err == nil {
			return
		}
		pid = parent.parent
	}
}

// close lets go of what was not taken over.
func (l *look) close() {
	if l.root != nil {
		l.root.Close()
	}
	for i := range l.opened {
		l.opened[i].file.close()
	}
	l.compiled.close()
	l.inherited.close()
}

func readImage(path string) (i born, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return i, err
	}
	end := bytes.LastIndexByte(text, ')') // a command may have any bytes
	fields := strings.Fields(string(text[end+1:]))
	if end < 0 || len(fields) < 26 {
		return i, fmt.Errorf("%s has not the fields that it should", path)
	}
	var parent uint64
	for field, into := range map[int]*uint64{4: &parent, 22: &i.started, 26: &i.code, 28: &i.stack} {
		if *into, err = strconv.ParseUint(fields[field-3], 10, 64); err != nil {
			return i, fmt.Errorf("%s: field %d is not a number", path, field)
		}
	}
	i.parent = uint32(parent)
	return i, nil
}

// readOwner reads effective uid and innermost pid; what is not told stays as root's, and the pid.
func readOwner(path string, pid uint32) (owner, nspid uint32) {
	owner, nspid = 0, pid
	f, err := os.Open(path)
	if err != nil {
		return owner, nspid
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		key, value, _ := strings.Cut(lines.Text(), ":")
		fields := strings.Fields(value)
		switch {
		case key == "Uid" && len(fields) > 1:
			owner = number(fields[1], owner)
		case key == "NSpid" && len(fields) > 0:
			nspid = number(fields[len(fields)-1], nspid)
		}
	}
	return owner, nspid
}

func number(text string, otherwise uint32) uint32 {
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return otherwise
	}
	return uint32(n)
}

// opened is what was found behind an area.
type opened struct {
	known *mapping    // it is the same as before
	file  held        // none: it could not be had
	data  io.ReaderAt // of the vdso
}

// openArea takes hold of the file behind an area: that very file, even if it was deleted or
// replaced, or, where the kernel does not allow that, the one of its name if it is still the same.
func openArea(folder string, a area, root *os.File) opened {
	if a.path == "[vdso]" {
		return openVDSO(folder, a)
	}
	if a.inode == 0 {
		return opened{}
	}
	h, err := holdFile(fmt.Sprintf("%s/map_files/%x-%x", folder, a.start, a.end))
	if err == nil {
		return opened{file: h}
	}
	if a.deleted || root == nil || errors.Is(err, errNotRegular) {
		return opened{}
	}
	if h, err = holdBeneath(root, a.path); err != nil {
		return opened{}
	}
	if h.key.inode != a.inode { // the device may differ, as on btrfs and overlayfs
		h.close()
		return opened{}
	}
	return opened{file: h}
}

// special is the name of an area of no file.
func (a *area) special() string {
	switch {
	case a.path == "[vdso]" || a.path == "[vsyscall]" || a.path == "[heap]" || a.path == "[stack]" || a.path == "[uprobes]":
		return a.path
	case a.inode == 0:
		return "[anon]"
	}
	return path.Base(a.path)
}

// hasAnonymous tells whether code is in memory of no ordinary file, as that of compilers at run time.
func hasAnonymous(areas []area) bool {
	for i := range areas {
		if areas[i].special() == "[anon]" || areas[i].deleted {
			return true
		}
	}
	return false
}
