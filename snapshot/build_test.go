// SPDX-License-Identifier: Apache-2.0

package snapshot_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/iowitness/iowitness/blame"
	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/snapshot"
	"github.com/iowitness/iowitness/snapshot/snapshottest"
)

var someCauses = []blame.Cause{
	blame.Unattributed, blame.Unknown, blame.PageCacheRead, blame.DeviceFlush, blame.JournalCommit, blame.IOUringIdle, blame.NotStorage,
}

// randomThread is an account that keeps blame's promise: charges add up to Blocked.
func randomThread(r *rand.Rand, pid, tid uint32) blame.Thread {
	t := blame.Thread{PID: pid, TID: tid, Comm: fmt.Sprintf("t%d", tid), RunQueue: r.Uint64N(1e6), Exited: r.IntN(4) == 0}
	for range r.IntN(6) {
		c := blame.Charge{
			Cause: someCauses[r.IntN(len(someCauses))], Flagged: r.IntN(2) == 0, Device: event.Dev(r.IntN(3)),
			File: event.File{Ino: uint64(r.IntN(4)), Dev: 1, Source: event.FileSource(r.IntN(2)), Path: "/f"}, Syscall: int32(r.IntN(3)) - 1,
			Count: r.Uint64N(100), Blocked: r.Uint64N(1e9), RunQueue: r.Uint64N(1e5), Max: r.Uint64N(1e8), Sampled: r.IntN(3) == 0,
		}
		c.Seen = c.Count / 2
		if c.Cause.Storage() {
			c.Joins = randomJoins(r, c.Seen)
		}
		c.Hist = snapshottest.Hist(uint32(c.Count), c.Max)
		t.Count += c.Count
		t.Blocked += c.Blocked
		t.Max = max(t.Max, c.Max)
		if c.Flagged {
			t.FlaggedBlocked += c.Blocked
		}
		t.Hist.Merge(c.Hist)
		t.Charges = append(t.Charges, c)
	}
	if r.IntN(3) == 0 {
		t.Pending = &blame.Pending{Age: r.Uint64N(1e10), Cause: someCauses[r.IntN(len(someCauses))]}
		t.Max = max(t.Max, t.Pending.Age)
	}
	return t
}

func randomJoins(r *rand.Rand, most uint64) (sum blame.Joins) {
	for range r.Uint64N(most + 1) {
		q := event.Request{Sector: r.Uint64N(2), Dev: event.Dev(r.IntN(3)), Device: 1 + r.Uint64N(2), Queue: r.Uint64N(2)}
		wait := r.Uint64N(3)
		s := blame.SplitBy(wait, q)
		one := blame.Joins{Waits: 1, Timed: 1, Blocked: wait, Before: s.Before, Within: s.Within, Device: q.Device, Longest: q, LongestWait: wait}
		if q.Queue > 0 {
			one.Queue, one.QueueTimed = q.Queue, 1
		}
		sum.Merge(&one)
	}
	return sum
}

func randomInterval(r *rand.Rand) *snapshot.Interval {
	iv := &snapshot.Interval{Wall: time.Second}
	for i := range r.IntN(60) {
		iv.Threads = append(iv.Threads, randomThread(r, uint32(1+r.IntN(12)), uint32(100+i)))
	}
	return iv
}

func allTotal(threads []blame.Thread) (total, count uint64) {
	for _, t := range threads {
		total += t.Blocked
		count += t.Count
	}
	return total, count
}

// However the rows are grouped and cut: causes add up to each row, rows add up to all.
func TestLedger(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	names := &snapshottest.Names{Processes: map[uint32]snapshot.ProcessName{1: {Comm: "one", Cgroup: "/a", User: "u", Known: true}}}
	for range 200 {
		iv := randomInterval(r)
		total, count := allTotal(iv.Threads)
		for _, by := range [][]snapshot.Key{
			nil,
			{snapshot.ByThread},
			{snapshot.ByUser},
			{snapshot.ByCgroup},
			{snapshot.ByContainer},
			{snapshot.ByCause},
			{snapshot.ByDevice},
			{snapshot.ByFile},
			{snapshot.ByProcess, snapshot.ByCause},
			{snapshot.ByFile, snapshot.ByDevice, snapshot.ByUser},
		} {
			s := snapshot.Build(iv, names, snapshot.Options{By: by, Top: r.IntN(8)})
			var rows, waits uint64
			for i := range s.Rows {
				checkRow(t, &s.Rows[i])
				rows += s.Rows[i].Total
				waits += s.Rows[i].Count
			}
			if rows != total || waits != count {
				t.Fatalf("by %v: rows hold %d of %d ns and %d of %d waits", by, rows, total, waits, count)
			}
			if h := s.Head; h.StorageNS+h.OtherNS != total {
				t.Fatalf("the head holds %d of %d ns", h.StorageNS+h.OtherNS, total)
			}
		}
	}
}

