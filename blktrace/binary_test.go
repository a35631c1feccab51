// SPDX-License-Identifier: Apache-2.0

package blktrace

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/iowitness/iowitness/event"
)

// scenario records what each format must tell alike.
func scenario(r *recorder) {
	r.note(1_000_000_001, 1, 0, 0, r.order.AppendUint32(r.order.AppendUint32(nil, 1_700_000_000), 500))
	r.note(1_000_000_002, 2, 0, 0, []byte("bfq says something"))
	r.name(1_000_000_005, 70, 0, "fio")
	r.name(1_000_000_005, 71, 1, "kworker/1:1")
	dm := event.MakeDev(253, 0)
	r.add(
		is{at: 1_000_010_000, action: kA, cat: catWrite, sector: 500, bytes: 8192, pid: 70, data: append(be32(uint32(dm), 8<<20), be64(0)...)},
		is{at: 1_000_010_500, action: kA, cat: catWrite, sector: 2548, bytes: 8192, pid: 70, data: append(be32(8<<20|1, 8<<20), be64(500)...)},
		is{at: 1_000_011_000, action: kQ, cat: catWrite | catSync, sector: 2548, bytes: 8192, pid: 70, cgroup: 77},
		is{at: 1_000_012_000, action: kX, cat: catWrite | catSync, sector: 2548, bytes: 4096, pid: 70, data: be64(2556)},
		is{at: 1_000_013_000, action: kG, cat: catWrite | catSync, sector: 2548, bytes: 4096, pid: 70},
		is{at: 1_000_014_000, action: kG, cat: catWrite | catSync, sector: 2556, bytes: 4096, pid: 70},
		is{at: 1_000_014_500, action: kP, pid: 70},
		is{at: 1_000_015_000, action: kI, cat: catWrite | catSync, sector: 2556, bytes: 4096, pid: 70},
		is{at: 1_000_015_100, action: kU, pid: 70, data: be64(2)},
		is{at: 1_000_016_000, action: kD, cat: catWrite | catSync, sector: 2548, bytes: 4096, pid: 70},
		is{at: 1_000_017_000, action: kR, cat: catWrite | catSync, sector: 2548, bytes: 4096, pid: 70},
		is{at: 1_000_018_000, action: kD, cat: catWrite | catSync, sector: 2556, bytes: 4096, pid: 71, cpu: 1},
		is{at: 1_000_019_000, action: kD, cat: catWrite | catSync, sector: 2548, bytes: 4096, pid: 71, cpu: 1},
		is{at: 1_000_020_000, action: kC, cat: catWrite | catSync, sector: 2556, bytes: 4096, err: -5},
		is{at: 1_000_021_000, action: kC, cat: catWrite | catSync, sector: 2548, bytes: 4096, cpu: 1},
		is{at: 1_000_030_000, action: kQ, cat: kRead | catMeta | catAhead, sector: 8, bytes: 512, pid: 70},
		is{at: 1_000_031_000, action: kS, cat: kRead | catMeta | catAhead, sector: 8, bytes: 512, pid: 70},
		is{at: 1_000_040_000, action: kC, cat: kRead | catMeta | catAhead, sector: 8, bytes: 512},
		is{at: 1_000_050_000, action: kQ, cat: catWrite | catFlush | catSync, pid: 70},
		is{at: 1_000_051_000, action: kD, cat: kRead | catFlush, pid: 71, cpu: 1},
		is{at: 1_000_052_000, action: kC, cat: kRead | catFlush},
		is{at: 1_000_053_000, action: kC, cat: catWrite | catSync},
		is{at: 1_000_060_000, action: kQ, cat: catWrite | catDiscard, sector: 64, bytes: 1 << 20, pid: 70},
		is{at: 1_000_061_000, action: kD, cat: catWrite | catDiscard, sector: 64, bytes: 1 << 20, pid: 70},
	)
}

var scenarioLives = []string{
	"fio 8,0:8,1<253,0 op1 2556+8 Q11 G14 I15 D18 C20 depth1 error5 sequential split",
	"fio 8,0:8,1<253,0 op1 2548+8 Q11 G13 I- D16 C21 depth1 requeues1 split",
	"fio 8,0 op0 8+1 Q30 G- I- D- C40",
	"fio 8,0 op2 0+0 Q50 G- I- D51 C53 depth1",
	"fio 8,0 op3 64+2048 Q60 G- I- D61 C- depth1 unfinished",
}

// TestBinaryFormats: both versions, both byte orders, in files for each CPU, under each of their names.
func TestBinaryFormats(t *testing.T) {
	for _, order := range []byteOrder{binary.LittleEndian, binary.BigEndian} {
		for _, version := range []uint32{7, 8} {
			t.Run(fmt.Sprint(order, version), func(t *testing.T) {
				r := newRecorder(order, version)
				scenario(r)
				dir := t.TempDir()
				name := r.save(t, dir, "sda")
				for _, path := range []string{name, name + ".blktrace.1", dir} {
					ios, counts := read(t, path)
					var got []string
					for _, io := range ios {
						got = append(got, short(io))
					}
					if !slices.Equal(got, scenarioLives) {
						t.Errorf("%s:\n%s", path, strings.Join(got, "\n"))
					}
					if counts.Events != 24 || counts.Unfinished != 1 || counts.Unmatched+counts.Stray+counts.Missing+counts.OutOfOrder != 0 ||
						counts.Flushes != 1 || counts.Actions[Message] != 1 || counts.Actions[Plug] != 1 {
						t.Errorf("%+v", counts)
					}
					if ios[0].Cgroup != 77 || ios[2].Op != event.OpRead|reqMeta|reqAhead {
						t.Errorf("%+v %+v", *ios[0], *ios[2])
					}
					if !counts.Began.Equal(time.Unix(1_700_000_000, 500)) || counts.BeganAt != 1_000_000_001 {
						t.Errorf("began %v at %d", counts.Began, counts.BeganAt)
					}
				}
			})
		}
	}
}

