// SPDX-License-Identifier: Apache-2.0

package taskstats

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/identity"
)

// maxKnown bounds what is remembered of files and mounts.
const maxKnown = 4096

// files finds what a descriptor of a process is open on. It only reads /proc and
// /sys: to ask a file system could take for ever, where that is what threads wait for.
type files struct {
	root   string
	proc   *proc
	known  map[fileKey]event.File
	mounts map[uint64]identity.Mount // by id; ids are used again
	age    uint64                    // instant at which mounts were forgotten
}

type fileKey struct {
	target string
	mount  uint64
	ino    uint64
}

func newFiles(root string, p *proc) *files {
	return &files{root: root, proc: p, known: map[fileKey]event.File{}, mounts: map[uint64]identity.Mount{}}
}

// mountsAge is how long, in ns, a mount's id is trusted.
const mountsAge = 30_000_000_000

// find is false for what is no file of a file system: sockets, pipes and the like.
func (f *files) find(pid, fd uint32) (event.File, bool) {
	number := strconv.FormatUint(uint64(fd), 10)
	target, err := os.Readlink(f.proc.process(pid, "fd/"+number))
	if err != nil || !strings.HasPrefix(target, "/") {
		return event.File{}, false
	}
	text, err := f.proc.text(f.proc.process(pid, "fdinfo/"+number))
	if err != nil {
		return event.File{}, false
	}
	key := fileKey{target: target, mount: lineOf(text, "mnt_id:"), ino: lineOf(text, "ino:")}
	if file, ok := f.known[key]; ok {
		return file, true
	}
	mount, ok := f.mount(pid, key.mount)
	if !ok {
		return event.File{}, false
	}
	file := f.fileOn(&mount, strings.TrimSuffix(target, " (deleted)"), key.ino)
	if len(f.known) >= maxKnown {
		clear(f.known)
	}
	f.known[key] = file
	return file, true
}

// fileOn turns a path as mounts show it to one within its file system, as the
// other means of witnessing tell it. A block device's node is the device.
func (f *files) fileOn(mount *identity.Mount, path string, ino uint64) event.File {
	file := event.File{Source: event.ByFD, Dev: mount.Dev, Ino: ino}
	if mount.FSType == "devtmpfs" || mount.FSType == "tmpfs" {
		text, err := os.ReadFile(filepath.Join(f.root, "sys/class/block", filepath.Base(path), "dev"))
		if dev, bad := identity.ParseDev(string(text)); err == nil && bad == nil {
			file.Dev, file.BlockDevice = dev, true
		}
	}
	rest, inside := strings.CutPrefix(path, strings.TrimSuffix(mount.Point, "/"))
	if !inside {
		rest = path // as seen from elsewhere
	}
	file.Path = strings.TrimSuffix(mount.Root, "/") + rest
	return file
}

func (f *files) mount(pid uint32, id uint64) (identity.Mount, bool) {
	now := instant(monotonic)
	if since(now, f.age) > mountsAge || len(f.mounts) >= maxKnown {
		clear(f.mounts)
		clear(f.known)
		f.age = now
	}
	if m, ok := f.mounts[id]; ok {
		return m, true
	}
	text, err := os.ReadFile(f.proc.process(pid, "mountinfo"))
	if err != nil {
		return identity.Mount{}, false
	}
	for _, m := range identity.ParseMounts(string(text)) {
		f.mounts[m.ID] = m
	}
	m, ok := f.mounts[id]
	return m, ok
}

// lineOf is the number in the line that begins with a key; 0 if there is none.
func lineOf(text []byte, key string) uint64 {
	for line := range bytes.Lines(text) {
		if value, ok := bytes.CutPrefix(line, []byte(key)); ok {
			n, _ := decimal(bytes.TrimSpace(value))
			return n
		}
	}
	return 0
}
