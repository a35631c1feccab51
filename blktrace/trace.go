// SPDX-License-Identifier: Apache-2.0

// Package blktrace turns recordings of the block layer into the lives of its
// requests: files of blktrace, as the kernel writes them for each CPU or as
// blkparse merges them, and the text of perf script or of the tracing file
// system. It needs neither the kernel that was recorded nor privileges.
package blktrace

import (
	"time"

	"github.com/iowitness/iowitness/event"
)

// Action is what happened to a bio or a request.
type Action uint8

// The actions. Where a letter is given, it is that of blkparse.
const (
	Queue        Action = iota // Q: a bio was submitted
	GetRequest                 // G
	SleepRequest               // S: no request was free
	Start                      // a request is accounted from here on: block_io_start
	BackMerge                  // M: a bio, or in blktrace's files a request, went behind a request
	FrontMerge                 // F
	RequestMerge               // a request went behind another one
	Insert                     // I
	Issue                      // D
	Requeue                    // R
	Complete                   // C: of a request, or in blktrace's files of a bio
	BioComplete                // C: of a bio
	Done                       // block_io_done, after the last completion
	Split                      // X
	Remap                      // A: of a bio
	RequestRemap               // A: of a request
	Bounce                     // B
	Plug                       // P
	Unplug                     // U
	UnplugTimer                // T: without being asked for
	Abort                      // ABRT
	DriverData                 // data of a driver's own
	Zone                       // a zone's writes were held back or let go
	Process                    // the name of a process
	Timestamp                  // the time of day
	Message                    // text by a driver or an I/O scheduler
	OtherAction                // an action that this version does not know
	Actions                    // how many there are
)

var actionNames = [Actions]string{
	"queue", "getrq", "sleeprq", "io_start", "backmerge", "frontmerge", "rq_merge", "insert", "issue", "requeue",
	"complete", "bio_complete", "io_done", "split", "remap", "rq_remap", "bounce", "plug", "unplug", "unplug_timer",
	"abort", "drv_data", "zone", "process", "timestamp", "message", "other",
}

// String is the action's name.
func (a Action) String() string {
	if a < Actions {
		return actionNames[a]
	}
	return "?"
}

// Counts is what was read, and what of it does not add up.
type Counts struct {
	Events  uint64 // of the block layer
	Actions [Actions]uint64
	Skipped uint64 // events of others, and lines that are none

	IOs        uint64 // told, those unfinished included
	Unfinished uint64 // told without a completion: it was not recorded, or came later. Not a sign of a hung device
	Unmatched  uint64 // completions of what was not seen to begin, or began with another direction or size
	Stray      uint64 // other actions on what was not seen to begin
	FlushEnds  uint64 // second completions, without data: a flush sequence has one for each of its steps
	Flushes    uint64 // flush requests that are told as part of the requests that wait for them

	ByIssuer uint64 // IOs whose owner is whoever issued them, as their submission was not recorded
	NoOwner  uint64 // IOs that a kernel worker issued for it is not known whom

	OutOfOrder uint64 // events earlier than the one before them in the same file
	Backwards  uint64 // IOs of which an instant lies before one that it follows
	Missing    uint64 // events lost or left out when it was recorded, by their numbers or as the recording tells

	Began   time.Time // the time of day at BeganAt, if the recording has it
	BeganAt uint64    // ns, by the clock of the IOs' instants
}

// trace is one action, whatever it was read from.
type trace struct {
	at     uint64 // ns
	action Action
	dev    event.Dev // whose queue it was seen at: a disk, whatever partition the bio is on
	sector uint64
	bytes  uint64
	op     uint32
	err    int32 // positive
	task   event.Task
	cpu    uint32
	cgroup uint64

	from, to   event.Dev // remaps
	fromSector uint64
	boundary   uint64 // splits: where the rest begins
	wall       time.Time
	missing    uint64 // events that are missing before this one
}

// class is what must be alike for two actions to be of the same request: flags
// come and go, such as that of a flush that has been done.
type class uint8

const (
	classRead class = iota
	classWrite
	classDiscard
	classFlush
	classOther // commands of drivers, whose sectors and sizes say nothing
)

// Operations of the kernel that event does not name, and one that none has.
const (
	opZoneOpen     = 10
	opZoneClose    = 11
	opZoneFinish   = 12
	opZoneAppend   = 13
	opZoneReset    = 15
	opZoneResetAll = 17
	opUnknown      = 0xff
)

// Flags above the operation: REQ_* of Linux 4.10 and later.
const (
	reqSync     = 1 << 11
	reqMeta     = 1 << 12
	reqFUA      = 1 << 17
	reqPreflush = 1 << 18
	reqAhead    = 1 << 19
)

func classOf(op uint32) class {
	switch op & event.OpMask {
	case event.OpRead:
		return classRead
	case event.OpWrite, event.OpWriteZeroes, opZoneAppend:
		return classWrite
	case event.OpDiscard, event.OpSecureErase:
		return classDiscard
	case event.OpFlush:
		return classFlush
	}
	return classOther
}
