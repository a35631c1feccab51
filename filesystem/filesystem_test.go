// SPDX-License-Identifier: Apache-2.0

package filesystem

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/iowitness/iowitness/blame"
	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/snapshot"
)

// someNames names frames by number: each is a function of a known cause.
type someNames struct{}

var functions = []string{"jbd2_log_wait_commit", "blkdev_issue_flush", "folio_wait_writeback", "no_such_function"}

func (someNames) Stack(addresses []uint64) (stack []string) {
	for _, a := range addresses {
		stack = append(stack, functions[a%uint64(len(functions))])
	}
	return stack
}

func (someNames) Process(pid uint32) snapshot.ProcessName {
	return snapshot.ProcessName{Comm: fmt.Sprint("p", pid), Known: true}
}
func (someNames) Device(dev event.Dev) string           { return fmt.Sprint("dev", uint32(dev)) }
func (someNames) File(file event.File, _ uint32) string { return "/mnt" + file.Path }

// whole checks that a division accounts for all of its time.
func whole(t *testing.T, d *Division) {
	t.Helper()
	sum := d.RunQueue + d.OnCPU + d.Unattributed
	for _, p := range d.Causes {
		sum += p.NS
	}
	if sum != d.Total || d.RunQueue > d.Total || d.OnCPU > d.Total || d.Unattributed > d.Total {
		t.Fatalf("parts of %d add up to %d: %+v", d.Total, sum, d)
	}
}

// TestPartsAddUp: whatever the kernel side says, even if it contradicts itself.
func TestPartsAddUp(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		a := NewAccumulator(someNames{})
		var calls, total uint64
		for range 1 + r.IntN(3) {
			iv := &event.FSInterval{Sums: map[event.FSKey]*event.FSSum{}}
			for range r.IntN(6) {
				key := event.FSKey{Ino: r.Uint64N(3), Dev: event.Dev(r.Uint64N(2)), PID: r.Uint32N(3), Op: event.FSFsync + event.FSOp(r.IntN(3))}
				sum := &event.FSSum{Count: 1 + r.Uint64N(9), DividedNS: r.Uint64N(1000), Blocked: r.Uint64N(1000), RunQueue: r.Uint64N(1000)}
				sum.NS, sum.Divided = sum.DividedNS+r.Uint64N(100), sum.Count
				if old := iv.Sums[key]; old != nil {
					sum.Add(old)
				}
				iv.Sums[key] = sum
				iv.Parts = append(iv.Parts, event.FSPart{Key: key, Stack: []uint64{r.Uint64N(4)}, Count: 1, NS: r.Uint64N(900)})
			}
			for _, s := range iv.Sums {
				calls, total = calls+s.Count, total+s.NS
			}
			a.Add(&Interval{Start: time.Unix(1, 0), End: time.Unix(2, 0), Counted: iv})
		}
		report := a.Build(Options{Top: r.IntN(4), Files: NewFiles()})
		var rows, inRows, mounts, inMounts uint64
		for i := range report.Rows {
			rows, inRows = rows+report.Rows[i].Count, inRows+report.Rows[i].Total
			whole(t, &report.Rows[i].Division)
		}
		for i := range report.Mounts {
			whole(t, &report.Mounts[i].Division)
			for _, op := range report.Mounts[i].Operations {
				mounts, inMounts = mounts+op.Count, inMounts+op.Total
			}
		}
		if rows != calls || mounts != calls || inRows != total || inMounts != total {
			t.Fatalf("%d calls of %d ns: in rows %d of %d, in file systems %d of %d", calls, total, rows, inRows, mounts, inMounts)
		}
	}
}

func interval(sums map[event.FSKey]*event.FSSum, parts ...event.FSPart) *Interval {
	return &Interval{Start: time.Unix(1, 0), End: time.Unix(2, 0), Counted: &event.FSInterval{Sums: sums, Parts: parts}}
}

