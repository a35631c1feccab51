// SPDX-License-Identifier: Apache-2.0

package request

import (
	"math/rand/v2"
	"testing"

	"github.com/iowitness/iowitness/event"
)

const repeatDisk = event.Dev(8 << 20)

func repeated(pid uint32, ino, sector uint64, op uint32) *event.IO {
	return &event.IO{
		Owner: event.Task{PID: pid, TID: pid, Comm: "loop"}, Disk: repeatDisk, Dev: repeatDisk,
		Sector: sector, Bytes: 4096, Op: op, File: event.File{Dev: repeatDisk, Ino: ino, Path: "/log"},
	}
}

// TestTheSameBlocksAgainAndAgain: the loop is told with its counts, who writes each block once is not.
func TestTheSameBlocksAgainAndAgain(t *testing.T) {
	r := NewRepeats()
	for round := range uint64(500) {
		for block := range uint64(8) {
			r.Add(repeated(1, 42, 1000+block*8, event.OpWrite))
			r.Add(repeated(2, 43, 1e6+(round*8+block)*8, event.OpWrite))
		}
		r.Add(repeated(1, 42, round*8, event.OpRead)) // reads are looked at apart
	}
	found := r.Found()
	if len(found) != 1 || r.Missed != 0 {
		t.Fatalf("%+v, %d missed", found, r.Missed)
	}
	want := Repeat{
		Disk: repeatDisk, Op: event.KindWrite, PID: 1, Comm: "loop", File: event.File{Dev: repeatDisk, Ino: 42, Path: "/log"},
		Extents: 8, Bytes: 8 * 4096, Requests: 4000, Least: 500, Most: 500, Own: 4000, Share: 50,
	}
	if found[0] != want {
		t.Errorf("%+v, not %+v", found[0], want)
	}
}

// TestRepeatsAmongAnyNumberOfOthers: memory is bounded, and counts are at least what is told, at most that and
// what was missed.
func TestRepeatsAmongAnyNumberOfOthers(t *testing.T) {
	r := NewRepeats()
	random := rand.New(rand.NewPCG(1, 2))
	const rounds = 20_000
	for i := range uint64(rounds) {
		r.Add(repeated(1, 42, i%4*8, event.OpWrite))
		for range 5 {
			r.Add(repeated(2, 43, 1000+random.Uint64N(1<<40), event.OpWrite))
		}
	}
	if len(r.uses) > keptExtents || len(r.totals) > keptExtents {
		t.Fatalf("%d extents, %d processes kept", len(r.uses), len(r.totals))
	}
	found := r.Found()
	if len(found) != 1 || found[0].PID != 1 || found[0].Extents != 4 {
		t.Fatalf("%+v", found)
	}
	if f := found[0]; r.Missed == 0 || f.Requests > rounds || f.Least+r.Missed < rounds/4 || f.Most > rounds/4 {
		t.Errorf("%+v, %d missed, of %d each", f, r.Missed, rounds/4)
	}
}

// TestWhatRepeatsAFewTimesOnly is no finding, nor are flushes, bios on stacked devices and requests that have not ended.
func TestWhatRepeatsAFewTimesOnly(t *testing.T) {
	r := NewRepeats()
	for range 1000 {
		for sector := range uint64(3) {
			o := repeated(1, 42, sector, event.OpWrite)
			o.Flags = []event.IOFlags{event.IOBio, event.IOUnfinished, 0}[sector]
			if sector == 2 {
				o.Op, o.Bytes = event.OpWrite|event.OpPreflush, 0
			}
			r.Add(o)
		}
	}
	for i := range uint64(9 * 100) {
		r.Add(repeated(1, 42, i%100, event.OpWrite))
	}
	if found := r.Found(); len(found) != 0 {
		t.Errorf("%+v", found)
	}
}
