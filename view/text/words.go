// SPDX-License-Identifier: Apache-2.0

package text

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/iowitness/iowitness/blame"
	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/snapshot"
)

// mostly says that a part is so near the whole that the rest is not worth a word.
func mostly(part, whole uint64) bool { return part >= whole-whole/10 }

// causeWords names a row's largest cause, with the system call if that is the same throughout.
func causeWords(t *snapshot.Top) string {
	if mostly(t.SyscallNS, t.CauseNS) {
		return blame.Words(t.Cause, quote(t.Syscall))
	}
	return blame.Words(t.Cause, "")
}

// deviceWords tells the device of the largest cause, such as " on vda1".
func deviceWords(t *snapshot.Top) string {
	switch {
	case t.Device == "":
		return ""
	case mostly(t.DeviceNS, t.CauseNS):
		return " on " + quote(t.Device)
	}
	return " on " + quote(t.Device) + " and others"
}

// fileWords tells the file of the largest cause in so many columns; 0 is no limit.
func fileWords(t *snapshot.Top, columns int) string {
	name := fileName(t.File, t.Inode, t.FileSource)
	if name == "" || mostly(t.FileNS, t.CauseNS) {
		return fitPath(name, columns)
	}
	const others = " and others"
	if columns == 0 {
		return name + others
	}
	return fitPath(name, max(columns-len(others), 1)) + others
}

// fileName is the quoted path, or the inode where there is no path, or empty.
func fileName(path string, inode uint64, source event.FileSource) string {
	switch {
	case path != "":
		return quote(path)
	case source == event.NoFile:
		return ""
	case inode == 0:
		return "a file without a name"
	}
	return "inode " + strconv.FormatUint(inode, 10)
}

const (
	minFile = 12 // columns below which a path says nothing
	comma   = ", "
)

// waitedFor is what the row waited for, in so many columns; parts that are keys are left out.
func waitedFor(r *snapshot.Row, by []snapshot.Key, columns int) string {
	if len(r.Causes) == 0 {
		return ""
	}
	t := &r.Top
	s := ""
	if !slices.Contains(by, snapshot.ByCause) {
		s = causeShare(r) + causeWords(t)
	}
	if !slices.Contains(by, snapshot.ByDevice) {
		s += deviceWords(t)
	}
	if !slices.Contains(by, snapshot.ByFile) {
		s = withFile(s, t, columns)
	}
	for len(s) > 0 && s[0] == ' ' {
		s = s[1:]
	}
	return cut(s, columns)
}

func causeShare(r *snapshot.Row) string {
	if r.Top.CauseNS == r.Total {
		return ""
	}
	mark := ""
	if r.Sampled.Any || !r.Exact {
		mark = "~"
	}
	return mark + share(r.Top.CauseNS, r.Total) + " "
}

// withFile appends the file if there is room for a part of it that can be read.
func withFile(s string, t *snapshot.Top, columns int) string {
	separator := comma
	if s == "" {
		separator = ""
	}
	if columns == 0 {
		columns = 1 << 20
	}
	room := columns - columnsOf(s) - len(separator)
	name := fileWords(t, 0)
	if name == "" || room < min(minFile, columnsOf(name)) {
		return s
	}
	return s + separator + fileWords(t, room)
}

// waitedBy names the process that waited most.
func waitedBy(r *snapshot.Row) string {
	name := processName(r.Top.Comm, r.Top.PID)
	if r.Processes > 1 {
		return fmt.Sprintf("%s of %d: %s", share(r.Top.ProcessNS, r.Total), r.Processes, name)
	}
	return name
}

func processName(comm string, pid uint32) string {
	switch {
	case pid == 0:
		return quote(comm)
	case comm == "":
		return fmt.Sprintf("pid %d", pid)
	}
	return fmt.Sprintf("%s (pid %d)", quote(comm), pid)
}
