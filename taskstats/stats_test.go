// SPDX-License-Identifier: Apache-2.0

package taskstats

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/cilium/ebpf/btf"
)

// sizes are those of struct taskstats by version.
var sizes = map[uint16]int{8: 328, 9: 344, 10: 352, 11: 368, 12: 400, 13: 416, 14: 432, 15: 560, 16: 560, 17: 688}

// filled is a struct whose every 64-bit word is its own place.
func filled(version uint16, size int) []byte {
	b := make([]byte, size)
	for at := 0; at+8 <= size; at += 8 {
		binary.NativeEndian.PutUint64(b[at:], uint64(at))
	}
	binary.NativeEndian.PutUint16(b, version)
	return b
}

func TestDecodeOfEachVersion(t *testing.T) {
	for version, size := range sizes {
		b := filled(version, size)
		l := &usual
		if version == midVersion {
			l = &mid
		}
		copy(b[l.comm:], "a name\x00rest")
		binary.NativeEndian.PutUint32(b[l.pid:], 4711)
		if size > l.tgid {
			binary.NativeEndian.PutUint32(b[l.tgid:], 4700)
		}
		s, err := Decode(b)
		if err != nil {
			t.Fatalf("version %d: %v", version, err)
		}
		for _, d := range []struct {
			got Delay
			at  place
		}{{s.CPU, l.cpu}, {s.BlockIO, l.blockIO}, {s.SwapIn, l.swapIn}, {s.Reclaim, l.reclaim}, {s.Thrashing, l.thrashing}} {
			want := Delay{Count: uint64(d.at.count), Total: uint64(d.at.count + 8)}
			if d.at.count+16 > size { // this version does not have it
				want = Delay{}
			}
			if version >= midVersion {
				want.Max = uint64(d.at.peak)
			}
			if d.got != want {
				t.Errorf("version %d: %+v, want %+v", version, d.got, want)
			}
		}
		pid := uint32(0)
		if version >= 12 {
			pid = 4700
		}
		if s.Version != version || s.Comm != "a name" || s.TID != 4711 || s.PID != pid || s.Peaks != (version >= 15) || s.SwapInApart() != (version <= 10) {
			t.Errorf("version %d: %+v", version, s)
		}
	}
}

// TestLayoutIsTheRunningKernels compares with the kernel's own type information.
func TestLayoutIsTheRunningKernels(t *testing.T) {
	spec, err := btf.LoadKernelSpec()
	if err != nil {
		t.Skip(err)
	}
	var s *btf.Struct
	if err := spec.TypeByName("taskstats", &s); err != nil {
		t.Skip(err)
	}
	at := map[string]int{}
	for _, m := range s.Members {
		at[m.Name] = int(m.Offset.Bytes())
	}
	_, midst := at["cpu_delay_max"]
	l := &usual
	if midst && at["cpu_delay_max"] < at["ac_comm"] {
		l = &mid
	}
	for name, got := range map[string]int{
		"cpu_count": l.cpu.count, "cpu_delay_max": l.cpu.peak, "blkio_count": l.blockIO.count, "blkio_delay_total": l.blockIO.count + 8,
		"blkio_delay_max": l.blockIO.peak, "swapin_count": l.swapIn.count, "swapin_delay_total": l.swapIn.count + 8,
		"swapin_delay_max": l.swapIn.peak, "freepages_count": l.reclaim.count, "freepages_delay_total": l.reclaim.count + 8,
		"freepages_delay_max": l.reclaim.peak, "thrashing_count": l.thrashing.count, "thrashing_delay_total": l.thrashing.count + 8,
		"thrashing_delay_max": l.thrashing.peak, "ac_comm": l.comm, "ac_uid": l.uid, "ac_pid": l.pid, "ac_ppid": l.ppid, "ac_tgid": l.tgid, "ac_etime": l.elapsed,
	} {
		want, has := at[name]
		if has && got != want {
			t.Errorf("%s is read at %d, and lies at %d", name, got, want)
		}
		if !has && got+8 <= int(s.Size) {
			t.Errorf("%s is read at %d, and this kernel's struct of %d bytes has no such field", name, got, s.Size)
		}
	}
	t.Logf("%d bytes", s.Size)
}

func TestDecodeRefusesWhatItDoesNotKnow(t *testing.T) {
	for _, b := range [][]byte{nil, {1}, filled(1, 328), filled(0, 328), filled(8, 64), filled(15, 180), filled(65535, 100)} {
		if _, err := Decode(b); !errors.Is(err, ErrStats) {
			t.Errorf("%d bytes: %v", len(b), err)
		}
	}
	if _, err := Decode(filled(40, 1200)); err != nil {
		t.Errorf("a version to come: %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	for version, size := range sizes {
		f.Add(filled(version, size))
	}
	f.Add([]byte{15, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := Decode(b)
		if err == nil && (len(s.Comm) > commBytes || s.Version < firstVersion) {
			t.Errorf("%+v", s)
		}
	})
}

func TestADelayNeverGoesBackwards(t *testing.T) {
	if got := (Delay{Count: 3, Total: 5}).Since(Delay{Count: 4, Total: 9}); got != (Delay{}) {
		t.Errorf("%+v", got)
	}
}
