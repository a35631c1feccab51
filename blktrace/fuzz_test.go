// SPDX-License-Identifier: Apache-2.0

package blktrace

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"os"
	"testing"

	"github.com/iowitness/iowitness/event"
)

// readBytes reads a recording of one file and checks what holds for any.
func readBytes(t *testing.T, content []byte) {
	var r Reader
	s, err := r.detect("fuzz", bufio.NewReader(bytes.NewReader(content)), false)
	if err != nil || s == nil {
		return
	}
	r.inputs = []*input{{source: s}}
	told, unfinished := uint64(0), uint64(0)
	counts, _ := r.Read(func(io *event.IO) {
		told++
		if io.Flags&event.IOUnfinished != 0 {
			unfinished++
		} else if io.Completed == 0 {
			t.Errorf("neither completed nor unfinished: %+v", *io)
		}
	})
	actions := uint64(0)
	for a, n := range counts.Actions {
		if Action(a) != Process && Action(a) != Timestamp && Action(a) != Message {
			actions += n
		}
	}
	if told != counts.IOs || unfinished != counts.Unfinished || actions != counts.Events {
		t.Errorf("%d told, %d unfinished, %d actions: %+v", told, unfinished, actions, counts)
	}
}

func FuzzBinary(f *testing.F) {
	for _, order := range []byteOrder{binary.LittleEndian, binary.BigEndian} {
		for _, version := range []uint32{7, 8} {
			r := newRecorder(order, version)
			scenario(r)
			f.Add(append(r.files[0], r.files[1]...))
		}
	}
	f.Fuzz(readBytes)
}

func FuzzText(f *testing.F) {
	for _, name := range []string{"testdata/perf-flush.txt", "testdata/perf-no_completions.txt"} {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	for _, life := range lives {
		text, err := os.ReadFile(textFile(f, life.events))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(readBytes)
}

// FuzzLife plays actions on few devices and sectors, so that they meet, and
// checks that nothing is left of them.
func FuzzLife(f *testing.F) {
	f.Add([]byte("any actions on few devices and few sectors, of which six bytes make one"))
	f.Add([]byte{0, 0, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 8, 0, 1, 1, 1, 1, 10, 0, 1, 1, 1, 1})
	devs := []event.Dev{event.MakeDev(8, 0), event.MakeDev(8, 1), event.MakeDev(253, 0), event.MakeDev(259, 3)}
	ops := []uint32{event.OpRead, event.OpWrite, event.OpWrite | reqPreflush, event.OpFlush | reqPreflush, event.OpDiscard, opUnknown, event.OpWrite | reqFUA}
	f.Fuzz(func(t *testing.T, script []byte) {
		var counts Counts
		told := map[*event.IO]bool{}
		l := newLife(&counts, func(io *event.IO) {
			if told[io] {
				t.Errorf("told twice: %+v", *io)
			}
			told[io] = true
			if (io.Completed == 0) != (io.Flags&event.IOUnfinished != 0) {
				t.Errorf("neither completed nor unfinished, or both: %+v", *io)
			}
			if io.Flags&event.IOUnfinished == 0 && io.Issued != 0 && io.Depth == 0 {
				t.Errorf("issued at depth 0: %+v", *io)
			}
		})
		at := uint64(1e9)
		for ; len(script) >= 6; script = script[6:] {
			at += uint64(script[5]) * uint64(script[5]) * uint64(script[5]) * 100_000
			tr := trace{
				at: at, action: Action(script[0]) % Actions, dev: devs[script[1]%4], from: devs[script[1]>>2%4], to: devs[script[1]>>4%4],
				sector: uint64(script[2]%16) * 8, fromSector: uint64(script[2]>>4) * 8, boundary: uint64(script[2]>>4) * 8,
				bytes: uint64(script[3]%5) * 4096, op: ops[int(script[4])%len(ops)], cpu: uint32(script[4]),
			}
			l.take(&tr)
		}
		l.end()
		if uint64(len(told)) != counts.IOs {
			t.Errorf("%d told: %+v", len(told), counts)
		}
		if len(l.open.begins)+len(l.open.ends)+l.open.ages.Len()+len(l.held) != 0 {
			t.Errorf("left: %v %v %d %v", l.open.begins, l.open.ends, l.open.ages.Len(), l.held)
		}
		for dev, d := range l.disks {
			if d.inDriver != 0 {
				t.Errorf("%d,%d has %d requests in its driver", dev.Major(), dev.Minor(), d.inDriver)
			}
		}
	})
}
