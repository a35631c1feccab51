// SPDX-License-Identifier: Apache-2.0

package blktrace

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/iowitness/iowitness/event"
)

// The first word of each record: the format's mark, and its version in the low byte.
const (
	magic     = 0x65617400
	magicMask = 0xffffff00
	version1  = 7
	version2  = 8 // Linux 6.19: an action of 64 bits
)

// Sizes of a record without its data.
const (
	recordBytes  = 48
	recordBytes2 = 64
)

// An action's low half says what happened, its upper half is a set of categories.
const (
	actionMask   = 0xff
	actionCgroup = 1 << 8
	categoryAt   = 16
)

// The categories.
const (
	catWrite       = 1 << 1
	catFlush       = 1 << 2
	catSync        = 1 << 3
	catPC          = 1 << 9
	catNotify      = 1 << 10
	catAhead       = 1 << 11
	catMeta        = 1 << 12
	catDiscard     = 1 << 13
	catFUA         = 1 << 15
	catZone        = 1 << 16 // the first of six
	catWriteZeroes = 1 << 22
)

// zoneOps are the operations of the categories from catZone on.
var zoneOps = []uint32{opZoneAppend, opZoneReset, opZoneResetAll, opZoneFinish, opZoneOpen, opZoneClose}

var binaryActions = [...]Action{
	1: Queue, BackMerge, FrontMerge, GetRequest, SleepRequest, Requeue, Issue, Complete, Plug, Unplug, UnplugTimer,
	Insert, Split, Bounce, Remap, Abort, DriverData, Zone, Zone,
}

var notifyActions = [...]Action{Process, Timestamp, Message}

// binaryReader reads one file of blktrace's.
type binaryReader struct {
	name   string
	in     *bufio.Reader
	began  uint64 // where the latest record begins
	offset uint64 // of what is read next
	order  binary.ByteOrder
	last   map[sequence]uint32
	buffer []byte
}

// sequence is what has record numbers of its own.
type sequence struct {
	dev event.Dev
	cpu uint32
}

func newBinaryReader(name string, in *bufio.Reader) *binaryReader {
	return &binaryReader{name: name, in: in, last: map[sequence]uint32{}}
}

// orderOf is the byte order of a file that begins with these bytes; nil if it is none of blktrace's.
func orderOf(head []byte) binary.ByteOrder {
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		if len(head) >= 4 && order.Uint32(head)&magicMask == magic {
			return order
		}
	}
	return nil
}

// next reads one record; io.EOF at the end of the file.
func (r *binaryReader) next(t *trace) error {
	r.began = r.offset
	head, err := r.in.Peek(recordBytes)
	if len(head) == 0 && errors.Is(err, io.EOF) {
		return io.EOF
	}
	size, err := r.size(head, err)
	if err != nil {
		return err
	}
	if cap(r.buffer) < size {
		r.buffer = make([]byte, size, 2*size)
	}
	b := r.buffer[:size]
	if n, err := io.ReadFull(r.in, b); err != nil {
		return r.cut(n, err)
	}
	raw := decodeRecord(b, r.order)
	if r.buffer = b; raw.data > 0 {
		b = append(b, make([]byte, raw.data)...)
		r.buffer = b
		if n, err := io.ReadFull(r.in, b[size:]); err != nil {
			return r.cut(size+n, err)
		}
	}
	err = raw.trace(t, b[size:], r.order)
	if err == nil {
		t.missing = r.gap(&raw)
	} else {
		err = fmt.Errorf("%s: %w", r.where(), err)
	}
	r.offset += uint64(len(b))
	return err
}

func (r *binaryReader) where() string { return fmt.Sprintf("%s: byte %d", r.name, r.began) }

// size checks a record's first word and tells how long its fixed part is.
func (r *binaryReader) size(head []byte, err error) (int, error) {
	if len(head) < 4 {
		return 0, r.cut(len(head), err)
	}
	if r.order == nil {
		r.order = orderOf(head)
	}
	if bytes.Equal(head, make([]byte, len(head))) {
		return 0, fmt.Errorf("%s: zeros instead of a record: blktrace was ended before it could close the file", r.where())
	}
	if r.order == nil || r.order.Uint32(head)&magicMask != magic {
		return 0, fmt.Errorf("%s: no record of blktrace begins here: the file is damaged", r.where())
	}
	switch version := r.order.Uint32(head) &^ magicMask; version {
	case version1:
		return recordBytes, nil
	case version2:
		return recordBytes2, nil
	default:
		return 0, fmt.Errorf("%s: version %d of blktrace's format is not known (%d and %d are)", r.where(), version, version1, version2)
	}
}

func (r *binaryReader) cut(have int, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%s: the file ends within a record, of which %d bytes are there", r.where(), have)
	}
	return fmt.Errorf("%s: %w", r.where(), err)
}

