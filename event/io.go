// SPDX-License-Identifier: Apache-2.0

package event

// IO is the life of one block request, or of one bio on a device that has no
// requests of its own. Instants are in ns of one clock; 0: not seen.
type IO struct {
	// Owner is for whom it is: who submitted it, or who dirtied the data that it writes
	// back. Carrier is whose thread submitted it, if that is somebody else, such as a kworker.
	Owner, Carrier Task
	Cgroup         uint64 // charged by the kernel, kernfs id; 0: not known

	Queued    uint64 // Q: its first bio was submitted
	Got       uint64 // G: it had a request of the device's
	Inserted  uint64 // I: the I/O scheduler had it
	Issued    uint64 // D: the driver had it, for the first time
	Reissued  uint64 // the driver had it for the last time, after it had given it back; 0: it did not, or that was not looked at
	Completed uint64 // C

	Sector uint64 // of the whole disk, of 512 bytes
	Bytes  uint32
	Op     uint32 // REQ_OP_* in the low byte, REQ_* flags above
	Dev    Dev    // the partition, or the whole disk; see Whole
	Disk   Dev
	Top    Dev // where it was submitted first, if it was remapped from a stacked device; else 0
	CPU    uint32
	Error  int32  // errno, positive; 0: none
	Depth  uint32 // requests of the disk that the driver had when it was issued, itself included; 0: not known

	Merged   uint16 // bios beyond its first one
	Requeues uint16
	Flags    IOFlags

	// File is the one whose data it moves.
	File File

	WaitTID uint32 // thread whose wait its completion ended; 0: none, or not known
	WaitNS  uint64 // how long that thread had waited
}

// Task is a thread and its process.
type Task struct {
	TID, PID uint32
	Comm     string
}

// IOFlags are marks of an IO.
type IOFlags uint16

// The marks.
const (
	IOBio        IOFlags = 1 << 0 // of a bio on a stacked device: its requests below are told too
	IOSequential IOFlags = 1 << 1 // begins where the one before ended on that disk, in the same direction
	IOSplit      IOFlags = 1 << 2 // a part of a bio that was too large
	IODirtied    IOFlags = 1 << 3 // Owner dirtied the pages; Carrier writes them
	IOUnfinished IOFlags = 1 << 4 // its completion was not seen
	IOInherited  IOFlags = 1 << 5 // Owner is that of the bio on the device above
	IOPassed     IOFlags = 1 << 7 // the bio came down from Top, as to a path of it: nothing else tells of it there
	IODevAbove   IOFlags = 1 << 8 // Dev is Top or a part of it, and not of Disk
	IOUncharged  IOFlags = 1 << 9 // written back for others, but Cgroup is that of who writes: it cannot be charged to theirs
)

// Whole is the device that Dev is, or is a partition of.
func (o *IO) Whole() Dev {
	if o.Flags&IODevAbove != 0 {
		return o.Top
	}
	return o.Disk
}

// Phase is a part of a request's life.
type Phase uint8

// The phases. Total is from Queued to Completed, or from the first instant that is known.
const (
	PhaseGet    Phase = iota // Q→G: waiting for a request
	PhaseInsert              // G→I: plugged, or on the way to the I/O scheduler
	PhaseQueue               // I→D, or G→D where it was issued directly: queued
	PhaseDevice              // D→C
	PhaseTotal
	Phases
)

// Phase is how long a phase took, in ns; ok is false where an instant of it is not known or
// lies before the one that it follows, which Backwards tells.
func (o *IO) Phase(p Phase) (ns uint64, ok bool) {
	from, to := o.bounds(p)
	if from == 0 || to < from {
		return 0, false
	}
	return to - from, true
}

func (o *IO) bounds(p Phase) (from, to uint64) {
	switch p {
	case PhaseGet:
		return o.Queued, o.Got
	case PhaseInsert:
		return o.Got, o.Inserted
	case PhaseQueue:
		return firstOf(o.Inserted, o.Got), o.Issued
	case PhaseDevice:
		return o.Issued, o.Completed
	}
	return o.Begin(), o.Completed
}

// Begin is the first instant that is known.
func (o *IO) Begin() uint64 { return firstOf(o.Queued, o.Got, o.Inserted, o.Issued) }

// Waiting is the time from Begin until the driver had the request, in ns.
func (o *IO) Waiting() (ns uint64, ok bool) {
	if begin := o.Begin(); begin != 0 && o.Issued >= begin {
		return o.Issued - begin, true
	}
	return 0, false
}

// Requeued is the part of the device's phase until the driver had the request for the last time,
// in ns; ok is false where it was not given back, or that is not known.
func (o *IO) Requeued() (ns uint64, ok bool) {
	if o.Reissued == 0 || o.Issued == 0 || o.Reissued < o.Issued || o.Completed != 0 && o.Completed < o.Reissued {
		return 0, false
	}
	return o.Reissued - o.Issued, true
}

// Backwards says that an instant lies before one that it must follow.
func (o *IO) Backwards() bool {
	last := uint64(0)
	for _, at := range []uint64{o.Queued, o.Got, o.Inserted, o.Issued, o.Completed} {
		if at != 0 && at < last {
			return true
		}
		last = max(last, at)
	}
	return false
}

func firstOf(instants ...uint64) uint64 {
	for _, at := range instants {
		if at != 0 {
			return at
		}
	}
	return 0
}

// Request operations: enum req_op of the kernel.
const (
	OpRead        = 0
	OpWrite       = 1
	OpFlush       = 2
	OpDiscard     = 3
	OpSecureErase = 5
	OpWriteZeroes = 9
	OpMask        = 0xff
)
