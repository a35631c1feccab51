// SPDX-License-Identifier: Apache-2.0

package blame

import (
	"encoding/binary"
	"slices"

	"github.com/iowitness/iowitness/event"
)

// Names turns kernel addresses and system call numbers into names.
type Names interface {
	// Stack names the functions of a stack, innermost first; nil if symbols cannot be had.
	Stack(addresses []uint64) []string
	// Syscall names a system call; "" if it has no known name.
	Syscall(nr int32) string
}

// maxSites bounds the memory of classified stacks; a machine has some hundreds.
const maxSites = 4096

// verdict is what a stack and its circumstances say.
type verdict struct {
	cause Cause
	stack []string
}

// judge classifies stacks, each combination of stack and circumstances once.
type judge struct {
	names    Names
	verdicts map[string]verdict
	key      []byte
}

func newJudge(names Names) *judge {
	return &judge{names: names, verdicts: map[string]verdict{}}
}

const circumstances = event.Flagged | event.FlagUnknown | event.Interruptible | event.Joined

func (j *judge) verdict(site *event.Site, flags event.Flags) verdict {
	j.key = binary.NativeEndian.AppendUint32(j.key[:0], uint32(flags&circumstances))
	j.key = binary.NativeEndian.AppendUint32(j.key, uint32(site.Syscall))
	for _, address := range site.Stack {
		j.key = binary.NativeEndian.AppendUint64(j.key, address)
	}
	for _, name := range site.Names {
		j.key = append(append(j.key, name...), 0)
	}
	if v, ok := j.verdicts[string(j.key)]; ok {
		return v
	}
	v := verdict{stack: site.Names}
	if v.stack == nil {
		v.stack = j.names.Stack(site.Stack)
	}
	evidence := Evidence{
		Stack:         v.stack,
		Proc:          site.Names != nil,
		FlagUnknown:   flags&event.FlagUnknown != 0,
		Flagged:       flags&event.Flagged != 0,
		Interruptible: flags&event.Interruptible != 0,
		Joined:        flags&event.Joined != 0,
		Syscall:       j.names.Syscall(site.Syscall),
		Fault:         site.Syscall == event.NoSyscall,
		Kernel:        isKernelThread(v.stack),
	}
	v.cause = Classify(evidence)
	if v.cause == Unknown && evidence.Flagged && len(v.stack) > 1 && !showsScheduler(v.stack) {
		evidence.Proc = true
		v.cause = Classify(evidence)
	}
	if len(j.verdicts) >= maxSites {
		clear(j.verdicts)
	}
	j.verdicts[string(j.key)] = v
	return v
}

// showsScheduler says whether a stack has a way to sleep. A thread that ran again before its stack
// was read, as on a machine whose CPUs are taken away, has left it.
func showsScheduler(stack []string) bool {
	return slices.ContainsFunc(functions(stack), func(name string) bool { return anyMatches(sleepers, name) })
}

// isKernelThread looks at the outermost frames: a user thread came in by a
// system call, a fault or an interrupt.
func isKernelThread(stack []string) bool {
	for _, name := range stack[max(0, len(stack)-4):] {
		if name == "kthread" || name == "ret_from_fork" || name == "ret_from_fork_asm" {
			return true
		}
	}
	return false
}

// device says which device a wait was for, and how we know. A request counts where
// no file says otherwise: the completion may have been handed to a worker (as btrfs
// does), and another device's come last. A page that is swapped in is in no file.
func device(cause Cause, flags event.Flags, request event.Request, file event.File) (event.Dev, DeviceSource) {
	if !cause.Storage() {
		return 0, NoDevice
	}
	dev, source := fileDevice(file)
	if endedByRequest(flags, cause) && (source == NoDevice || dev == request.Dev || cause == SwapIn) {
		return request.Dev, ByRequest
	}
	return dev, source
}

func fileDevice(file event.File) (event.Dev, DeviceSource) {
	switch {
	case file.Source != event.NoFile && file.BlockDevice:
		return file.Dev, ByFile
	case file.Backing != 0:
		return file.Backing, BySuperblock
	case file.Source != event.NoFile:
		return file.Dev, BySuperblock
	}
	return 0, NoDevice
}

// endedByRequest says that a request's completion ended a wait, and was not by chance on
// the same CPU.
func endedByRequest(flags event.Flags, cause Cause) bool {
	return flags&event.Joined != 0 && cause.Storage() && endsWithRequest(cause)
}

// endsWithRequest is false for waits that a timer, a lock or another thread
// ends: a completion on the same CPU just before their wake-up is chance, or
// what that thread waited for.
func endsWithRequest(cause Cause) bool {
	switch cause {
	case DirtyThrottle, CgroupThrottle, InodeLock, MmapLock, FSFrozen, NFS, FUSE, NetworkBlock, Reclaim,
		JournalCommit, JournalLocked, JournalSpace, LogForce, QueueFrozen:
		return false
	}
	return true
}
