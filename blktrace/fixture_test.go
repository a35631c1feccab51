// SPDX-License-Identifier: Apache-2.0

package blktrace

import (
	"testing"

	"github.com/iowitness/iowitness/event"
)

// read reads a recording that is whole.
func read(t testing.TB, path string) ([]*event.IO, Counts) {
	t.Helper()
	ios, counts, err := readAll(t, path)
	if err != nil {
		t.Fatal(err)
	}
	return ios, counts
}

func readAll(t testing.TB, path string) (ios []*event.IO, counts Counts, err error) {
	t.Helper()
	r, err := Open(path)
	if err != nil {
		return nil, Counts{}, err
	}
	counts, err = r.Read(func(io *event.IO) { ios = append(ios, io) })
	return ios, counts, err
}

// TestEachStartCompletes: a recording of 36 I/Os, of which two are the second halves of bios that were split.
func TestEachStartCompletes(t *testing.T) {
	ios, counts := read(t, "testdata/perf-dd_direct.txt")
	if len(ios) != 36 || counts.IOs != 36 || counts.Unfinished != 0 || counts.Unmatched != 0 || counts.Stray != 0 {
		t.Errorf("%d IOs, %+v", len(ios), counts)
	}
}
