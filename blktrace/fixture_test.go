// SPDX-License-Identifier: Apache-2.0

package blktrace

import (
	"testing"

	"github.com/iowitness/iowitness/event"
)

// read reads a recording that is whole.
func read(t testing.TB, path string) ([]*event.IO, Counts) {
	t.Helper()
	ios, counts, err := readAll(path)
	if err != nil {
		t.Fatal(err)
	}
	return ios, counts
}

func readAll(path string) (ios []*event.IO, counts Counts, err error) {
	r, err := Open(path, Options{})
	if err != nil {
		return nil, Counts{}, err
	}
	counts, err = r.Read(func(io *event.IO) { ios = append(ios, io) })
	return ios, counts, err
}

// sound says that nothing in a recording was left over.
func sound(c *Counts) bool {
	return c.Unfinished+c.Unmatched+c.Stray+c.OutOfOrder+c.Backwards+c.Missing == 0
}

// TestEachStartCompletes: 36 I/Os, of which two are the second halves of bios
// that were split. Most of them complete in whoever was interrupted.
func TestEachStartCompletes(t *testing.T) {
	ios, counts := read(t, "testdata/perf-dd_direct.txt")
	if len(ios) != 36 || counts.IOs != 36 || counts.Actions[Start] != 36 || !sound(&counts) {
		t.Errorf("%d IOs, %+v", len(ios), counts)
	}
	owners := map[string]int{}
	for _, io := range ios {
		owners[io.Owner.Comm]++
		if io.Completed == 0 || io.Queued == 0 || io.Got < io.Queued || io.Issued < io.Inserted || io.Depth == 0 {
			t.Errorf("%+v", *io)
		}
	}
	if owners["dd"] != 10 || owners["sleep"] != 4 || owners["dpkg"] != 22 {
		t.Errorf("owners %v", owners)
	}
}

// TestCompletionsThatAreNotThere: perf lost all of them, which is no reason to
// call the I/Os hung. Half of them were given back by the driver and issued by a kernel worker then.
func TestCompletionsThatAreNotThere(t *testing.T) {
	ios, counts := read(t, "testdata/perf-no_completions.txt")
	if len(ios) != 16 || counts.Unfinished != 16 || counts.Unmatched+counts.Stray != 0 || counts.Actions[Issue] != 24 {
		t.Errorf("%d IOs, %+v", len(ios), counts)
	}
	requeues := uint16(0)
	for _, io := range ios {
		requeues += io.Requeues
		if io.Flags&event.IOUnfinished == 0 || io.Owner.Comm != "dd" || io.Owner.TID != 6956 || io.Completed != 0 || io.Depth != 0 {
			t.Errorf("%+v", *io)
		}
		if io.Flags&event.IOSplit == 0 || io.Issued-io.Queued > 200_000 {
			t.Errorf("issued after %d ns: %+v", io.Issued-io.Queued, *io)
		}
	}
	if requeues != 8 {
		t.Errorf("%d requeues", requeues)
	}
}

// TestPartitionsMergesAndFlush: direct writes to one partition, buffered ones
// to another one that become a single request, and its fsync.
func TestPartitionsMergesAndFlush(t *testing.T) {
	ios, counts := read(t, "testdata/perf-partition.txt")
	if len(ios) != 10 || counts.Flushes != 1 || !sound(&counts) {
		t.Fatalf("%d IOs, %+v", len(ios), counts)
	}
	for i, io := range ios[:8] {
		if io.Bytes != 256<<10 || io.Dev != event.MakeDev(259, 1) || io.Disk != event.MakeDev(7, 0) || io.Top != 0 {
			t.Errorf("%d: %+v", i, *io)
		}
		if sequential := io.Flags&event.IOSequential != 0; sequential != (i > 0) {
			t.Errorf("%d is sequential: %v", i, sequential)
		}
	}
	if io := ios[8]; io.Bytes != 400<<10 || io.Merged != 99 || io.Dev != event.MakeDev(259, 0) || io.Sector != 2848 {
		t.Errorf("merged: %+v", *io)
	}
	flush := ios[9]
	if flush.Op&event.OpMask != event.OpFlush || flush.Bytes != 0 || flush.Owner.Comm != "dd" || flush.Issued == 0 || flush.Completed <= flush.Issued {
		t.Errorf("flush: %+v", *flush)
	}
}

// TestFlushSequences: three writes that must be durable, to a device that
// cannot do it by itself: the kernel flushes behind each of them, and before one. The
// request completes a second time, without data.
func TestFlushSequences(t *testing.T) {
	ios, counts := read(t, "testdata/perf-flush.txt")
	if len(ios) != 7 || counts.FlushEnds != 3 || !sound(&counts) {
		t.Errorf("%d IOs, %+v", len(ios), counts)
	}
	flushes := 0
	for _, io := range ios {
		if io.Op&event.OpMask == event.OpFlush {
			flushes++
			if io.Carrier.Comm == "" {
				t.Errorf("no carrier: %+v", *io)
			}
		} else if io.Bytes != 1024 || io.Op&reqFUA == 0 {
			t.Errorf("%+v", *io)
		}
		if io.Owner.Comm != "umount" || io.Completed == 0 {
			t.Errorf("%+v", *io)
		}
	}
	if flushes != 4 {
		t.Errorf("%d flushes", flushes)
	}
}
