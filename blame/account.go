// SPDX-License-Identifier: Apache-2.0

package blame

import "github.com/iowitness/iowitness/event"

// DeviceSource says how a device was found.
type DeviceSource uint8

// The ways a device is found, best first.
const (
	NoDevice     DeviceSource = iota
	ByRequest                 // the request whose completion woke the thread
	ByFile                    // the block device that the file is
	BySuperblock              // the file system that the file is on
)

// Charge is a part of one thread's waiting in one interval: one cause, file, device and stack.
type Charge struct {
	Cause        Cause
	Flagged      bool
	FlagUnknown  bool // it may be flagged
	Device       event.Dev
	DeviceSource DeviceSource
	File         event.File
	Syscall      int32    // -1: none
	Stack        []string // function names, innermost first; nil if none was taken
	Count        uint64   // waits; scaled from the sample where Sampled
	Blocked      uint64   // ns within the interval, scaled likewise
	RunQueue     uint64   // ns
	Max          uint64   // ns, longest seen
	Hist         event.Hist
	Seen         uint64 // wait records behind it
	Joins        Joins  // of these, the ones that a request's completion ended
	Sampled      bool   // Count, Blocked and Hist are estimates
}

// Pending is a wait in progress.
type Pending struct {
	Age          uint64 // ns so far, also what lies before the interval
	Adopted      bool   // it began before iowitness: Age is an estimate
	Flagged      bool
	FlagUnknown  bool // it may be flagged
	Woken        bool // woken, waits for a CPU
	Cause        Cause
	Device       event.Dev
	DeviceSource DeviceSource
	File         event.File
	Syscall      int32
	Stack        []string
}

// Thread is one thread's exact account of an interval and how it divides by
// cause: the Blocked of all Charges add up to Blocked.
type Thread struct {
	TID, PID       uint32
	Comm           string
	Exited         bool
	Count          uint64 // waits that ended
	Blocked        uint64 // ns within the interval, the wait in progress included
	FlaggedBlocked uint64 // ns of Blocked that the kernel calls iowait
	RunQueue       uint64 // ns
	Max            uint64 // ns, longest wait that ended or is in progress
	Hist           event.Hist
	Pending        *Pending
	Charges        []Charge
}
