// SPDX-License-Identifier: Apache-2.0

// Package failuretest has reports on failures for tests of views.
package failuretest

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/failure"
	"github.com/iowitness/iowitness/snapshot"
)

// Names are those of the reports: functions and stacks by number.
type Names struct{ Hostile string }

var functions = []string{"vm_mmap", "load_elf_binary", "bprm_execve", "link_path_walk", "do_filp_open", "do_mmap"}

// Function, Syscall, Arguments, Begins, OfProbe and Frames implement failure.Names.
func (n *Names) Function(number uint32) string { return functions[number] + n.Hostile }

func (n *Names) Syscall(number uint32, compat bool) string {
	switch {
	case compat:
		return "32-bit call 5" + n.Hostile
	case number == 59:
		return "execve" + n.Hostile
	}
	return "openat" + n.Hostile
}

func (n *Names) Arguments(number uint32, compat bool) ([]string, [2]int) {
	switch {
	case compat:
		return nil, [2]int{}
	case number == 59:
		return []string{"path", "argv", "envp"}, [2]int{1}
	}
	return []string{"dirfd", "path", "flags", "mode"}, [2]int{2}
}

// Begins and OfProbe know none.
func (n *Names) Begins(uint64) string { return "" }
func (n *Names) OfProbe(uint64) bool  { return false }

func (n *Names) Frames(key uint64) []failure.Frame {
	names := map[uint64][]string{
		1: {"vm_mmap", "elf_map", "load_elf_binary", "bprm_execve", "__x64_sys_execve"},
		2: {"load_elf_binary", "bprm_execve", "__x64_sys_execve"},
		3: {"bprm_execve", "__x64_sys_execve"},
		4: {"send_signal_locked", "force_fatal_sig", "bprm_execve", "__x64_sys_execve"},
	}[key]
	var frames []failure.Frame
	for i, name := range names {
		frames = append(frames, failure.Frame{Address: uint64(100 + len(names) - i), Function: name + n.Hostile})
	}
	return frames
}

func ret(errno unix.Errno) uint64 { return -uint64(errno) }

// Refused is a program that the kernel refuses to run after the old one is gone.
func Refused() *failure.Report { return report("", "bad", "./bad") }

// Hostile is the same with names that would deceive a terminal or a page.
func Hostile() *failure.Report {
	const name = "\x1b[2J<b>\u202e\xff"
	return report(name, name, name)
}

// Empty has nothing that failed.
func Empty() *failure.Report {
	r := (&failure.Collector{}).Report(nil)
	return dressed(r)
}

func report(hostile, comm, path string) *failure.Report {
	c := failure.Collector{Names: &Names{hostile}}
	task := event.Task{TID: 12, PID: 12, Comm: comm}
	c.Add(&event.Signal{Task: task, Time: 150, Number: 11, Code: 0x80, TargetTID: 12, TargetPID: 12, Target: comm, Stack: 4})
	c.Add(&event.Failure{
		Task: task, Start: 100, End: 2100, Ret: ret(unix.EINVAL), Number: 59, Args: [6]uint64{0x7000, 0x7ffc00001000, 0x7ffc00002000},
		Paths: [2]event.Path{{Text: path, Read: true}}, Returns: 4, Inner: []event.ErrorReturn{
			{Place: 30, Ret: ret(unix.ENOMEM), Function: 5, Failed: true, Stack: 1},
			{Place: 40, Ret: ret(unix.EINVAL), Function: 0, Failed: true, Stack: 1},
			{Place: 80, Ret: ret(unix.EINVAL), Function: 1, Failed: true, Stack: 2},
			{Place: 90, Ret: ret(unix.EINVAL), Function: 2, Failed: true, Stack: 3},
		},
	})
	c.Add(&event.Death{Task: task, Time: 3000, Signal: 11, Dumped: true})
	other := event.Task{TID: 21, PID: 20, Comm: comm}
	open := func(path string, returns ...event.ErrorReturn) *event.Failure {
		return &event.Failure{
			Task: other, Start: 100, End: 900, Ret: ret(unix.ENOENT), Number: 257, Args: [6]uint64{ret(100), 0x7000, 0x80000, 0o644},
			Paths: [2]event.Path{{Text: path, Read: true}}, Returns: uint32(len(returns)), Inner: returns,
		}
	}
	c.Add(open("/etc/ld.so.preload"))
	c.Add(open(path+"/x", event.ErrorReturn{Place: 40, Ret: ret(unix.ENOENT), Function: 3, Failed: true}, event.ErrorReturn{Place: 60, Ret: ret(unix.ENOENT), Function: 4, Failed: true}))
	c.Add(open(path+"/y", event.ErrorReturn{Place: 40, Ret: ret(unix.ENOENT), Function: 3, Failed: true}, event.ErrorReturn{Place: 60, Ret: ret(unix.ENOENT), Function: 4, Failed: true}))
	c.Add(&event.Failure{Task: other, Ret: ret(512), Number: 5, Compat: true})
	c.Add(&event.Signal{Task: event.Task{TID: 30, PID: 30, Comm: comm}, Number: 9, TargetTID: 20, TargetPID: 20, Target: comm})
	c.Add(&event.Death{Task: other, Signal: 9})
	c.Add(&event.Death{Task: event.Task{TID: 22, PID: 20, Comm: comm}, Signal: 9}) // another thread of it
	c.Add(&event.Signal{Task: event.Task{TID: 40, PID: 40, Comm: comm}, Number: 11, Code: 1, Address: 0x10, TargetTID: 40, TargetPID: 40})
	c.Add(&event.Death{Task: event.Task{TID: 40, PID: 40, Comm: comm}, Signal: 11})
	c.Add(&event.Death{Task: event.Task{TID: 50, PID: 50, Comm: comm}, Signal: 6})
	return dressed(c.Report(map[event.FailureKey]event.FailureSum{
		{Number: 59, Errno: uint32(unix.EINVAL)}: {Count: 1, NS: 2000}, {Number: 257, Errno: uint32(unix.ENOENT)}: {Count: 1500, NS: 90000},
		{Number: 5, Compat: true, Errno: 512}: {Count: 1, NS: 10}, {Number: 257, Errno: uint32(unix.EACCES)}: {Count: 7, NS: 70},
	}))
}

func dressed(r *failure.Report) *failure.Report {
	r.Version, r.Kernel, r.Means, r.Scope, r.Functions, r.Attach = "1.0", "6.1.0", "fexit", "the command and its children", 198, 350*time.Millisecond
	r.Start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	r.End = r.Start.Add(3 * time.Second)
	r.Lost = []snapshot.Loss{{ID: "call_budget", Title: "single calls not told: more than asked for in a second", Count: 500}}
	r.Notes = []string{"8 functions cannot be probed here: copy_strings"}
	return r
}
