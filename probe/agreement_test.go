// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"math"
	"testing"
	"time"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/lab"
	"github.com/iowitness/iowitness/lab/fact"
)

// TestMeansAgree runs the same reads under every means in turn and compares what
// each counted with the kernel's own count of the workload's switches.
func TestMeansAgree(t *testing.T) {
	if !lab.Guest() {
		t.Skip("only on the lab's kernels")
	}
	usable := usableMeans(t)
	for i, l := range loads() {
		t.Run(l.name, func(t *testing.T) {
			device := l.device(t)
			var all []*fact.Agreement
			for _, via := range usable {
				a := l.witnessBy(t, via, device)
				a.Order = i
				lab.Fact(t, fact.KindAgreement, a)
				if a.Estimated {
					continue
				}
				checkAgreement(t, a)
				all = append(all, a)
				if l.floor {
					l.tellFloor(t, via, device)
				}
			}
			checkAgainstEachOther(t, all)
		})
	}
}

// TestMeansAgreeAtOnce runs reads under all means at the same time: the same
// waits, so their totals must be the same. The delay is long beside what the
// means' own programs take, which those that are attached further out see as waiting.
func TestMeansAgreeAtOnce(t *testing.T) {
	const delay = 250 * time.Millisecond
	if !lab.Guest() {
		t.Skip("only on the lab's kernels")
	}
	l := load{name: "all means at once: direct reads, null_blk of 250 ms", threads: 8, perEach: 40, how: "direct", delay: delay}
	device := lab.NullBlk(t, delay)
	child := l.start(t, device)
	var all []Witness
	for _, via := range preference {
		w, err := Open(Options{Via: via, PIDs: []uint32{child.PID()}, Functions: sleepers, Module: lab.GuestModule(), RingBytes: 8 << 20, Slow: time.Minute})
		if err != nil && !isExpected(via) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		if w.Facts().Estimated {
			continue
		}
		if err := w.Start(func(*event.Tally) {}); err != nil {
			t.Fatal(err)
		}
		all = append(all, w)
	}
	truth, told := accompany(t, child, all...)
	var first *fact.Agreement
	for i, w := range all {
		a := l.compare(t, w, truth, told[i], child.PID())
		a.Order = -1
		lab.Fact(t, fact.KindAgreement, a)
		checkAgreement(t, a)
		if first == nil {
			first = a
		}
		if off(a.BlockedNS+a.RunQueueNS, first.BlockedNS+first.RunQueueNS) > 0.02 {
			t.Errorf("%s: waited %v, but by %s %v", a.Via, time.Duration(a.BlockedNS+a.RunQueueNS), first.Via, time.Duration(first.BlockedNS+first.RunQueueNS))
		}
		if told := a.Waits + a.Missed + a.NotCounted; told+a.Unseen < first.Waits-first.Waits/100 || told > first.Waits+first.Waits/100 {
			t.Errorf("%s: %d waits, but by %s %d", a.Via, a.Waits, first.Via, first.Waits)
		}
	}
}

// usableMeans tries each means and tells which can be used here, and why others cannot.
func usableMeans(t *testing.T) (usable []Means) {
	t.Helper()
	first := true
	for _, via := range preference {
		w, err := Open(Options{Via: via, Functions: sleepers, Module: lab.GuestModule()})
		told := fact.Means{Via: string(via), Usable: err == nil}
		if err != nil {
			told.Why = err.Error()
			if isExpected(via) {
				t.Errorf("%s: %v", via, err)
			}
		} else {
			facts := w.Facts()
			told.State, told.Clock, told.Default = facts.State, facts.Clock, first
			first = false
			usable = append(usable, via)
			if err := w.Close(); err != nil {
				t.Error(err)
			}
		}
		lab.Fact(t, fact.KindMeans, told)
	}
	return usable
}

// isExpected says whether this kernel has a means: our module where it could be built for it.
func isExpected(via Means) bool { return via != Kmod || lab.GuestModule() != "" }

// checkAgreement compares a means with the workload: nothing may be missing that it does not tell.
func checkAgreement(t *testing.T, a *fact.Agreement) {
	t.Helper()
	told, real := a.Waits+a.Missed+a.NotCounted, uint64(a.Switches)
	if told+a.Unseen < real-real/100 || told > real+real/100 {
		t.Errorf("%s: %d waits, %d told as not counted and %d as not seen, in %d switches of %d reads", a.Via, a.Waits, a.Missed+a.NotCounted, a.Unseen, a.Switches, a.Ops)
	}
	if a.Negative > 0 {
		t.Errorf("%s: %d waits end before they begin", a.Via, a.Negative)
	}
	waited := a.BlockedNS + a.RunQueueNS
	if waited < a.FloorNS-a.FloorNS/50 {
		t.Errorf("%s: waited %v, less than the device's %v", a.Via, time.Duration(waited), time.Duration(a.FloorNS))
	}
	if waited > a.TotalNS+a.TotalNS/50 {
		t.Errorf("%s: waited %v, longer than the operations' %v", a.Via, time.Duration(waited), time.Duration(a.TotalNS))
	}
}

// checkAgainstEachOther compares the means' shares: of the switches that they
// counted, and of the operations' time that they saw as waiting.
func checkAgainstEachOther(t *testing.T, all []*fact.Agreement) {
	t.Helper()
	for _, a := range all[1:] {
		b := all[0]
		if a.Missed+a.NotCounted+a.Unseen > 0 {
			continue // told as missing: checked against the switches
		}
		counted := float64(a.Waits)/float64(a.Switches) - float64(b.Waits)/float64(b.Switches)
		if math.Abs(counted) > 0.01 {
			t.Errorf("%s counts %.2f%% of the switches more than %s", a.Via, 100*counted, b.Via)
		}
	}
}

func off(a, b uint64) float64 { return math.Abs(float64(a)-float64(b)) / max(float64(b), 1) }

// TestAllWaitsOfManyThreadsAreAccountedFor: of 16 threads × 10,000 reads nothing
// is missing that a means does not tell: by those that see the scheduler, and on
// the lab's kernels by all.
func TestAllWaitsOfManyThreadsAreAccountedFor(t *testing.T) {
	lab.NeedRoot(t)
	l := load{name: "16 threads × 10000 direct reads", threads: 16, perEach: 10000, how: "direct", slow: time.Minute}
	var device lab.Device
	means := byTracepoints
	if lab.Guest() {
		if testing.Short() {
			l.perEach = 500
		}
		device, means = lab.NullBlk(t, 50*time.Microsecond), usableMeans(t)
	} else {
		device = lab.Loop(t, 64)
	}
	for _, via := range means {
		if via == Taskstats {
			continue
		}
		t.Run(string(via), func(t *testing.T) {
			a := l.witnessBy(t, via, device)
			lab.Fact(t, fact.KindAgreement, a)
			told := a.Waits + a.NotCounted + a.Missed + a.Unseen + a.Unflagged + a.Skipped
			t.Logf("%d waits (and %d not for I/O), %d told as missed and %d as not counted, in %d switches of %d reads", a.Waits, a.Unflagged, a.Missed, a.NotCounted+a.Skipped, a.Switches, a.Ops)
			if a.Waits > uint64(a.Switches) || told < uint64(a.Switches) || a.Ops != l.reads() {
				t.Error("some are not accounted for")
			}
			checkAgreement(t, a)
		})
	}
}
