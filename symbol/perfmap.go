// SPDX-License-Identifier: Apache-2.0

package symbol

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"strconv"
	"strings"
)

const maxPerfMap = 256 << 20

// readPerfMap makes a table of a perf map, which names the functions that a process compiles as
// it runs: lines of address, size, name. Of a function at an address that another had before, it
// takes the later.
func readPerfMap(in io.Reader) *table {
	var b builder
	lines := bufio.NewScanner(io.LimitReader(in, maxPerfMap))
	lines.Buffer(make([]byte, 0, 4<<10), 64<<10)
	for lines.Scan() && !b.full {
		start, rest, _ := bytes.Cut(lines.Bytes(), []byte{' '})
		size, name, _ := bytes.Cut(rest, []byte{' '})
		from, err1 := hexadecimal(start)
		length, err2 := hexadecimal(size)
		if err1 == nil && err2 == nil && length > 0 && bytes.IndexByte(name, 0) < 0 {
			b.add(from, length, name, 0)
		}
	}
	return b.buildLatest()
}

func hexadecimal(text []byte) (uint64, error) {
	return strconv.ParseUint(strings.TrimPrefix(string(text), "0x"), 16, 64)
}

// holdPerfMap takes hold of /tmp/perf-PID.map as the process sees it. Another user's file is not
// believed: anyone may write to /tmp.
func holdPerfMap(root *os.File, pid, owner uint32) (held, error) {
	h, err := holdBeneath(root, "/tmp/perf-"+strconv.FormatUint(uint64(pid), 10)+".map")
	if err != nil {
		return h, err
	}
	if h.owner != owner && h.owner != 0 {
		h.close()
		return held{}, os.ErrPermission
	}
	h.key.size, h.key.modified = 0, 0 // it grows, and stays the same file
	return h, nil
}
