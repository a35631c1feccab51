// SPDX-License-Identifier: Apache-2.0

package taskstats

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrStats is wrapped by errors of a struct taskstats that cannot be decoded.
var ErrStats = errors.New("task statistics not understood")

// Delay is one kind of delay of a thread since its start.
type Delay struct {
	Count uint64
	Total uint64 // ns
	Max   uint64 // ns, the longest; where Stats.Peaks
}

// Since is what a delay has grown by. A counter that went backwards has wrapped
// around, or is another thread's: it counts as not grown.
func (d Delay) Since(before Delay) Delay {
	return Delay{Count: since(d.Count, before.Count), Total: since(d.Total, before.Total)}
}

// Stats is what delay accounting says of one thread: struct taskstats of the
// kernel's include/uapi/linux/taskstats.h, as far as it is read.
type Stats struct {
	Version uint16
	TID     uint32
	PID     uint32 // of its process; 0: not told, before version 12
	PPID    uint32
	UID     uint32
	Comm    string // raw bytes, up to 15
	Elapsed uint64 // ns since its start

	CPU Delay // waits for a CPU; also counted for threads that delay accounting does not cover
	// BlockIO is the time that the thread slept with in_iowait set, until it was woken.
	BlockIO Delay
	// SwapIn is the waiting for swapped out pages: up to version 10 instead of BlockIO, later mostly within it.
	SwapIn Delay
	// Reclaim and Thrashing, of version 9 on, also hold time in which the thread ran, or that is in BlockIO.
	Reclaim   Delay
	Thrashing Delay

	Peaks bool // the kernel keeps the longest delays, from version 15 on
}

// SwapInApart says that waits for swapped out pages are not in BlockIO.
func (s *Stats) SwapInApart() bool { return s.Version <= lastSwapInApart }

const lastSwapInApart = 10

// place is where a delay lies in the struct: its count, and its total right behind.
type place struct{ count, peak int }

// layout is where the fields are, in bytes. A field that lies beyond the end of
// the data is one that this kernel does not have.
type layout struct {
	cpu, blockIO, swapIn, reclaim, thrashing place
	comm, uid, pid, ppid, elapsed, tgid      int
}

const (
	firstVersion = 2  // 1 had another head, and was gone before 2.6.20
	midVersion   = 15 // 6.14: longest and shortest delays in the midst of the struct
	commBytes    = 32 // TS_COMM_LEN
)

// usual holds for all versions but 15: fields are added at the end. The longest
// delays came back there with version 16.
var usual = layout{
	cpu: place{16, 432}, blockIO: place{32, 448}, swapIn: place{48, 464}, reclaim: place{312, 480}, thrashing: place{328, 496},
	comm: 80, uid: 120, pid: 128, ppid: 132, elapsed: 144, tgid: 368,
}

var mid = layout{
	cpu: place{16, 32}, blockIO: place{48, 64}, swapIn: place{80, 96}, reclaim: place{360, 376}, thrashing: place{392, 408},
	comm: 128, uid: 168, pid: 176, ppid: 180, elapsed: 192, tgid: 464,
}

// Decode reads a struct taskstats of any version and length: those of older
// kernels are shorter, and what newer ones add at the end is passed over.
func Decode(b []byte) (Stats, error) {
	if len(b) < 2 {
		return Stats{}, fmt.Errorf("%w: %d bytes", ErrStats, len(b))
	}
	s := Stats{Version: binary.NativeEndian.Uint16(b)}
	l := &usual
	if s.Version == midVersion {
		l = &mid
	}
	if s.Version < firstVersion || len(b) < l.elapsed+8 {
		return Stats{}, fmt.Errorf("%w: %d bytes of version %d", ErrStats, len(b), s.Version)
	}
	for _, field := range []struct {
		at place
		to *Delay
	}{{l.cpu, &s.CPU}, {l.blockIO, &s.BlockIO}, {l.swapIn, &s.SwapIn}, {l.reclaim, &s.Reclaim}, {l.thrashing, &s.Thrashing}} {
		field.to.Count, field.to.Total = u64(b, field.at.count), u64(b, field.at.count+8)
		if s.Version >= midVersion {
			field.to.Max = u64(b, field.at.peak)
		}
	}
	s.Peaks = s.Version >= midVersion && len(b) >= l.blockIO.peak+8
	s.UID, s.TID, s.PPID, s.PID = u32(b, l.uid), u32(b, l.pid), u32(b, l.ppid), u32(b, l.tgid)
	s.Elapsed = u64(b, l.elapsed) * 1000 // told in µs
	comm := b[l.comm : l.comm+commBytes]
	if end := bytes.IndexByte(comm, 0); end >= 0 {
		comm = comm[:end]
	}
	s.Comm = string(comm)
	return s, nil
}

func u64(b []byte, at int) uint64 {
	if at+8 > len(b) {
		return 0
	}
	return binary.NativeEndian.Uint64(b[at:])
}

func u32(b []byte, at int) uint32 {
	if at+4 > len(b) {
		return 0
	}
	return binary.NativeEndian.Uint32(b[at:])
}

// since is a difference that is never negative.
func since(now, then uint64) uint64 {
	if now < then {
		return 0
	}
	return now - then
}
