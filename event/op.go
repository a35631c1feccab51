// SPDX-License-Identifier: Apache-2.0

package event

// Request flags: enum req_flag_bits of the kernel, whose places have been these since
// 4.10. Others are left alone: they moved.
const (
	OpSync     = 1 << 11 // somebody waits for it
	OpMeta     = 1 << 12 // the file system's own data
	OpPrio     = 1 << 13 // to be preferred
	OpFUA      = 1 << 17 // on stable storage before it completes
	OpPreflush = 1 << 18 // the device's cache is flushed first
	OpRahead   = 1 << 19 // read ahead: it may fail at will
)

// OpKind is what a request does, as people count requests.
type OpKind uint8

// The kinds.
const (
	KindRead OpKind = iota
	KindWrite
	KindFlush   // of the device's cache, without data
	KindDiscard // secure erase included
	KindOther   // write zeroes, zones, the driver's own
	OpKinds
)

var kindNames = [OpKinds]string{"read", "write", "flush", "discard", "other"}

// String is the kind's name.
func (k OpKind) String() string {
	if k < OpKinds {
		return kindNames[k]
	}
	return kindNames[KindOther]
}

// KindOf is the kind of a request by its operation. A write of no bytes that flushes first is
// how file systems ask for a flush.
func KindOf(op, bytes uint32) OpKind {
	switch op & OpMask {
	case OpRead:
		return KindRead
	case OpWrite:
		if bytes == 0 && op&OpPreflush != 0 {
			return KindFlush
		}
		return KindWrite
	case OpFlush:
		return KindFlush
	case OpDiscard, OpSecureErase:
		return KindDiscard
	}
	return KindOther
}

// Kind is what the request does. A write of no bytes is but a flush: when it completes, the
// kernel has taken off the flag that says so.
func (r *Request) Kind() OpKind {
	if r.Op&OpMask == OpWrite && r.Bytes == 0 {
		return KindFlush
	}
	return KindOf(r.Op, r.Bytes)
}

// Kind is what the request does.
func (o *IO) Kind() OpKind { return KindOf(o.Op, o.Bytes) }

// Data says that it moves data: only then has it a place on the disk.
func (o *IO) Data() bool {
	k := o.Kind()
	return o.Bytes > 0 && (k == KindRead || k == KindWrite)
}

// RWBS tells an operation in the letters of the kernel's block events: F where a flush comes
// first; R, W, D, DE, F or WZ for reading, writing, discarding, erasing, flushing and writing
// zeroes, N for anything else; then F with FUA, A of read-ahead, S if somebody waits for it
// and M for metadata. "WFS" is a write with FUA, "FWFS" one that flushes the cache before.
func RWBS(op uint32) string {
	var b []byte
	if op&OpPreflush != 0 {
		b = append(b, 'F')
	}
	b = append(b, opLetters(op&OpMask)...)
	for _, f := range []struct {
		flag   uint32
		letter byte
	}{{OpFUA, 'F'}, {OpRahead, 'A'}, {OpSync, 'S'}, {OpMeta, 'M'}} {
		if op&f.flag != 0 {
			b = append(b, f.letter)
		}
	}
	return string(b)
}

func opLetters(op uint32) string {
	switch op {
	case OpRead:
		return "R"
	case OpWrite:
		return "W"
	case OpFlush:
		return "F"
	case OpDiscard:
		return "D"
	case OpSecureErase:
		return "DE"
	case OpWriteZeroes:
		return "WZ"
	}
	return "N"
}