func checkRow(t *testing.T, r *snapshot.Row) {
	t.Helper()
	var causes uint64
	for _, c := range r.Causes {
		causes += c.Total
		if c.Joins.Waits > c.Recorded || c.Joins.Before+c.Joins.Within > c.Joins.Blocked || c.Joins.Waits > 0 && c.Joins.Longest.Dev != 0 && c.Device == "" {
			t.Fatalf("%s: of %d recorded waits %+v", r.Comm, c.Recorded, c.Joins)
		}
	}
	if causes != r.Total {
		t.Fatalf("%s: causes hold %d of %d ns", r.Comm, causes, r.Total)
	}
	if r.FlaggedNS > r.Total || r.Top.CauseNS > r.Total || r.Top.DeviceNS > r.Top.CauseNS || r.Top.FileNS > r.Top.CauseNS {
		t.Fatalf("a part is larger than the whole: %+v", r)
	}
}

func TestRowsAreSortedAndStable(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	names := &snapshottest.Names{}
	for range 50 {
		iv := randomInterval(r)
		options := snapshot.Options{By: []snapshot.Key{snapshot.ByProcess, snapshot.ByFile}, Stacks: 3, Splits: true}
		first := snapshot.Build(iv, names, options)
		if !slices.IsSortedFunc(first.Rows, func(a, b snapshot.Row) int { return int(int64(b.Total - a.Total)) }) {
			t.Fatal("rows are not sorted by total")
		}
		r.Shuffle(len(iv.Threads), func(i, j int) { iv.Threads[i], iv.Threads[j] = iv.Threads[j], iv.Threads[i] })
		if second := snapshot.Build(iv, names, options); !reflect.DeepEqual(first, second) {
			t.Fatalf("the order of threads changes the snapshot:\n%s", cmp.Diff(first.Rows, second.Rows))
		}
	}
}

func TestUnexplainedTimeIsUnattributed(t *testing.T) {
	iv := &snapshot.Interval{Wall: time.Second, Threads: []blame.Thread{{PID: 1, TID: 1, Blocked: 100, Charges: []blame.Charge{{Cause: blame.DeviceFlush, Blocked: 60}}}}}
	for _, by := range []snapshot.Key{snapshot.ByProcess, snapshot.ByCause} {
		s := snapshot.Build(iv, &snapshottest.Names{}, snapshot.Options{By: []snapshot.Key{by}})
		var lost uint64
		for _, r := range s.Rows {
			for _, c := range r.Causes {
				if c.Cause == blame.Unattributed {
					lost += c.Total
				}
			}
		}
		if lost != 40 {
			t.Errorf("by %s: %d ns unattributed, want 40", by, lost)
		}
	}
}

func TestExactAndEstimated(t *testing.T) {
	iv, names := snapshottest.TwoProcesses()
	for _, r := range snapshot.Build(iv, names, snapshot.Options{}).Rows {
		if !r.Exact {
			t.Errorf("%s: a process's tally is exact", r.Comm)
		}
		if r.Sampled.Any != (r.Comm == "backup") {
			t.Errorf("%s: sampled: %t", r.Comm, r.Sampled.Any)
		}
	}
	for _, r := range snapshot.Build(iv, names, snapshot.Options{By: []snapshot.Key{snapshot.ByDevice}}).Rows {
		if r.Exact != (r.Top.Device != "vdb") {
			t.Errorf("%q: exact: %t", r.Top.Device, r.Exact)
		}
	}
}

