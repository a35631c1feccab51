// SPDX-License-Identifier: Apache-2.0

package scheduling_test

import (
	"testing"
	"time"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/profile"
	"github.com/iowitness/iowitness/scheduling"
	"github.com/iowitness/iowitness/scheduling/schedulingtest"
	"github.com/iowitness/iowitness/symbol"
)

func TestAllIsToldOnce(t *testing.T) {
	for _, r := range []*scheduling.Report{schedulingtest.CPU("a"), schedulingtest.OffCPU("a"), schedulingtest.RunQ("a")} {
		if got := r.Profile.Total(); got != r.Total || got.Value == 0 {
			t.Errorf("%s: the profile has %+v, the report %+v", r.Kind, got, r.Total)
		}
		var own, processes uint64
		for _, f := range r.Functions {
			own += f.Self.Value
		}
		for _, p := range r.Processes {
			processes += p.Weight.Value
		}
		if r.Kind != profile.RunQ && (own != r.Total.Value || processes != r.Total.Value) {
			t.Errorf("%s: functions have %d ns, processes %d, of %d", r.Kind, own, processes, r.Total.Value)
		}
	}
}

func TestWhatRanDuringAWait(t *testing.T) {
	r := schedulingtest.RunQ("a")
	l := r.Longest[0]
	if l.NS != 12_000_000 || l.RanNS != l.NS || len(l.Ran) != 2 || l.Ran[0].Comm != "hog" || l.Ran[0].NS != 11_000_000 {
		t.Errorf("%+v", l)
	}
}

func TestIntervalsAddUp(t *testing.T) {
	a := scheduling.NewAccumulator(noNames{}, time.Unix(0, 0), 0)
	one := event.Stacked{PID: 1, TID: 1, Kernel: []uint64{1, 2}, Count: 2, NS: 20, Max: 15}
	a.Add(&event.ProfileInterval{Stacked: []event.Stacked{one}})
	one.Max, one.User = 12, []uint64{3}
	a.Add(&event.ProfileInterval{Stacked: []event.Stacked{one}})
	one.User = nil
	a.Add(&event.ProfileInterval{Stacked: []event.Stacked{one}})
	r := a.Build(profile.OffCPU, time.Unix(0, 0), time.Unix(1, 0), 0, scheduling.Options{})
	if len(r.Stacks) != 2 || r.Stacks[0].NS != 40 || r.Stacks[0].Max != 15 || r.Stacks[1].NS != 20 || r.Total.Count != 6 {
		t.Errorf("%+v", r.Stacks)
	}
}

type noNames struct{}

func (noNames) KernelFrames(a []uint64) []symbol.Frame { return make([]symbol.Frame, len(a)) }

func (noNames) UserFrames(_ uint32, _ uint64, a []uint64) []symbol.Frame {
	return make([]symbol.Frame, len(a))
}

func (noNames) Number(id uint32) uint32                  { return id }
func (noNames) NSPID(uint32) uint32                      { return 0 }
func (noNames) ProcessComm(uint32) (comm, cgroup string) { return "", "" }

// TestTooManyStacksAreSummedUp, and nothing of them is lost.
func TestTooManyStacksAreSummedUp(t *testing.T) {
	a := scheduling.NewAccumulator(noNames{}, time.Unix(0, 0), 0)
	const n = 60_000
	for i := range uint64(n) {
		a.Add(&event.ProfileInterval{Stacked: []event.Stacked{{PID: 1, TID: 1, Kernel: []uint64{i + 1}, Count: 1, NS: 10}}})
	}
	r := a.Build(profile.OffCPU, time.Unix(0, 0), time.Unix(1, 0), 0, scheduling.Options{Top: 5})
	if r.Total.Count != n || r.Total.Value != 10*n || len(r.Notes) != 1 || len(r.Stacks) != 5 {
		t.Errorf("%+v, %d stacks, notes %q", r.Total, len(r.Stacks), r.Notes)
	}
}
