// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Setting is the state of a kernel switch, or of a part that may be missing.
type Setting string

// The states of a Setting.
const (
	On      Setting = "on"
	Off     Setting = "off"
	Absent  Setting = "absent"  // this kernel does not have it
	Unknown Setting = "unknown" // it could not be read
)

// UnknownNumber stands for a numeric setting that could not be read.
const UnknownNumber = -1

// Facts is what the running kernel says of itself. It is read once, at start;
// only BPFStats is likely to change while iowitness runs.
type Facts struct {
	Release  string   // as uname -r prints it, e.g. "6.1.0-44-amd64"; "": unknown
	Arch     string   // as uname -m prints it, e.g. "x86_64"; "": unknown
	BTF      Setting  // On: /sys/kernel/btf/vmlinux is there; Absent or Unknown otherwise
	Lockdown string   // "none", "integrity", "confidentiality" or "unknown" (securityfs is not mounted, or the kernel has no lockdown)
	LSMs     []string // active security modules in their order; nil: unknown

	KptrRestrict            int // kernel.kptr_restrict: 0, 1 or 2; -1: unknown
	UnprivilegedBPFDisabled int // kernel.unprivileged_bpf_disabled: 0, 1 or 2; -1: unknown

	TaskDelayacct Setting // kernel.task_delayacct (5.14 and later); Unknown where the file is missing: older kernels decide it at boot
	Schedstats    Setting // kernel.sched_schedstats; Absent without CONFIG_SCHEDSTATS
	BPFStats      Setting // kernel.bpf_stats_enabled: the kernel measures run times of BPF programs

	// InitialPIDNamespace says whether this process is in the kernel's first
	// pid namespace, where pids in /proc are those that the kernel side reports.
	InitialPIDNamespace Setting
	// NSPIDs are this process's pids from the namespace of the /proc mount
	// inwards; more than one: /proc shows an outer namespace. nil: unknown.
	NSPIDs []uint32
}

// Read gathers the facts from the files below root. It never fails: what
// cannot be read is unknown.
func Read(root string) Facts {
	f := Facts{
		Arch:                    arch(root),
		BTF:                     presence(root, "sys/kernel/btf/vmlinux"),
		Lockdown:                lockdown(root),
		LSMs:                    modules(root),
		KptrRestrict:            number(root, "proc/sys/kernel/kptr_restrict"),
		UnprivilegedBPFDisabled: number(root, "proc/sys/kernel/unprivileged_bpf_disabled"),
		TaskDelayacct:           knownSwitch(root, "proc/sys/kernel/task_delayacct"),
		Schedstats:              toggle(root, "proc/sys/kernel/sched_schedstats"),
		BPFStats:                knownSwitch(root, "proc/sys/kernel/bpf_stats_enabled"),
		InitialPIDNamespace:     initialNamespace(root, "pid", initialPIDNamespace),
	}
	f.Release, _ = readText(root, "proc/sys/kernel/osrelease")
	if status, err := ReadStatus(root); err == nil {
		f.NSPIDs = status.NSPIDs
	}
	return f
}

// arch asks uname where the kernel lacks the file (before 6.1).
func arch(root string) string {
	if name, err := readText(root, "proc/sys/kernel/arch"); err == nil {
		return name
	}
	var u unix.Utsname
	if root != "/" || unix.Uname(&u) != nil {
		return ""
	}
	return unix.ByteSliceToString(u.Machine[:])
}

func presence(root, path string) Setting {
	_, err := os.Stat(filepath.Join(root, path))
	switch {
	case err == nil:
		return On
	case errors.Is(err, fs.ErrNotExist):
		return Absent
	}
	return Unknown
}

func lockdown(root string) string {
	text, err := readText(root, "sys/kernel/security/lockdown")
	if err != nil {
		return string(Unknown)
	}
	return parseLockdown(text)
}

// parseLockdown finds the level in brackets: "none [integrity] confidentiality".
func parseLockdown(text string) string {
	for level := range strings.FieldsSeq(text) {
		switch level {
		case "[none]", "[integrity]", "[confidentiality]":
			return strings.Trim(level, "[]")
		}
	}
	return string(Unknown)
}

func modules(root string) []string {
	text, err := readText(root, "sys/kernel/security/lsm")
	if err != nil || text == "" {
		return nil
	}
	return strings.Split(text, ",")
}

func number(root, path string) int {
	text, err := readText(root, path)
	if err != nil {
		return UnknownNumber
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return UnknownNumber
	}
	return n
}

func toggle(root, path string) Setting {
	if presence(root, path) == Absent {
		return Absent
	}
	switch number(root, path) {
	case UnknownNumber:
		return Unknown
	case 0:
		return Off
	}
	return On
}

// knownSwitch is for settings whose missing file does not mean a missing feature.
func knownSwitch(root, path string) Setting {
	if s := toggle(root, path); s != Absent {
		return s
	}
	return Unknown
}