func TestFilters(t *testing.T) {
	iv, names := snapshottest.TwoProcesses()
	for name, c := range map[string]struct {
		options snapshot.Options
		want    []uint32
	}{
		"pid":             {snapshot.Options{PIDs: []uint32{814}}, []uint32{814}},
		"comm":            {snapshot.Options{Comms: []string{"postgres"}}, []uint32{4711}},
		"thread's comm":   {snapshot.Options{Comms: []string{"reader/1"}}, []uint32{814}},
		"cgroup":          {snapshot.Options{Cgroups: []string{"/system.slice"}}, []uint32{99, 4711}},
		"cgroup slash":    {snapshot.Options{Cgroups: []string{"system.slice/"}}, []uint32{99, 4711}},
		"half a cgroup":   {snapshot.Options{Cgroups: []string{"/system.sl"}}, nil},
		"root cgroup":     {snapshot.Options{Cgroups: []string{"/"}}, []uint32{99, 4711, 814}},
		"user":            {snapshot.Options{Users: []string{"postgres"}}, []uint32{4711}},
		"uid":             {snapshot.Options{Users: []string{"1000"}}, []uint32{814}},
		"cause":           {snapshot.Options{Causes: []blame.Cause{blame.DeviceFlush}}, []uint32{4711}},
		"min":             {snapshot.Options{Min: time.Second}, []uint32{99, 814}},
		"cause and other": {snapshot.Options{Causes: []blame.Cause{blame.DeviceFlush}, PIDs: []uint32{814}}, nil},
	} {
		s := snapshot.Build(iv, names, c.options)
		var got []uint32
		for _, r := range s.Rows {
			got = append(got, r.PID)
		}
		if !slices.Equal(got, c.want) || !s.Filtered {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// A name longer than the kernel's 15 bytes still finds its process.
func TestLongCommandNames(t *testing.T) {
	iv := &snapshot.Interval{Wall: time.Second, Threads: []blame.Thread{{PID: 1, TID: 1, Comm: "a-very-long-com", Blocked: 5}}}
	names := &snapshottest.Names{Processes: map[uint32]snapshot.ProcessName{1: {Comm: "a-very-long-com", Exe: "/bin/a-very-long-command-name"}}}
	for _, comm := range []string{"a-very-long-com", "a-very-long-command-name"} {
		if n := len(snapshot.Build(iv, names, snapshot.Options{Comms: []string{comm}}).Rows); n != 1 {
			t.Errorf("%s: %d rows", comm, n)
		}
	}
}

func TestTopSumsUpTheOthers(t *testing.T) {
	iv, names := snapshottest.Many(30)
	s := snapshot.Build(iv, names, snapshot.Options{Top: 3})
	last := s.Rows[len(s.Rows)-1]
	if len(s.Rows) != 4 || last.Others != 27 || last.Comm != "" || last.PID != 0 || last.Count != 27*130 {
		t.Errorf("%d rows, the last: %+v", len(s.Rows), last.Who)
	}
}

func TestLargestPrefersStorage(t *testing.T) {
	iv, names := snapshottest.TwoProcesses()
	l := snapshot.Build(iv, names, snapshot.Options{}).Head.Largest
	if !l.Storage || l.PID != 4711 || l.Total != 640e6 || l.Top.Device != "vda1" {
		t.Errorf("%+v", l)
	}
	l = snapshot.Build(iv, names, snapshot.Options{PIDs: []uint32{99}}).Head.Largest
	if l.Storage || l.PID != 99 {
		t.Errorf("%+v", l)
	}
}

func TestInProgressIsBoundedAndOldestFirst(t *testing.T) {
	iv := &snapshot.Interval{Wall: time.Second}
	for i := range 1000 {
		iv.Threads = append(iv.Threads, blame.Thread{PID: uint32(i + 1), TID: uint32(i + 1), Pending: &blame.Pending{Age: uint64(i), Cause: blame.Unknown}})
	}
	s := snapshot.Build(iv, &snapshottest.Names{}, snapshot.Options{})
	if len(s.InProgress) != snapshot.MaxInProgress || s.Hanging != 1000 || s.InProgress[0].Age != 999 {
		t.Errorf("%d of %d, the first aged %d", len(s.InProgress), s.Hanging, s.InProgress[0].Age)
	}
}
