// SPDX-License-Identifier: Apache-2.0

// Package tracefs speaks with the kernel's tracing file system: formats of
// events, return probes by kprobe_events, instances with buffers of their own,
// and the binary pages of these buffers. It never touches what is common to all
// tracers: tracing_on, the global buffer, other instances and their probes.
package tracefs

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

const magic = 0x74726163 // TRACEFS_MAGIC of linux/magic.h

// ErrUnsupported is wrapped by errors that say that this kernel, or these privileges, give no tracing file system.
var ErrUnsupported = errors.New("the tracing file system cannot be used here")

// FS is an open directory of the tracing file system.
type FS struct {
	root   *os.Root
	system string // root of the machine's files: "/" normally
}

// Open finds where tracefs is mounted below root ("/" normally); where it is
// not, it makes a mount of its own that no path leads to and that ends with the
// process. Below another root any directory at the usual place is taken, so that
// a fixture tree tests the readers.
func Open(root string) (*FS, error) {
	for _, dir := range candidates(root) {
		if !isTracefs(root, dir) {
			continue
		}
		if r, err := os.OpenRoot(filepath.Join(root, dir)); err == nil {
			return &FS{r, root}, nil
		}
	}
	if root != "/" {
		return nil, fmt.Errorf("there is no tracefs below %s: %w", root, fs.ErrNotExist)
	}
	r, err := mountDetached("tracefs")
	if err != nil {
		return nil, unsupported{fmt.Errorf("tracefs is not mounted where this process may read it, and it may not mount it for itself (%w): "+
			"mount it with: mount -t tracefs tracefs /sys/kernel/tracing, into a container too", err)}
	}
	return &FS{r, root}, nil
}

// unsupported is ErrUnsupported in words of its own.
type unsupported struct{ error }

func (u unsupported) Unwrap() []error { return []error{u.error, ErrUnsupported} }

// candidates are the usual places, then all mounts.
func candidates(root string) []string {
	dirs := []string{"/sys/kernel/tracing", "/sys/kernel/debug/tracing"}
	f, err := os.Open(filepath.Join(root, "proc/self/mounts"))
	if err != nil {
		return dirs
	}
	defer f.Close()
	return append(dirs, parseMounts(f)...)
}

func parseMounts(r io.Reader) (dirs []string) {
	for lines := bufio.NewScanner(r); lines.Scan(); {
		if fields := strings.Fields(lines.Text()); len(fields) > 2 && fields[2] == "tracefs" {
			dirs = append(dirs, fields[1])
		}
	}
	return dirs
}

func isTracefs(root, dir string) bool {
	if root != "/" {
		_, err := os.Stat(filepath.Join(root, dir))
		return err == nil
	}
	var st unix.Statfs_t
	return unix.Statfs(dir, &st) == nil && st.Type == magic
}

func mountDetached(fstype string) (*os.Root, error) {
	ctx, err := unix.Fsopen(fstype, unix.FSOPEN_CLOEXEC)
	if err != nil {
		return nil, err
	}
	defer unix.Close(ctx)
	if err := unix.FsconfigCreate(ctx); err != nil {
		return nil, err
	}
	mount, err := unix.Fsmount(ctx, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOEXEC)
	if err != nil {
		return nil, err
	}
	defer unix.Close(mount)
	return os.OpenRoot(fmt.Sprintf("/proc/self/fd/%d", mount))
}

// Place is the directory's path; "" if it is a mount of our own, to which no path leads.
func (t *FS) Place() string {
	if strings.HasPrefix(t.root.Name(), "/proc/") {
		return ""
	}
	return t.root.Name()
}

// Files are the directory's files, for those who read others than this package does.
func (t *FS) Files() fs.FS { return t.root.FS() }

// Close closes the directory; what was made in it stays.
func (t *FS) Close() error { return t.root.Close() }

func (t *FS) read(name string) (string, error) {
	f, err := t.root.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	return string(b), err
}

// write puts text into a file as one write. It never truncates: that would
// remove everyone's probes.
func (t *FS) write(name, text string) error {
	f, err := t.root.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// EventID is the number by which perf and the buffers know an event.
func (t *FS) EventID(group, name string) (uint64, error) {
	text, err := t.read(path.Join("events", group, name, "id"))
	if err != nil {
		return 0, fmt.Errorf("tracepoint %s:%s: %w", group, name, err)
	}
	return strconv.ParseUint(strings.TrimSpace(text), 10, 64)
}

// Format reads how an event's records are laid out.
func (t *FS) Format(group, name string) (*Format, error) {
	text, err := t.read(path.Join("events", group, name, "format"))
	if err != nil {
		return nil, fmt.Errorf("tracepoint %s:%s: %w", group, name, err)
	}
	f, err := ParseFormat(text)
	if err != nil {
		return nil, fmt.Errorf("tracepoint %s:%s: %w", group, name, err)
	}
	return f, nil
}
