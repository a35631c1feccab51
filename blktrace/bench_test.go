// SPDX-License-Identifier: Apache-2.0

package blktrace

import (
	"encoding/binary"
	"os"
	"testing"

	"github.com/iowitness/iowitness/event"
)

func benchmarkRead(b *testing.B, path string) {
	about, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(about.Size())
	b.ReportAllocs()
	events := uint64(0)
	for b.Loop() {
		r, err := Open(path, Options{})
		if err != nil {
			b.Fatal(err)
		}
		counts, err := r.Read(func(*event.IO) {})
		if err != nil || counts.Events == 0 {
			b.Fatal(counts, err)
		}
		events = counts.Events
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(events), "ns/event")
}

func BenchmarkBinary(b *testing.B) {
	r := newRecorder(binary.LittleEndian, 7)
	randomLives(r, 20_000, []uint64{kQ, kG, kD, kC})
	benchmarkRead(b, r.save(b, b.TempDir(), "sda")+".blktrace.0")
}

func BenchmarkText(b *testing.B) { benchmarkRead(b, "testdata/perf-dd_direct.txt") }
