// SPDX-License-Identifier: Apache-2.0

package request

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/snapshot"
)

func TestSizeSlots(t *testing.T) {
	for bytes, want := range map[uint32]int{0: 0, 1: 0, 512: 0, 513: 1, 1024: 1, 1025: 2, 4096: 3, 1 << 20: 11, 1<<20 + 1: 12, 1 << 31: 22, 1<<32 - 1: 23} {
		got := SizeSlot(bytes)
		if got != want {
			t.Errorf("%d bytes are in slot %d, not %d", bytes, got, want)
		}
		if uint64(bytes) > SizeLimit(got) || got > 0 && uint64(bytes) <= SizeLimit(got-1) {
			t.Errorf("%d bytes are not within slot %d", bytes, got)
		}
	}
}

func TestSumAdds(t *testing.T) {
	var s Sum
	s.Add(&event.IO{
		Queued: 1000, Got: 1100, Inserted: 1300, Issued: 1700, Completed: 3_001_700, Bytes: 8192, Op: event.OpWrite, Error: 5, Depth: 7,
		Merged: 3, Requeues: 2, Flags: event.IOSequential | event.IOSplit, WaitTID: 9, WaitNS: 4000,
	})
	s.Add(&event.IO{Issued: 5000, Completed: 1_005_000, Bytes: 512, Op: event.OpRead, Depth: 1})   // only D and C
	s.Add(&event.IO{Queued: 9000, Issued: 8000, Completed: 10_000, Bytes: 512, Op: event.OpRead})  // backwards
	s.Add(&event.IO{Queued: 1, Issued: 2, Flags: event.IOUnfinished, Bytes: 99, Op: event.OpRead}) // no completion
	s.Add(&event.IO{Queued: 1, Issued: 2, Completed: 3, Op: event.OpWrite | event.OpPreflush})     // a flush
	s.Add(&event.IO{Queued: 1, Completed: 3, Op: event.OpRead, Bytes: 4096, Flags: event.IOBio})   // a bio
	want := Sum{
		Count: 5, Bytes: 8192 + 512 + 512 + 4096, Errors: 1, Merged: 3, Requeues: 2, Splits: 1, Sequential: 1, Placed: 3,
		Depth: 8, DepthCount: 2, DepthMax: 7, Backwards: 1, Unfinished: 1, Waits: Span{1, 4000, 4000},
	}
	want.Phases[event.PhaseGet] = Span{1, 100, 100}
	want.Phases[event.PhaseInsert] = Span{1, 200, 200}
	want.Phases[event.PhaseQueue] = Span{1, 400, 400}
	want.Phases[event.PhaseDevice] = Span{3, 4_000_001, 3_000_000}
	want.Phases[event.PhaseTotal] = Span{4, 3_000_700 + 1_000_000 + 2 + 2, 3_000_700}
	for _, ns := range []uint64{3_000_000, 1_000_000, 1} {
		want.DeviceTimes[event.HistSlot(ns)]++
	}
	for _, ns := range []uint64{3_000_700, 1_000_000, 2, 2} {
		want.TotalTimes[event.HistSlot(ns)]++
	}
	for _, n := range []uint32{8192, 512, 512, 4096} {
		want.Sizes[SizeSlot(n)]++
	}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Error(diff)
	}
}

// random makes requests with any of the oddities there are.
func random(r *rand.Rand) *event.IO {
	o := &event.IO{
		Owner: event.Task{PID: uint32(r.IntN(40)), Comm: "p"}, Cgroup: uint64(r.IntN(5)), Op: uint32(r.IntN(4)), Bytes: uint32(r.IntN(1 << 20)),
		Disk: event.MakeDev(8, uint32(r.IntN(3))), File: event.File{Ino: uint64(r.IntN(30))}, Depth: uint32(r.IntN(9)),
		Merged: uint16(r.IntN(3)), Flags: event.IOFlags(r.IntN(32)), Error: int32(r.IntN(2)),
	}
	at := uint64(1e9 + r.IntN(1e9))
	for _, to := range []*uint64{&o.Queued, &o.Got, &o.Inserted, &o.Issued, &o.Completed} {
		if r.IntN(4) > 0 {
			*to = at
		}
		at += uint64(r.IntN(1e7))
	}
	if r.IntN(20) == 0 {
		o.Queued, o.Issued = o.Issued, o.Queued
	}
	return o
}

