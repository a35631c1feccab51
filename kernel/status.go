// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Inode numbers that the kernel fixes for its first namespaces
// (include/uapi/linux/nsfs.h and proc_ns.h: PROC_PID_INIT_INO, PROC_USER_INIT_INO).
const (
	initialPIDNamespace  = "pid:[4026531836]"
	initialUserNamespace = "user:[4026531837]"
)

// Status is what /proc/self/status says of this process's rights.
type Status struct {
	Effective uint64   // capability bits in effect (CapEff)
	Seccomp   int      // 0: none, 1: strict, 2: a filter is active; -1: unknown
	NSPIDs    []uint32 // see Facts
}

// ReadStatus reads proc/self/status below root.
func ReadStatus(root string) (Status, error) {
	text, err := readText(root, "proc/self/status")
	if err != nil {
		return Status{}, fmt.Errorf("this process's capabilities cannot be read; is /proc mounted? %w", err)
	}
	return ParseStatus(text)
}

// ParseStatus reads the text of a /proc/PID/status file (proc_pid_status(5)).
func ParseStatus(text string) (Status, error) {
	s := Status{Seccomp: UnknownNumber}
	found := false
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch key {
		case "CapEff":
			bits, err := strconv.ParseUint(value, 16, 64)
			if err != nil {
				return s, fmt.Errorf("CapEff is no hexadecimal number: %q", value)
			}
			s.Effective, found = bits, true
		case "Seccomp":
			if n, err := strconv.Atoi(value); err == nil && n >= 0 {
				s.Seccomp = n
			}
		case "NSpid":
			s.NSPIDs = parsePIDs(value)
		}
	}
	if !found {
		return s, fmt.Errorf("the status file has no CapEff line")
	}
	return s, nil
}

func parsePIDs(text string) []uint32 {
	var pids []uint32
	for field := range strings.FieldsSeq(text) {
		n, err := strconv.ParseUint(field, 10, 32)
		if err != nil {
			return nil
		}
		pids = append(pids, uint32(n))
	}
	return pids
}

// initialNamespace compares this process's namespace of a kind with the first one.
func initialNamespace(root, kind, first string) Setting {
	link, err := os.Readlink(filepath.Join(root, "proc/self/ns", kind))
	switch {
	case err != nil:
		return Unknown
	case link == first:
		return On
	}
	return Off
}
