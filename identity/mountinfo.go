// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/iowitness/iowitness/event"
)

// Mount is one line of a mountinfo file (proc_pid_mountinfo(5)).
type Mount struct {
	ID uint64 // as long as it is mounted; /proc/PID/fdinfo names it
	// Dev is the superblock's device. With btrfs it differs from the st_dev
	// that stat(2) gives, which is the subvolume's.
	Dev    event.Dev
	Root   string // what of the file system is mounted
	Point  string // where, as the reader of the file sees it
	FSType string
	Source string // e.g. "/dev/vda1", "server:/export"
}

// ParseMounts reads the text of a mountinfo file; lines that make no sense are
// passed over, so that one of them does not hide the others.
func ParseMounts(text string) []Mount {
	var mounts []Mount
	for line := range strings.Lines(text) {
		if m, err := parseMount(strings.TrimSuffix(line, "\n")); err == nil {
			mounts = append(mounts, m)
		}
	}
	return mounts
}

func parseMount(line string) (Mount, error) {
	before, after, found := strings.Cut(line, " - ")
	place, kind := strings.Split(before, " "), strings.Split(after, " ")
	if !found || len(place) < 6 || len(kind) < 2 {
		return Mount{}, fmt.Errorf("a mountinfo line has too few fields: %q", line)
	}
	dev, err := ParseDev(place[2])
	if err != nil {
		return Mount{}, err
	}
	id, err := strconv.ParseUint(place[0], 10, 64)
	if err != nil {
		return Mount{}, fmt.Errorf("a mountinfo line has no id: %w", err)
	}
	return Mount{
		ID: id, Dev: dev, Root: unescape(place[3]), Point: unescape(place[4]),
		FSType: unescape(kind[0]), Source: unescape(kind[1]),
	}, nil
}

// ParseDev reads a device number such as "254:1".
func ParseDev(text string) (event.Dev, error) {
	major, minor, found := strings.Cut(strings.TrimSpace(text), ":")
	high, err1 := strconv.ParseUint(major, 10, 12)
	low, err2 := strconv.ParseUint(minor, 10, 20)
	if !found || err1 != nil || err2 != nil {
		return 0, fmt.Errorf("%q is no device number of the form major:minor", text)
	}
	return event.MakeDev(uint32(high), uint32(low)), nil
}

// unescape undoes the kernel's octal escapes, such as \040 for a space.
func unescape(text string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		if code, ok := octal(text[i:]); ok {
			out.WriteByte(code)
			i += 3
			continue
		}
		out.WriteByte(text[i])
	}
	return out.String()
}

func octal(text string) (byte, bool) {
	if len(text) < 4 || text[0] != '\\' {
		return 0, false
	}
	code, err := strconv.ParseUint(text[1:4], 8, 8)
	return byte(code), err == nil
}
