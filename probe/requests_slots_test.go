// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"fmt"
	"testing"
	"time"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/lab"
)

// TestFewSlotsLoseNothing: where next to no life and no sum finds a slot of its own, requests are
// still seen exactly once, by lines and by sums, and nothing is left of them.
func TestFewSlotsLoseNothing(t *testing.T) {
	lab.NeedRoot(t)
	device := lab.Loop(t, 64)
	for _, slots := range []uint32{1, 4} {
		t.Run(fmt.Sprint(slots), func(t *testing.T) {
			w := openRequests(t, RequestOptions{Records: true, Sums: true, Dev: device.Dev, lifeSlots: slots, sumSlots: slots})
			truth := lab.Fio(t, device.Path, "--ioengine=libaio", "--iodepth=16", "--numjobs=2", "--size=32m", "--io_size=2m")
			checkFioIsTold(t, w, allRequests(t, w), truth)
			checkFioIsSummedUp(t, w, truth, slots)
			checkNothingIsLeft(t, w)
		})
	}
}

func checkFioIsSummedUp(t *testing.T, w *Requests, truth lab.FioTruth, slots uint32) {
	t.Helper()
	var requests uint64
	keys := map[event.IOKey]bool{}
	if err := w.Sums(func(k event.IOKey, s event.IOSum) {
		if s.Owner.Comm != "fio" || k.Op > event.OpWrite {
			return
		}
		if keys[k] {
			t.Errorf("%+v comes twice", k)
		}
		keys[k] = true
		requests += s.Count + s.Merged
	}); err != nil {
		t.Fatal(err)
	}
	if done, unseen := truth.Reads+truth.Writes, unseenRequests(t, w); requests > done || requests+unseen < done {
		t.Errorf("%d requests summed up and %d unseen of %d", requests, unseen, done)
	}
	if slots == 1 && len(keys) < 2 {
		t.Errorf("%d sums may all have had a slot", len(keys))
	}
}

// checkNothingIsLeft waits for requests of others that are under way.
func checkNothingIsLeft(t *testing.T, w *Requests) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		claimed, spilled := slotsInUse(t, w)
		counts, err := w.Counts()
		if err != nil {
			t.Fatal(err)
		}
		if claimed == 0 && spilled == 0 && counts.InFlight == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("left are %d slots in use, %d that count lives elsewhere and %d requests", claimed, spilled, counts.InFlight)
		}
	}
}

// slotsInUse are slots of lives that are somebody's, and those whose lives are in the hash.
func slotsInUse(t *testing.T, w *Requests) (claimed, spilled int) {
	t.Helper()
	var slot blockLifeSlot
	for i := range w.options.lifeSlots {
		if err := w.collection.Maps["lives"].Lookup(i, &slot); err != nil {
			t.Fatal(err)
		}
		if slot.Claims != 0 || slot.Of != 0 {
			claimed++
		}
		if slot.Spilled != 0 {
			spilled++
		}
	}
	return claimed, spilled
}
