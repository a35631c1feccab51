// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"path"
	"strings"
)

// Source says where a process's names are from.
type Source uint8

// The sources, least first.
const (
	FromNowhere Source = iota // nothing but the pid is known
	FromProc                  // read in /proc while it lived
	FromKernel                // told by the kernel side at a wait
)

// Process is what is known of a process. Strings are as the kernel has them,
// in any bytes (see Quote); an empty one is not known.
type Process struct {
	PID        uint32
	Comm       string // of its leader, up to 15 bytes
	Exe        string
	ExeDeleted bool // the executable is no longer there: replaced or removed
	ExePartial bool // Exe is only the path within its file system, or the end of it
	Cgroup     string
	CgroupV1   bool // Cgroup is of a v1 hierarchy
	Container  Container
	UID        uint32
	User       string // decimal where the user has no name
	PPID       uint32
	NSPID      uint32 // pid in its innermost pid namespace; 0: not known
	Kernel     bool   // a kernel thread
	StartTime  uint64 // ns since boot (CLOCK_BOOTTIME); in steps of 10 ms if from /proc
	Ended      bool   // it is known to have ended
	Known      Source
}

// cutComm is the length at which the kernel cuts a command.
const cutComm = 15

// Display is the name to show: the leader's command, in brackets for a kernel
// thread; where the kernel cut it, the executable's name if that continues it.
func (p Process) Display() string {
	switch {
	case p.Comm == "":
		return ""
	case p.Kernel:
		return "[" + p.Comm + "]"
	case len(p.Comm) == cutComm && p.Exe != "":
		if base := path.Base(p.Exe); strings.HasPrefix(base, p.Comm) {
			return base
		}
	}
	return p.Comm
}