// TestOperationsOfZones: only the second version has them.
func TestOperationsOfZones(t *testing.T) {
	for category, want := range map[uint64]uint32{
		1<<16 | catWrite: opZoneAppend, 1<<17 | catWrite: opZoneReset, 1 << 21: opZoneClose,
		catWriteZeroes | catWrite: event.OpWriteZeroes, catWrite: event.OpWrite, catPC | catWrite: opUnknown,
		catDiscard | catWrite | catSync: event.OpDiscard | reqSync,
	} {
		if got := opOf(category, 4096); got != want {
			t.Errorf("%#x is %#x, not %#x", category, got, want)
		}
	}
}

// TestMissingRecords: the kernel numbers them on each CPU.
func TestMissingRecords(t *testing.T) {
	r := newRecorder(binary.LittleEndian, 7)
	for i := range uint64(100) {
		if i == 50 {
			r.sequence[1] += 7
		}
		r.add(is{at: 1000 + i, action: kP, cpu: uint32(i % 2)})
	}
	if _, counts := read(t, r.save(t, t.TempDir(), "sda")); counts.Missing != 7 || counts.Events != 100 {
		t.Errorf("%+v", counts)
	}
}

// TestDamagedFiles: all before the damage is told, and where it is.
func TestDamagedFiles(t *testing.T) {
	whole := func() []byte {
		r := newRecorder(binary.LittleEndian, 7)
		r.add(
			is{at: 1000, action: kQ, cat: kRead, sector: 8, bytes: 4096, pid: 1},
			is{at: 2000, action: kD, cat: kRead, sector: 8, bytes: 4096, pid: 1},
			is{at: 3000, action: kC, cat: kRead, sector: 8, bytes: 4096, pid: 1},
			is{at: 4000, action: kA, cat: kRead, sector: 8, bytes: 4096, pid: 1, data: append(be32(1, 2), be64(3)...)},
		)
		return r.files[0]
	}
	for _, test := range []struct {
		name   string
		damage func([]byte) []byte
		want   string
		told   int
	}{
		{"in a record's data", func(b []byte) []byte { return b[:len(b)-1] }, "byte 144: the file ends within a record, of which 63 bytes are there", 1},
		{"in a record", func(b []byte) []byte { return b[:150] }, "byte 144: the file ends within a record, of which 6 bytes are there", 1},
		{"in its first word", func(b []byte) []byte { return b[:146] }, "byte 144: the file ends within a record, of which 2 bytes are there", 1},
		{"zeros", func(b []byte) []byte { return append(b[:144], make([]byte, 4096)...) }, "byte 144: zeros instead of a record: blktrace was ended before it could close the file", 1},
		{"shifted by a byte", func(b []byte) []byte { return slices.Insert(b, 48, 0) }, "byte 48: no record of blktrace begins here: the file is damaged", 1},
		{"a version of tomorrow", func(b []byte) []byte { b[0] = 9; return b }, "byte 0: version 9 of blktrace's format is not known (7 and 8 are)", 0},
		{"another byte order within", func(b []byte) []byte { slices.Reverse(b[48:52]); return b }, "byte 48: no record of blktrace begins here: the file is damaged", 1},
		{"a remap without data", func(b []byte) []byte { b[144+46] = 0; return b[:192] }, "byte 144: a record's data is shorter than its kind needs", 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "merged")
			if err := os.WriteFile(path, test.damage(whole()), 0o600); err != nil {
				t.Fatal(err)
			}
			ios, counts, err := readAll(path)
			if err == nil || err.Error() != path+": "+test.want {
				t.Errorf("%v", err)
			}
			if len(ios) != test.told || int(counts.IOs) != test.told {
				t.Errorf("%d IOs told, %+v", len(ios), counts)
			}
		})
	}
}

// TestOneDamagedFileOfTwo: the other one is read to its end.
func TestOneDamagedFileOfTwo(t *testing.T) {
	r := newRecorder(binary.LittleEndian, 7)
	for i := range uint64(10) {
		rec := is{at: 1000 + i*100, action: kD, cat: kRead, sector: i * 8, bytes: 4096, cpu: uint32(i % 2)}
		r.add(rec)
		rec.at, rec.action = rec.at+10, kC
		r.add(rec)
	}
	r.files[0] = r.files[0][:100]
	ios, counts, err := readAll(r.save(t, t.TempDir(), "sda"))
	if err == nil || !strings.HasSuffix(err.Error(), "sda.blktrace.0: byte 96: the file ends within a record, of which 4 bytes are there") {
		t.Error(err)
	}
	if len(ios) != 6 || counts.Unfinished != 0 {
		t.Errorf("%d IOs, %+v", len(ios), counts)
	}
}
