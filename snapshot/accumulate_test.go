// SPDX-License-Identifier: Apache-2.0

package snapshot_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/iowitness/iowitness/blame"
	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/snapshot"
	"github.com/iowitness/iowitness/snapshot/snapshottest"
)

// Whatever the limits, nothing is lost but detail.
func TestAccumulatorKeepsTheLedger(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	names := &snapshottest.Names{}
	for _, limits := range []snapshot.Limits{
		snapshot.DefaultLimits,
		{Threads: 10, Processes: 5, ChargesPerThread: 3, Charges: 20},
		{Threads: 1, Processes: 1, ChargesPerThread: 1, Charges: 1},
	} {
		a := snapshot.NewAccumulator(limits)
		var total, count, allJoined uint64
		for range 30 {
			iv := randomInterval(r)
			a.Add(iv)
			blocked, waits := allTotal(iv.Threads)
			total, count = total+blocked, count+waits
			for _, t := range iv.Threads {
				for _, c := range t.Charges {
					allJoined += c.Joins.Waits
				}
			}
			for _, by := range []snapshot.Key{snapshot.ByProcess, snapshot.ByThread, snapshot.ByCause, snapshot.ByFile} {
				s := a.Build(names, snapshot.Options{By: []snapshot.Key{by}})
				var rows, rowCount uint64
				for i := range s.Rows {
					checkRow(t, &s.Rows[i])
					rows += s.Rows[i].Total
					rowCount += s.Rows[i].Count
				}
				if joined := joinedIn(s.Rows); joined != s.Joined.Joined || joined > s.Joined.Of || joined != allJoined {
					t.Fatalf("by %s: %d waits joined in rows, %+v in all, in truth %d", by, joined, s.Joined, allJoined)
				}
				if rows != total || rowCount != count {
					t.Fatalf("by %s: %d of %d ns, %d of %d waits", by, rows, total, rowCount, count)
				}
			}
		}
	}
}

func joinedIn(rows []snapshot.Row) (n uint64) {
	for i := range rows {
		for _, c := range rows[i].Causes {
			n += c.Joins.Waits
		}
	}
	return n
}

func TestAccumulatorIsBounded(t *testing.T) {
	limits := snapshot.Limits{Threads: 100, Processes: 50, ChargesPerThread: 4, Charges: 300}
	a := snapshot.NewAccumulator(limits)
	for i := range 200 {
		iv := &snapshot.Interval{Wall: time.Second}
		for j := range 50 {
			id := uint32(i*50 + j + 1)
			th := blame.Thread{PID: id, TID: id, Comm: "short", Exited: true, Blocked: 10, Count: 1}
			for k := range 10 {
				th.Charges = append(th.Charges, blame.Charge{Cause: blame.Unknown, Blocked: 1, File: event.File{Ino: uint64(id)*10 + uint64(k), Source: event.ByFD}})
			}
			iv.Threads = append(iv.Threads, th)
		}
		a.Add(iv)
	}
	s := a.Build(&snapshottest.Names{}, snapshot.Options{})
	if n := len(s.Rows); n > limits.Threads+limits.Processes+1 {
		t.Errorf("%d rows", n)
	}
	if r := s.Rows[0]; r.Comm != snapshot.OtherProcesses {
		t.Errorf("the largest is %q", r.Comm)
	}
	if s.Head.StorageNS != 200*50*10 {
		t.Errorf("%d ns in all", s.Head.StorageNS)
	}
}

func TestAccumulatorSumsTheHead(t *testing.T) {
	a := snapshot.NewAccumulator(snapshot.DefaultLimits)
	start := time.Unix(1000, 0)
	for i := range 4 {
		a.Add(&snapshot.Interval{
			Start: start.Add(time.Duration(i) * time.Second), End: start.Add(time.Duration(i+1) * time.Second), Wall: time.Second,
			System: snapshot.System{IOWaitPercent: float64(10 * i), IOWaitKnown: i > 0},
			Lost:   []snapshot.Loss{{ID: "a", Count: 1, NS: 5}, {ID: fmt.Sprint("only", i), Count: 1}},
			Cost:   snapshot.Cost{CPUPercent: float64(i), ProbeNS: 7, ProbeRuns: 2, ProbeWall: time.Second, ProbeFresh: i%2 == 0, RSSBytes: uint64(100 - i)},
			Notes:  []string{"same"},
		})
	}
	s := a.Build(&snapshottest.Names{}, snapshot.Options{})
	if s.Wall != 4*time.Second || !s.Start.Equal(start) || !s.End.Equal(start.Add(4*time.Second)) {
		t.Errorf("from %v to %v, %v", s.Start, s.End, s.Wall)
	}
	if !s.Head.IOWaitKnown || s.Head.IOWaitPercent != 20 || s.Head.PressureKnown {
		t.Errorf("%+v", s.Head.System)
	}
	if len(s.Lost) != 5 || s.Lost[0].Count != 4 || s.Lost[0].NS != 20 || len(s.Notes) != 1 {
		t.Errorf("lost %v, notes %v", s.Lost, s.Notes)
	}
	if s.Cost.CPUPercent != 1.5 || s.Cost.ProbeNS != 14 || s.Cost.ProbeWall != 2*time.Second || s.Cost.RSSBytes != 100 || !s.Cost.ProbeFresh {
		t.Errorf("%+v", s.Cost)
	}
}

// Waits in progress are those of the last interval: what has ended hangs no more.
func TestAccumulatorForgetsEndedWaits(t *testing.T) {
	a := snapshot.NewAccumulator(snapshot.DefaultLimits)
	iv, names := snapshottest.HangingOnly()
	a.Add(iv)
	if s := a.Build(names, snapshot.Options{}); s.Hanging != 1 {
		t.Errorf("%d hang, want 1", s.Hanging)
	}
	iv.Threads[0].Pending = nil
	a.Add(iv)
	if s := a.Build(names, snapshot.Options{}); s.Hanging != 0 || s.Rows[0].Total != 2e9 {
		t.Errorf("%d hang after %d ns", s.Hanging, s.Rows[0].Total)
	}
}

func BenchmarkBuild(b *testing.B) {
	iv, names := snapshottest.Many(1000)
	for b.Loop() {
		snapshot.Build(iv, names, snapshot.Options{Top: 40})
	}
}

func BenchmarkAccumulate(b *testing.B) {
	iv, _ := snapshottest.Many(1000)
	a := snapshot.NewAccumulator(snapshot.DefaultLimits)
	for b.Loop() {
		a.Add(iv)
	}
}