// TestRowsBeyondTheBoundAreSummedUp: nothing is lost but the names of what took the least time.
func TestRowsBeyondTheBoundAreSummedUp(t *testing.T) {
	const intervals, each = 3, 2*MaxRows + 1
	a := NewAccumulator(someNames{})
	hot := event.FSKey{Ino: 1 << 40, Dev: 1, PID: 1, Op: event.FSRead}
	for n := range uint64(intervals) {
		sums := map[event.FSKey]*event.FSSum{}
		for i := range uint64(each) {
			sums[event.FSKey{Ino: n*each + i, Dev: 1, PID: 1, Op: event.FSRead}] = &event.FSSum{Count: 1, NS: 10}
		}
		if n == intervals-1 { // comes last, and must be seen
			sums[hot] = &event.FSSum{Count: 7, NS: 9e9}
		}
		a.Add(interval(sums))
	}
	r := a.Build(Options{Files: NewFiles()})
	var calls uint64
	for i := range r.Rows {
		calls += r.Rows[i].Count
	}
	if len(r.Rows) > MaxRows+1 || calls != intervals*each+7 || len(r.Notes) != 1 {
		t.Errorf("%d rows, %d calls, %q", len(r.Rows), calls, r.Notes)
	}
	if first := r.Rows[0]; first.Inode != hot.Ino || first.Count != 7 {
		t.Errorf("the first row is %+v", first)
	}
}

// TestALongestCallThatLostItsRaceIsStillLong: the histogram knows better.
func TestALongestCallThatLostItsRaceIsStillLong(t *testing.T) {
	sum := &event.FSSum{Count: 2, NS: 3_000_000, Max: 1000}
	sum.Hist.Add(event.HistSlot(1000), 1)
	sum.Hist.Add(event.HistSlot(2_999_000), 1)
	a := NewAccumulator(someNames{})
	a.Add(interval(map[event.FSKey]*event.FSSum{{Ino: 1, Dev: 1, PID: 1, Op: event.FSRead}: sum}))
	if r := a.Build(Options{Files: NewFiles()}).Rows[0]; r.Max < 2_600_000 || r.Max > 2_999_000 {
		t.Errorf("the longest took %d ns", r.Max)
	}
}

// TestWhatTheJournalCosts: the comparison is of average calls, however many each side had.
func TestWhatTheJournalCosts(t *testing.T) {
	plain := event.FSKey{Ino: 1, Dev: 1, PID: 1, Op: event.FSFsync}
	journal := event.FSKey{Ino: 1, Dev: 2, PID: 1, Op: event.FSFsync}
	a := NewAccumulator(someNames{})
	a.Add(interval(map[event.FSKey]*event.FSSum{
		plain:   {Count: 10, NS: 1000, Divided: 10, DividedNS: 1000, Blocked: 800},
		journal: {Count: 20, NS: 10_000, Divided: 20, DividedNS: 10_000, Blocked: 9000, RunQueue: 600},
	}, event.FSPart{Key: plain, Stack: []uint64{2}, Count: 10, NS: 800}, event.FSPart{Key: journal, Stack: []uint64{0}, Count: 20, NS: 9000}))
	c := a.Build(Options{Compare: true, Asked: 2, Mounts: []Mounted{{Dev: 1}, {Dev: 2}}, Files: NewFiles()}).Compared
	if ratio, ok := c.Operations[0].Ratio(); !ok || ratio != 5 || len(c.Operations) != 1 {
		t.Errorf("%+v", c.Operations)
	}
	want := []PartPair{
		{Total, 100, 500}, {blame.JournalCommit.ID(), 0, 450}, {blame.DataWriteback.ID(), 80, 0}, {RunQueue, 0, 30}, {OnCPU, 20, 20},
	}
	if fmt.Sprint(c.Parts) != fmt.Sprint(want) {
		t.Errorf("%v, not %v", c.Parts, want)
	}
}

// TestAComparisonWithoutCalls says so, and divides by nothing.
func TestAComparisonWithoutCalls(t *testing.T) {
	a := NewAccumulator(someNames{})
	a.Add(interval(nil))
	r := a.Build(Options{Compare: true, Asked: 2, Mounts: []Mounted{{Dev: 1}, {Dev: 2}}, Files: NewFiles()})
	if len(r.Mounts) != 2 || len(r.Compared.Operations)+len(r.Compared.Parts) > 0 {
		t.Errorf("%+v", r)
	}
}

// TestPathsAreBounded: names that processes choose take only so much memory.
func TestPathsAreBounded(t *testing.T) {
	f := NewFiles()
	for i := range uint64(maxFiles + 100) {
		f.Learn(&event.File{Ino: i, Dev: 1, Path: "/x"})
	}
	f.Learn(&event.File{Ino: maxFiles + 99, Dev: 1, Path: "/y"})
	if file, ok := f.find(event.FSKey{Ino: maxFiles + 99, Dev: 1}); len(f.byNumber) != maxFiles || !ok || file.Path != "/y" {
		t.Errorf("%d paths, the last %+v", len(f.byNumber), file)
	}
}