// gap is how many records are missing before this one. The kernel numbers what it wanted to record on a CPU.
func (r *binaryReader) gap(raw *record) uint64 {
	if raw.action>>categoryAt&catNotify != 0 || raw.sequence == 0 {
		return 0
	}
	of := sequence{event.Dev(raw.device), raw.cpu}
	last, known := r.last[of]
	r.last[of] = raw.sequence
	if !known || raw.sequence <= last {
		return 0
	}
	return uint64(raw.sequence - last - 1)
}

// record is a record as it is in the file.
type record struct {
	sequence         uint32
	time, sector     uint64
	bytes            uint32
	action           uint64
	pid, device, cpu uint32
	err, data        uint16
}

func decodeRecord(b []byte, order binary.ByteOrder) record {
	r := record{
		sequence: order.Uint32(b[4:]), time: order.Uint64(b[8:]), sector: order.Uint64(b[16:]), bytes: order.Uint32(b[24:]),
	}
	tail := b[36:]
	if len(b) == recordBytes2 {
		r.pid, r.action = order.Uint32(b[28:]), order.Uint64(b[32:])
		tail = b[40:]
	} else {
		r.action, r.pid = uint64(order.Uint32(b[28:])), order.Uint32(b[32:])
	}
	r.device, r.cpu = order.Uint32(tail), order.Uint32(tail[4:])
	r.err, r.data = order.Uint16(tail[8:]), order.Uint16(tail[10:])
	return r
}

var errShortData = errors.New("a record's data is shorter than its kind needs")

// trace makes an action of a record and its data.
func (r *record) trace(t *trace, data []byte, order binary.ByteOrder) error {
	*t = trace{
		at: r.time, sector: r.sector, bytes: uint64(r.bytes), dev: event.Dev(r.device), cpu: r.cpu,
		task: event.Task{TID: r.pid, PID: r.pid}, op: opOf(r.action>>categoryAt, r.bytes), err: errno(r.err), action: OtherAction,
	}
	if t.sector == noSector {
		t.sector = 0
	}
	if r.action&actionCgroup != 0 {
		if len(data) < 8 {
			return errShortData
		}
		t.cgroup = order.Uint64(data)
		data = data[8:]
	}
	if r.action>>categoryAt&catNotify != 0 {
		return t.notify(int(r.action&actionMask), data, order)
	}
	if kind := r.action & actionMask; kind != 0 && kind < uint64(len(binaryActions)) {
		t.action = binaryActions[kind]
	}
	return t.data(data)
}

// data takes what belongs to some actions. It is in network byte order.
func (t *trace) data(data []byte) error {
	switch t.action {
	case Remap:
		if len(data) < 16 {
			return errShortData
		}
		t.from, t.to = event.Dev(binary.BigEndian.Uint32(data)), event.Dev(binary.BigEndian.Uint32(data[4:]))
		t.fromSector = binary.BigEndian.Uint64(data[8:])
	case Split:
		if len(data) < 8 {
			return errShortData
		}
		t.boundary = binary.BigEndian.Uint64(data)
	}
	return nil
}

func (t *trace) notify(kind int, data []byte, order binary.ByteOrder) error {
	if kind >= len(notifyActions) {
		return nil
	}
	t.action = notifyActions[kind]
	switch t.action {
	case Process:
		name, _, _ := bytes.Cut(data, []byte{0})
		t.task.Comm = string(name)
	case Timestamp:
		if len(data) < 8 {
			return errShortData
		}
		t.wall = time.Unix(int64(order.Uint32(data)), int64(order.Uint32(data[4:])))
	}
	return nil
}

// opOf is the operation that categories stand for. The kernel calls a flush
// request a read, as its number is even; nobody reads nothing.
func opOf(categories uint64, size uint32) uint32 {
	op := uint32(event.OpRead)
	switch {
	case categories&catPC != 0:
		op = opUnknown
	case categories&catDiscard != 0:
		op = event.OpDiscard
	case categories&catWriteZeroes != 0:
		op = event.OpWriteZeroes
	case categories&(catZone*(1<<len(zoneOps)-1)) != 0:
		op = zoneOp(categories)
	case categories&catWrite != 0:
		op = event.OpWrite
	case categories&catFlush != 0 && size == 0:
		op = event.OpFlush
	}
	for _, f := range []struct {
		category uint64
		flag     uint32
	}{{catFlush, reqPreflush}, {catSync, reqSync}, {catAhead, reqAhead}, {catMeta, reqMeta}, {catFUA, reqFUA}} {
		if categories&f.category != 0 {
			op |= f.flag
		}
	}
	return op
}

func zoneOp(categories uint64) uint32 {
	for i, op := range zoneOps {
		if categories&(catZone<<i) != 0 {
			return op
		}
	}
	return opUnknown
}

// errno is the positive error of what the kernel cut to 16 bits.
func errno(raw uint16) int32 {
	e := int32(int16(raw))
	return max(e, -e)
}
