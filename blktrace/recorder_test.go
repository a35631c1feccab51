// SPDX-License-Identifier: Apache-2.0

package blktrace

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/iowitness/iowitness/event"
)

// Actions and categories as the kernel writes them, for recordings of known truth.
const (
	kQ = 1 + iota
	kM
	kF
	kG
	kS
	kR
	kD
	kC
	kP
	kU
	kT
	kI
	kX
	kB
	kA
)

const (
	kRead  = 1 << 0
	kQueue = 1 << 4
)

var kCategories = map[uint64]uint64{kR: 1 << 5, kD: 1 << 6, kC: 1 << 7, kX: 0}

// recorder writes files as the kernel does, one for each CPU.
type recorder struct {
	order    byteOrder
	version  uint32
	dev      event.Dev
	files    map[uint32][]byte
	sequence map[uint32]uint32
}

func newRecorder(order byteOrder, version uint32) *recorder {
	return &recorder{
		order: order, version: version, dev: event.MakeDev(8, 0), files: map[uint32][]byte{}, sequence: map[uint32]uint32{},
	}
}

// is is one record.
type is struct {
	at     uint64
	action uint64
	cat    uint64 // besides that of the action
	sector uint64
	bytes  uint32
	pid    uint32
	cpu    uint32
	err    int16
	cgroup uint64
	data   []byte
}

func (r *recorder) add(records ...is) {
	for _, rec := range records {
		cat, ok := kCategories[rec.action]
		if !ok {
			cat = kQueue
		}
		r.sequence[rec.cpu]++
		r.write(rec, rec.action|(rec.cat|cat|1<<8)<<16, r.sequence[rec.cpu])
	}
}

// note writes one of the records that are not of I/O.
func (r *recorder) note(at uint64, kind uint64, pid, cpu uint32, data []byte) {
	r.write(is{at: at, pid: pid, cpu: cpu, data: data}, kind|catNotify<<16, 0)
}

func (r *recorder) name(at uint64, pid, cpu uint32, name string) {
	r.note(at, 0, pid, cpu, append([]byte(name), make([]byte, 16-len(name))...))
}

func (r *recorder) write(rec is, action uint64, sequence uint32) {
	var data []byte
	if rec.cgroup != 0 {
		action |= 1 << 8
		data = r.order.AppendUint64(data, rec.cgroup)
	}
	data = append(data, rec.data...)
	b := r.order.AppendUint32(nil, 0x65617400|r.version)
	b = r.order.AppendUint32(b, sequence)
	b = r.order.AppendUint64(b, rec.at)
	b = r.order.AppendUint64(b, rec.sector)
	b = r.order.AppendUint32(b, rec.bytes)
	if r.version == 8 {
		b = r.order.AppendUint32(b, rec.pid)
		b = r.order.AppendUint64(b, action)
	} else {
		b = r.order.AppendUint32(b, uint32(action))
		b = r.order.AppendUint32(b, rec.pid)
	}
	b = r.order.AppendUint32(b, uint32(r.dev))
	b = r.order.AppendUint32(b, rec.cpu)
	b = r.order.AppendUint16(b, uint16(rec.err))
	b = r.order.AppendUint16(b, uint16(len(data)))
	if r.version == 8 {
		b = append(b, make([]byte, 12)...)
	}
	r.files[rec.cpu] = append(r.files[rec.cpu], append(b, data...)...)
}

// save writes the files to a directory and tells the name that they have in common.
func (r *recorder) save(t testing.TB, directory, name string) string {
	t.Helper()
	for cpu, b := range r.files {
		file := filepath.Join(directory, fmt.Sprintf("%s.blktrace.%d", name, cpu))
		if err := os.WriteFile(file, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(directory, name)
}

func be32(values ...uint32) (b []byte) {
	for _, v := range values {
		b = binary.BigEndian.AppendUint32(b, v)
	}
	return b
}

func be64(v uint64) []byte { return binary.BigEndian.AppendUint64(nil, v) }

type byteOrder interface {
	binary.ByteOrder
	binary.AppendByteOrder
}
