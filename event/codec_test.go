// SPDX-License-Identifier: Apache-2.0

package event

import (
	"errors"
	"reflect"
	"testing"
)

func sampleSite() Site {
	return Site{
		Syscall: 17, Cgroup: 99, Stack: []uint64{0xffffffff81000001, 0xffffffff81000002},
		File: File{Ino: 12, Dev: MakeDev(254, 1), Backing: MakeDev(7, 3), Source: ByFD, BlockDevice: true, Path: "/var/lib/x\x1b[2J/\xff\xfe"},
	}
}

func samples() []any {
	site := sampleSite()
	tally := &Tally{TID: 5, PID: 4, Comm: "fifteen bytes a", Now: 9, Start: 3, Woken: 2, Flags: Flagged | Adopted, Count: 7}
	tally.Sums[2] = Sum{Count: 7, Blocked: 700, RunQueue: 70}
	tally.Max[1] = Max{NS: 300, Epoch: 3}
	tally.Hist.Add(4, 7)
	withSite := *tally
	withSite.Site = &site
	exited := *tally
	exited.Exited = true
	return []any{
		&Wait{
			TID: 2, PID: 1, Comm: "\x1b[2Jdd", Start: 10, Woken: 20, Runs: 30, Seq: 4, Flags: Flagged | Slow | Joined, CPU: 3,
			Request: Request{Sector: 8, Dev: MakeDev(7, 0), Bytes: 4096, Op: 1, Queue: 100, Device: 200}, Site: site,
		},
		&Identity{
			TID: 2, PID: 1, Comm: "a", LeaderComm: "b", StartTime: 5, UID: 1000, PPID: 1, NSPID: 7, NSLevel: 1,
			Exe: File{Ino: 3, Dev: 4, Source: ByFD, Path: "/usr/bin/dd"}, Cgroup: 8, CgroupPath: "/docker/abc", CgroupV1: 3,
		},
		&Identity{TID: 2, PID: 2, Kernel: true, CgroupPath: "/"},
		&File{Ino: 12, Dev: MakeDev(7, 1), Source: ByFD, Path: "/a/\x1b[2J"},
		tally, &withSite, &exited,
		&IO{
			Owner: Task{7, 6, "dd"}, Carrier: Task{9, 8, "kworker/u8:1"}, Cgroup: 5, Queued: 1, Got: 2, Inserted: 3, Issued: 4, Completed: 5,
			Sector: 1 << 40, Bytes: 4096, Op: OpWrite | 1<<17, Dev: MakeDev(259, 1), Disk: MakeDev(259, 0), Top: MakeDev(253, 0), CPU: 3, Error: 5,
			Depth: 17, Merged: 2, Requeues: 1, Flags: IOSequential | IODirtied, File: File{Ino: 12, Dev: 3, Source: ByFolio},
		},
		&Failure{
			Task: Task{7, 6, "ld"}, Start: 5, End: 9, Ret: ^uint64(21), Cgroup: 3, Args: [6]uint64{1, 2, 3, 4, 5, 6}, Number: 59, CPU: 1,
			Paths: [2]Path{{"./bad\x1b[2J", true}, {}}, Returns: 2,
			Inner: []ErrorReturn{{Place: 100, Ret: ^uint64(21), Stack: 7, Called: 0xffffffff81000010, Function: 4, Failed: true}, {Place: 200, Function: 1}},
		},
		&Failure{Compat: true, Returns: 40, Inner: manyReturns(40)},
		&Signal{Task: Task{7, 6, "a"}, Time: 4, Address: 0xdead, Stack: 8, Number: 11, Code: -6, TargetTID: 3, TargetPID: 2, Target: "b"},
		&Death{Task: Task{7, 6, "a"}, Time: 4, Signal: 11, Dumped: true},
		&Call{
			Task: Task{7, 6, "a\x1b[2J"}, Start: 5, NS: 9, Inner: 2, Root: 3, Ret: ^uint64(4), Cgroup: 8, Function: 1, CPU: 2, Depth: 3, Missed: 4,
			Out: []byte{1, 2, 3, 4, 5, 6, 7, 8}, Stack: []uint64{9, 10},
		},
		&IOWait{TID: 3, PID: 2, Completed: 77, Sector: 8, Disk: 5, WaitNS: 1000},
		&Process{PID: 3, Comm: "\x1b[2J", At: 77, Event: ProcessForked, Parent: 2},
		&RunQWait{
			TID: 3, PID: 2, Comm: "a", Since: 5, Runs: 9, CPU: 1, Kind: RunQWoken, WakerIs: WakerInterrupt, Waker: Task{7, 6, "b"},
			Ran: [RunQRuns]Run{{Task{1, 1, "c"}, 2, 8}, {Task{2, 2, "d"}, 8, 9}}, Stack: []uint64{4, 5},
		},
	}
}

// manyReturns are the last of so many, each with its number.
func manyReturns(n int) (last []ErrorReturn) {
	for i := n - errorReturns; i < n; i++ {
		last = append(last, ErrorReturn{Place: uint64(i), Failed: true})
	}
	return last
}

func TestEncodedRecordsDecodeToThemselves(t *testing.T) {
	for _, want := range samples() {
		b := Encode(want)
		got, n, err := Decode(append(b, 1, 2, 3))
		if err != nil || n != len(b) {
			t.Fatalf("%T: %d of %d bytes, %v", want, n, len(b), err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
	}
}

func TestForeignAndShortRecordsAreRefused(t *testing.T) {
	for _, record := range samples() {
		b := Encode(record)
		for n := range b {
			if _, _, err := Decode(b[:n]); !errors.Is(err, ErrRecord) {
				t.Fatalf("%T cut to %d bytes: %v", record, n, err)
			}
		}
		for at := range 8 { // kind, version and size
			bad := append([]byte(nil), b...)
			bad[at] ^= 0x55
			if _, _, err := Decode(bad); !errors.Is(err, ErrRecord) {
				t.Errorf("%T with byte %d changed: %v", record, at, err)
			}
		}
	}
	if _, err := DecodeThreadWait(make([]byte, 10), 0); !errors.Is(err, ErrRecord) {
		t.Error(err)
	}
}

// mayShrink: these have room for a site, or for a stack, that need not be there.
func mayShrink(record any) bool {
	switch r := record.(type) {
	case *Tally:
		return r.Site == nil
	case *Call:
		return true
	}
	return false
}

func FuzzDecode(f *testing.F) {
	for _, record := range samples() {
		f.Add(Encode(record))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		record, n, err := Decode(b)
		if err != nil {
			if !errors.Is(err, ErrRecord) {
				t.Fatal(err)
			}
			return
		}
		again, m, err := Decode(Encode(record))
		if err != nil || m != n && !mayShrink(record) || m > n {
			t.Fatalf("%+v: %d bytes, then %d: %v", record, n, m, err)
		}
		if _, isIdentity := record.(*Identity); !isIdentity && !reflect.DeepEqual(again, record) {
			// A path may hold a slash within a component, which no file system allows.
			t.Logf("%+v became %+v", record, again)
		}
	})
}
