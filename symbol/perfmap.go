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

const (
	maxPerfMap  = 256 << 20
	longestLine = 64 << 10
)

// readPerfMap makes a table of a perf map of some size, which names the functions that a process
// compiles as it runs: lines of address, size, name. Of functions that overlap it takes the later,
// and of a map that is too long its end. Lines that are none are passed over, however long.
func readPerfMap(in io.ReaderAt, size int64) *table {
	from := max(size-maxPerfMap, 0)
	lines := bufio.NewReaderSize(io.NewSectionReader(in, from, size-from), longestLine)
	whole := from == 0
	var b builder
	for !b.full {
		line, err := lines.ReadSlice('\n')
		if whole && err != bufio.ErrBufferFull {
			b.addCompiled(bytes.TrimRight(line, "\r\n"))
		}
		if whole = err == nil; err != nil && err != bufio.ErrBufferFull {
			break
		}
	}
	return b.buildLatest()
}

func (b *builder) addCompiled(line []byte) {
	start, rest, _ := bytes.Cut(line, []byte{' '})
	size, name, _ := bytes.Cut(rest, []byte{' '})
	from, err1 := hexadecimal(start)
	length, err2 := hexadecimal(size)
	if err1 == nil && err2 == nil && length > 0 && bytes.IndexByte(name, 0) < 0 {
		b.add(from, length, name, 0)
	}
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
