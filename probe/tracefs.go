// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

const tracefsMagic = 0x74726163

// tracefs is an open directory of the tracing file system.
type tracefs struct{ root *os.Root }

// openTracefs finds where tracefs is mounted; where it is not, it makes a mount
// of its own that no path leads to and that ends with the process.
func openTracefs() (*tracefs, error) {
	for _, dir := range tracefsDirs() {
		var fs unix.Statfs_t
		if unix.Statfs(dir, &fs) == nil && fs.Type == tracefsMagic {
			root, err := os.OpenRoot(dir)
			if err == nil {
				return &tracefs{root}, nil
			}
		}
	}
	root, err := mountDetached("tracefs")
	if err != nil {
		return nil, fmt.Errorf("tracefs is not mounted where this process may read it, and it may not mount it for itself (%w): "+
			"mount it with: mount -t tracefs tracefs /sys/kernel/tracing, into a container too", err)
	}
	return &tracefs{root}, nil
}

func tracefsDirs() []string {
	dirs := []string{"/sys/kernel/tracing", "/sys/kernel/debug/tracing"}
	f, err := os.Open("/proc/self/mounts")
	if err != nil {
		return dirs
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if fields := strings.Fields(lines.Text()); len(fields) > 2 && fields[2] == "tracefs" {
			dirs = append(dirs, fields[1])
		}
	}
	return dirs
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

func (t *tracefs) close() { t.root.Close() }

func (t *tracefs) read(path string) (string, error) {
	f, err := t.root.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	return string(b), err
}

// eventID is the number by which perf knows a tracepoint.
func (t *tracefs) eventID(group, name string) (uint64, error) {
	text, err := t.read("events/" + group + "/" + name + "/id")
	if err != nil {
		return 0, fmt.Errorf("tracepoint %s:%s: %w", group, name, err)
	}
	return strconv.ParseUint(strings.TrimSpace(text), 10, 64)
}

func (t *tracefs) offsets(group, name string) (map[string]uint32, error) {
	text, err := t.read("events/" + group + "/" + name + "/format")
	if err != nil {
		return nil, fmt.Errorf("tracepoint %s:%s: %w", group, name, err)
	}
	return parseFormat(text)
}

var formatField = regexp.MustCompile(`field:[^;]*?\b(\w+)(?:\[[^\]]*\])?;\s*offset:(\d+);`)

// parseFormat gives the offset of each field of an event's format file.
func parseFormat(text string) (map[string]uint32, error) {
	offsets := map[string]uint32{}
	for _, m := range formatField.FindAllStringSubmatch(text, -1) {
		n, err := strconv.ParseUint(m[2], 10, 16)
		if err != nil {
			return nil, fmt.Errorf("field %s: offset %s", m[1], m[2])
		}
		offsets[m[1]] = uint32(n)
	}
	if len(offsets) == 0 {
		return nil, errors.New("no fields in the event's format")
	}
	return offsets, nil
}
