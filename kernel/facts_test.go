// SPDX-License-Identifier: Apache-2.0

package kernel_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/iowitness/iowitness/kernel"
)

func TestFactsOfAFullTree(t *testing.T) {
	root := tree(t, map[string]string{
		"proc/sys/kernel/osrelease":                 "6.1.0-44-amd64\n",
		"proc/sys/kernel/arch":                      "x86_64\n",
		"sys/kernel/btf/vmlinux":                    "x",
		"sys/kernel/security/lockdown":              "none [integrity] confidentiality\n",
		"sys/kernel/security/lsm":                   "lockdown,capability,landlock",
		"proc/sys/kernel/kptr_restrict":             "1\n",
		"proc/sys/kernel/unprivileged_bpf_disabled": "2\n",
		"proc/sys/kernel/task_delayacct":            "0\n",
		"proc/sys/kernel/sched_schedstats":          "1\n",
		"proc/sys/kernel/bpf_stats_enabled":         "0\n",
		"proc/self/ns/pid":                          "-> pid:[4026531836]",
		"proc/self/status":                          "NSpid:\t12\t3\nCapEff:\t0\n",
	})
	want := kernel.Facts{
		Release: "6.1.0-44-amd64", Arch: "x86_64", BTF: kernel.On, Lockdown: "integrity",
		LSMs:         []string{"lockdown", "capability", "landlock"},
		KptrRestrict: 1, UnprivilegedBPFDisabled: 2,
		TaskDelayacct: kernel.Off, Schedstats: kernel.On, BPFStats: kernel.Off,
		InitialPIDNamespace: kernel.On, NSPIDs: []uint32{12, 3},
	}
	if diff := cmp.Diff(want, kernel.Read(root)); diff != "" {
		t.Error(diff)
	}
}

func TestFactsOfAnEmptyTreeAreUnknown(t *testing.T) {
	want := kernel.Facts{
		BTF: kernel.Absent, Lockdown: "unknown",
		KptrRestrict: -1, UnprivilegedBPFDisabled: -1,
		TaskDelayacct: kernel.Unknown, Schedstats: kernel.Absent, BPFStats: kernel.Unknown,
		InitialPIDNamespace: kernel.Unknown,
	}
	if diff := cmp.Diff(want, kernel.Read(t.TempDir())); diff != "" {
		t.Error(diff)
	}
}

func TestFactsThatMakeNoSenseAreUnknown(t *testing.T) {
	root := tree(t, map[string]string{
		"sys/kernel/security/lockdown":     "some day",
		"proc/sys/kernel/kptr_restrict":    "many",
		"proc/sys/kernel/sched_schedstats": "",
		"proc/self/ns/pid":                 "-> pid:[4026532500]",
	})
	f := kernel.Read(root)
	if f.Lockdown != "unknown" || f.KptrRestrict != -1 || f.Schedstats != kernel.Unknown || f.InitialPIDNamespace != kernel.Off {
		t.Errorf("%+v", f)
	}
}

func TestFactsOfThisMachine(t *testing.T) {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		t.Fatal(err)
	}
	f := kernel.Read("/")
	if want := unix.ByteSliceToString(u.Release[:]); f.Release != want {
		t.Errorf("release %q, want %q", f.Release, want)
	}
	if want := unix.ByteSliceToString(u.Machine[:]); f.Arch != want {
		t.Errorf("architecture %q, want %q", f.Arch, want)
	}
}

func TestSyscallNames(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		if name := kernel.SyscallName(0); name != "" {
			t.Errorf("no table here, yet call 0 is %q", name)
		}
		return
	}
	fds := kernel.FDArguments()
	for _, c := range []struct {
		number int32
		name   string
		fd     uint8
	}{
		{unix.SYS_READ, "read", 1},
		{unix.SYS_MMAP, "mmap", 0},
		{unix.SYS_SENDFILE, "sendfile", 2},
		{unix.SYS_FSYNC, "fsync", 1},
		{unix.SYS_GETDENTS64, "getdents64", 1},
		{unix.SYS_OPENAT, "openat", 0},
		{unix.SYS_NEWFSTATAT, "newfstatat", 0},
		{unix.SYS_UNLINKAT, "unlinkat", 0},
		{unix.SYS_SYNC_FILE_RANGE, "sync_file_range", 1},
		{unix.SYS_COPY_FILE_RANGE, "copy_file_range", 1},
		{unix.SYS_PWRITEV2, "pwritev2", 1},
		{unix.SYS_RSEQ, "rseq", 0},
		{unix.SYS_IO_URING_ENTER, "io_uring_enter", 0},
		{unix.SYS_CACHESTAT, "cachestat", 1},
		{unix.SYS_MSEAL, "mseal", 0},
		{400, "", 0},
		{-1, "", 0},
		{kernel.MaxSyscalls, "", 0},
	} {
		if got := kernel.SyscallName(c.number); got != c.name {
			t.Errorf("call %d is %q, want %q", c.number, got, c.name)
		}
		if c.number >= 0 && c.number < kernel.MaxSyscalls && fds[c.number] != c.fd {
			t.Errorf("%s: descriptor in argument %d, want %d", c.name, fds[c.number], c.fd)
		}
	}
}

func TestNoDirectoryDescriptorIsTakenForAFile(t *testing.T) {
	for number, argument := range kernel.FDArguments() {
		name := kernel.SyscallName(int32(number))
		if argument != 0 && strings.HasSuffix(name, "at") && !strings.HasSuffix(name, "stat") {
			t.Errorf("%s: argument %d is a directory", name, argument)
		}
	}
}
