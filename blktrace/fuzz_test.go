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
