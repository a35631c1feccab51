// SPDX-License-Identifier: Apache-2.0

// Package event turns the kernel side's records into typed values and back.
// The layouts are those of bpf/abi.h; a test in probe compares them with the
// object file's own type information.
package event

// Dev is a device number as the kernel keeps it: major<<20 | minor.
type Dev uint32

// MakeDev joins a device number.
func MakeDev(major, minor uint32) Dev { return Dev(major<<20 | minor&0xfffff) }

// Major and Minor take it apart.
func (d Dev) Major() uint32 { return uint32(d) >> 20 }

// Minor is the device's number within its major.
func (d Dev) Minor() uint32 { return uint32(d) & 0xfffff }

// Flags of a wait: enum wait_flag.
type Flags uint32

// The flags; see bpf/abi.h for their exact meaning.
const (
	Slow          Flags = 1 << 0 // blocked for at least the slow threshold
	Flagged       Flags = 1 << 1 // the kernel had in_iowait set
	Adopted       Flags = 1 << 2 // began before iowitness did; the start is an estimate
	EarlyWake     Flags = 1 << 3 // woken while still switching out
	NoWake        Flags = 1 << 4 // no wake-up seen: blocked time includes run-queue delay
	Joined        Flags = 1 << 5 // a request's completion woke it
	Interruptible Flags = 1 << 6 // state S with in_iowait set
	First         Flags = 1 << 7 // recorded as one of the first of its thread and interval

	FlagUnknown Flags = 1 << 16 // never set by the kernel side: Flagged is not set, but it is not known whether it should be
)

// Request is the block request whose completion woke a thread.
type Request struct {
	Sector uint64
	Dev    Dev
	Bytes  uint32
	Op     uint32
	Queue  uint64 // ns from its making until the driver had it; 0: not known
	Device uint64 // ns from then until its completion; 0: not known
}

// FileSource says how a file was found.
type FileSource uint16

// The ways a file is found; see enum file_source.
const (
	NoFile  FileSource = 0
	ByFD    FileSource = 1 // the system call's file descriptor
	ByFolio FileSource = 2 // the folio the thread waits for
	ByVMA   FileSource = 3 // the mapping that faulted
)

// File is what the kernel side knows of the file behind a wait.
type File struct {
	Ino         uint64
	Dev         Dev // the superblock's device, or the block device's own
	Backing     Dev // device of the waited-for folio's inode, 0 if there was none
	Source      FileSource
	BlockDevice bool   // the file is a block device
	Path        string // within its file system, e.g. "/lib/data/x"; may be empty
}

// Values of Site.Syscall that are no system call.
const (
	NoSyscall      = -1 // a page fault, or a kernel thread
	SyscallUnknown = -2
)

// Site is where a thread sleeps or slept, and for what.
type Site struct {
	Syscall int32  // system call number, or one of the above
	Cgroup  uint64 // kernfs id
	Stack   []uint64
	// Names are the functions of the stack, innermost first, where they come as names and
	// Stack is empty. No record of the kernel side has them.
	Names []string
	File  File
}

// Wait is one wait that ended.
type Wait struct {
	TID, PID uint32
	Comm     string // raw bytes of the kernel's name, up to 15
	Start    uint64 // ns by the witness's clock: switched out,
	Woken    uint64 // sched_waking,
	Runs     uint64 // switched in
	Seq      uint64 // this thread's ended waits up to and including this one
	Born     uint64 // start of the thread's first wait: tells a reused thread id apart
	Flags    Flags
	CPU      uint32
	Weight   uint32 // of a short wait that is not one of the First: it was chosen from about so many
	Request  Request
	Site     Site
}

// Blocked is the time from switch-out to wake-up.
func (w *Wait) Blocked() uint64 { return w.Woken - w.Start }

// RunQueue is the delay from wake-up to running.
func (w *Wait) RunQueue() uint64 { return w.Runs - w.Woken }

// Identity tells who a thread is.
type Identity struct {
	TID, PID   uint32
	Comm       string // of the thread
	LeaderComm string // of the process
	StartTime  uint64 // of the process, ns since boot (CLOCK_BOOTTIME)
	UID        uint32
	PPID       uint32
	NSPID      uint32 // process id in its innermost pid namespace
	NSLevel    uint32 // 0: the initial namespace
	Kernel     bool   // a kernel thread
	Exe        File
	Cgroup     uint64
	CgroupPath string // "/" is the root
	CgroupV1   uint16 // 0: the unified hierarchy; else 1 + the subsystem's id
}

// Sum adds up waits.
type Sum struct {
	Count    uint64
	Blocked  uint64 // ns
	RunQueue uint64 // ns
}

// Max is the longest blocked time of an epoch.
type Max struct {
	NS    uint64
	Epoch uint32
}

// Tally is a thread's exact counters since its first wait, and its wait in progress.
type Tally struct {
	TID, PID uint32
	Comm     string
	Born     uint64 // start of the thread's first wait: tells a reused thread id apart
	Now      uint64 // ns by the witness's clock: when it was taken
	Exited   bool   // the thread has ended: there will be no more
	Start    uint64 // of the wait in progress; 0: none
	Woken    uint64 // if not before Start: woken, not yet running
	Flags    Flags  // of the wait in progress
	Count    uint64
	Sums     [4]Sum // by Flags & (Slow|Flagged)
	Max      [2]Max // by epoch & 1
	Hist     Hist
	Site     *Site // of the wait in progress, told once per wait
}
