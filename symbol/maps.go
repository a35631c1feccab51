// SPDX-License-Identifier: Apache-2.0

package symbol

import (
	"bufio"
	"bytes"
	"io"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// area is a line of /proc/PID/maps: a stretch of memory with code.
type area struct {
	start, end, offset uint64
	device, inode      uint64
	path               string
	deleted            bool
}

// parseAreas reads the executable areas, at most so many, in the kernel's order of addresses.
// Lines that make no sense are passed over.
func parseAreas(in io.Reader, limit int) (areas []area, left uint64, err error) {
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 0, 4<<10), 64<<10)
	for lines.Scan() {
		a, ok := parseArea(lines.Bytes())
		switch {
		case !ok:
		case len(areas) == limit:
			left++
		case len(areas) > 0 && a.start < areas[len(areas)-1].end: // not in order: not the kernel's
		default:
			areas = append(areas, a)
		}
	}
	return areas, left, lines.Err()
}

func parseArea(line []byte) (a area, ok bool) {
	var fields [5][]byte
	for i := range fields {
		fields[i], line, _ = bytes.Cut(line, []byte{' '})
	}
	if permissions := fields[1]; len(permissions) != 4 || permissions[2] != 'x' {
		return a, false
	}
	start, end, _ := bytes.Cut(fields[0], []byte{'-'})
	major, minor, _ := bytes.Cut(fields[3], []byte{':'})
	numbers := [...]struct {
		text []byte
		base int
		into *uint64
	}{{start, 16, &a.start}, {end, 16, &a.end}, {fields[2], 16, &a.offset}, {fields[4], 10, &a.inode}}
	for _, n := range numbers {
		var err error
		if *n.into, err = strconv.ParseUint(string(n.text), n.base, 64); err != nil {
			return a, false
		}
	}
	high, err1 := strconv.ParseUint(string(major), 16, 32)
	low, err2 := strconv.ParseUint(string(minor), 16, 32)
	if err1 != nil || err2 != nil || a.start >= a.end {
		return a, false
	}
	a.device = unix.Mkdev(uint32(high), uint32(low))
	path := strings.ReplaceAll(string(bytes.TrimLeft(line, " ")), `\012`, "\n")
	a.path, a.deleted = strings.CutSuffix(path, " (deleted)")
	return a, true
}