// However requests are parted into sums, merged sums are that of all.
func TestMergeIsAdd(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	var all Sum
	parts := make([]Sum, 7)
	for range 5000 {
		o := random(r)
		all.Add(o)
		parts[r.IntN(len(parts))].Add(o)
	}
	var merged Sum
	for i := range parts {
		merged.Merge(&parts[i])
	}
	if diff := cmp.Diff(all, merged); diff != "" {
		t.Error(diff)
	}
	for p, h := range map[event.Phase]*snapshot.Histogram{event.PhaseDevice: &all.DeviceTimes, event.PhaseTotal: &all.TotalTimes} {
		if h.Count() != all.Phases[p].Count {
			t.Errorf("phase %d: %d in the histogram, %d in the sum", p, h.Count(), all.Phases[p].Count)
		}
	}
}

func TestUnknownMeans(t *testing.T) {
	var s Sum
	if _, ok := s.MeanDepth(); ok {
		t.Error("a depth of nothing")
	}
	if _, ok := s.SequentialPercent(); ok {
		t.Error("a share of nothing")
	}
	if _, ok := s.Phases[0].Mean(); ok {
		t.Error("a mean of nothing")
	}
}

// A full set folds what is new, loses no request, and keeps devices and operations exact.
func TestAFullSetFolds(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	small, large := NewSet(16), NewSet(1_000_000)
	for range 5000 {
		o := random(r)
		small.Add(o)
		large.Add(o)
	}
	if small.Len() > 16+restLimit+10 || small.Folded == 0 || large.Folded != 0 {
		t.Errorf("%d entries, %d folded; %d folded without a bound", small.Len(), small.Folded, large.Folded)
	}
	all := func(*Key) bool { return true }
	for _, by := range []By{ByOp} {
		got, want := small.rows(by, event.PhaseTotal, 0, all), large.rows(by, event.PhaseTotal, 0, all)
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(Row{})); diff != "" {
			t.Errorf("by %d: %s", by, diff)
		}
	}
	for _, by := range []By{ByDevice, ByProcess, ByCgroup, ByFile} {
		var got, want Sum
		for _, row := range small.rows(by, event.PhaseTotal, 3, all) {
			got.Merge(&row.Sum)
		}
		for _, row := range large.rows(by, event.PhaseTotal, 0, all) {
			want.Merge(&row.Sum)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("by %d: %s", by, diff)
		}
	}
}

func TestDevicesStayExactInAFullSet(t *testing.T) {
	set := NewSet(8)
	for pid := range uint32(100) {
		set.Add(&event.IO{Owner: event.Task{PID: pid}, Disk: event.MakeDev(8, 0), Dev: event.MakeDev(8, 1), Queued: 1, Completed: 2})
	}
	rows := set.rows(ByDevice, event.PhaseTotal, 0, func(*Key) bool { return true })
	if len(rows) != 1 || rows[0].Count != 100 || rows[0].Rest {
		t.Errorf("%+v", rows)
	}
	rows = set.rows(ByProcess, event.PhaseTotal, 0, func(*Key) bool { return true })
	if last := rows[len(rows)-1]; len(rows) != 9 || !last.Rest || last.Count != 92 || set.Folded != 92 {
		t.Errorf("%d rows, %+v", len(rows), last.Sum)
	}
}

// Even of devices there may be too many.
func TestRestIsBounded(t *testing.T) {
	set := NewSet(1)
	for i := range uint32(5 * restLimit) {
		set.Add(&event.IO{Disk: event.MakeDev(8, i), Op: i % 4, Bytes: 512, Queued: 1, Completed: 2})
	}
	if n := 1 + restLimit + 10; set.Len() > n {
		t.Errorf("%d entries, more than %d", set.Len(), n)
	}
	var count uint64
	rows := set.rows(ByDevice, event.PhaseTotal, 5, func(*Key) bool { return true })
	for i := range rows {
		count += rows[i].Count
	}
	if last := rows[len(rows)-1]; count != 5*restLimit || !last.Rest || last.Count == 0 {
		t.Errorf("%d requests, %+v", count, last.Sum)
	}
}

// A file that is named by one request only has its name in the sum.
func TestAnEntryLearnsItsFilesName(t *testing.T) {
	set := NewSet(0)
	for _, path := range []string{"", "/a", ""} {
		set.Add(&event.IO{File: event.File{Ino: 5, Source: event.ByFolio, Path: path}})
	}
	if rows := set.rows(ByFile, event.PhaseTotal, 0, func(*Key) bool { return true }); len(rows) != 1 || rows[0].File.Path != "/a" {
		t.Errorf("%+v", rows)
	}
}
