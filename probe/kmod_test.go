// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/kmod"
)

// TestModuleTallies: what the module counted of a process becomes a tally, less what was before.
func TestModuleTallies(t *testing.T) {
	w := &kmodWitness{epoch: 1<<20 + 7}
	base := kmod.Counts{Flagged: kmod.Sum{Count: 2, NS: 200}, Slots: []kmod.SlotCount{{Slot: 3, N: 2}}}
	p := &kmod.Process{
		TGID: 9, Born: 77, Alive: true, Comm: "dd", Now: 5000, Waiting: 2, Oldest: 4000, OldestFlagged: true,
		Counts: kmod.Counts{
			Flagged: kmod.Sum{Count: 5, NS: 900}, Unflagged: kmod.Sum{Count: 1, NS: 50}, MaxNS: 1 << 50,
			Epochs: [2]kmod.EpochMax{{Epoch: 6, NS: 300}, {Epoch: 7, NS: kmod.EpochMaxLimit}},
			Slots:  []kmod.SlotCount{{Slot: 1, N: 1}, {Slot: 3, N: 4}, {Slot: 127, N: 1 << 40}},
		},
	}
	got := w.tally(&kmodProcess{base: base}, p)
	want := &event.Tally{
		TID: 9, PID: 9, Comm: "dd", Born: 77, Now: 5000, Start: 4000, Flags: event.Slow | event.Flagged, Count: 4,
		Max:  [2]event.Max{{NS: 300, Epoch: 1<<20 + 6}, {NS: 1 << 50, Epoch: 1<<20 + 7}},
		Hist: event.Hist{{Slot: 1, N: 1}, {Slot: 3, N: 2}, {Slot: 127, N: 1<<32 - 1}},
	}
	want.Sums[event.Slow] = event.Sum{Count: 1, Blocked: 50}
	want.Sums[event.Slow|event.Flagged] = event.Sum{Count: 3, Blocked: 700}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	p.Epochs[0].Epoch = 8 // of a long time ago, or of the future
	if m := w.tally(&kmodProcess{}, p).Max[0]; m != (event.Max{}) {
		t.Errorf("an epoch that is not ours: %+v", m)
	}
}

// TestModuleTwins: a process with two places in the module's table is one process.
func TestModuleTwins(t *testing.T) {
	a := kmod.Process{
		TGID: 9, Born: 1, Now: 10, Oldest: 7, Waiting: 1,
		Counts: kmod.Counts{
			Entries: 3, Flagged: kmod.Sum{Count: 2, NS: 20}, MaxNS: 15, Epochs: [2]kmod.EpochMax{{Epoch: 4, NS: 9}, {Epoch: 3, NS: 15}},
			Slots: []kmod.SlotCount{{Slot: 0, N: 1}, {Slot: 5, N: 1}},
		},
	}
	b := kmod.Process{
		TGID: 9, Born: 1, Now: 11, Alive: true, Oldest: 6, OldestFlagged: true, Waiting: 2,
		Counts: kmod.Counts{
			Entries: 4, Flagged: kmod.Sum{Count: 1, NS: 30}, Unflagged: kmod.Sum{Count: 1, NS: 2}, MaxNS: 30, Epochs: [2]kmod.EpochMax{{Epoch: 4, NS: 30}, {Epoch: 5, NS: 2}},
			Slots: []kmod.SlotCount{{Slot: 2, N: 1}, {Slot: 5, N: 2}},
		},
	}
	other := kmod.Process{TGID: 9, Born: 2}
	got := merge([]kmod.Process{a, b, other})
	want := kmod.Process{
		TGID: 9, Born: 1, Now: 11, Alive: true, Oldest: 6, OldestFlagged: true, Waiting: 3,
		Counts: kmod.Counts{
			Entries: 7, Flagged: kmod.Sum{Count: 3, NS: 50}, Unflagged: kmod.Sum{Count: 1, NS: 2}, MaxNS: 30,
			Epochs: [2]kmod.EpochMax{{Epoch: 4, NS: 30}, {Epoch: 5, NS: 2}},
			Slots:  []kmod.SlotCount{{Slot: 0, N: 1}, {Slot: 2, N: 1}, {Slot: 5, N: 3}},
		},
	}
	if len(got) != 2 {
		t.Errorf("%d processes", len(got))
	}
	if diff := cmp.Diff(&want, got[processKey{9, 1}]); diff != "" {
		t.Error(diff)
	}
}

func TestModuleFollowsByParents(t *testing.T) {
	root := t.TempDir()
	status := func(pid, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(root, "proc", pid), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, "proc", pid, "status"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	status("20", "Name:\tsh\nPPid:\t10\n") // it never waited: the module does not know it
	status("30", "Name:\tx\nPPid:\t1\n")
	f := newKmodFollowed(root)
	f.add(10, 10)
	f.learn(map[processKey]*kmod.Process{{21, 1}: {TGID: 21, PPID: 20}, {31, 1}: {TGID: 31, PPID: 30}, {41, 1}: {TGID: 41, PPID: 41}})
	for pid, want := range map[uint32]bool{10: true, 20: true, 21: true, 30: false, 31: false, 41: false, 99: false, 0: false} {
		if got := f.descends(pid); got != want {
			t.Errorf("%d: %v", pid, got)
		}
	}
	f.remove(10)
	if !f.descends(21) {
		t.Error("a descendant is forgotten with its thread")
	}
}
