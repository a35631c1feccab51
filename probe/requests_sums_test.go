// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"maps"
	"math/bits"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/lab"
)

// TestSumsAreThoseOfTheLines: what the kernel side sums up of requests is, in every figure, the
// sum of the requests that it tells one by one.
func TestSumsAreThoseOfTheLines(t *testing.T) {
	lab.NeedRoot(t)
	device := lab.Loop(t, 64)
	eachRequestMeans(t, func(t *testing.T, via Means) {
		w := openRequests(t, RequestOptions{Via: via, Records: true, Sums: true, Dev: device.Dev})
		lab.Fio(t, device.Path, "--ioengine=libaio", "--iodepth=4", "--numjobs=2", "--bsrange=512-64k", "--size=32m", "--io_size=2m")
		lab.Fio(t, device.Path, "--ioengine=psync", "--rw=rw", "--size=32m", "--io_size=2m")
		want := map[event.IOKey]event.IOSum{}
		for _, o := range allRequests(t, w).ios {
			addLine(want, o)
		}
		got := map[event.IOKey]event.IOSum{}
		if err := w.Sums(func(k event.IOKey, s event.IOSum) { got[k] = s }); err != nil {
			t.Fatal(err)
		}
		for k, s := range got {
			got[k] = withMaximaOf(t, s, want[k])
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("lines less sums: %s", diff)
		}
		var sequential, all uint64
		for s := range maps.Values(got) {
			sequential, all = sequential+s.Sequential, all+s.Count
		}
		t.Logf("%d sums of %d requests, %d of them sequential", len(got), all, sequential)
		if sequential == 0 || sequential == all {
			t.Errorf("%d of %d are sequential", sequential, all)
		}
	})
}

// withMaximaOf allows for a maximum that is too low: of two requests that end at the same time the
// shorter may win.
func withMaximaOf(t *testing.T, s, lines event.IOSum) event.IOSum {
	t.Helper()
	for i := range s.Phases {
		if s.Phases[i].Max > lines.Phases[i].Max {
			t.Errorf("phase %d of %d ns, by lines %d at most", i, s.Phases[i].Max, lines.Phases[i].Max)
		}
		s.Phases[i].Max = lines.Phases[i].Max
	}
	if s.DepthMax > lines.DepthMax {
		t.Errorf("depth %d, by lines %d at most", s.DepthMax, lines.DepthMax)
	}
	s.Owner, s.DepthMax = lines.Owner, lines.DepthMax
	return s
}

// addLine sums up a request as the kernel side is said to.
func addLine(sums map[event.IOKey]event.IOSum, o *event.IO) {
	k := event.IOKey{
		Cgroup: o.Cgroup, Ino: o.File.Ino, FileDev: o.File.Dev, Dev: o.Dev, Disk: o.Disk, PID: o.Owner.PID,
		Op: uint8(o.Op & event.OpMask), Flags: o.Flags & (event.IOBio | event.IOPassed | event.IODevAbove | event.IOUncharged),
	}
	if o.Flags&event.IOPassed != 0 {
		k.Top = o.Top
	}
	const preflush = 1 << 18
	if o.Bytes == 0 && o.Op&preflush != 0 {
		k.Op = event.OpFlush
	}
	s := sums[k]
	s.Count++
	s.Bytes += uint64(o.Bytes)
	s.Merged += uint64(o.Merged)
	s.Requeues += uint64(o.Requeues)
	addMarks(&s, o)
	for p := range event.Phases {
		ns, ok := o.Phase(p)
		if !ok {
			continue
		}
		s.Phases[p].Count++
		s.Phases[p].NS += ns
		s.Phases[p].Max = max(s.Phases[p].Max, ns)
		switch p {
		case event.PhaseDevice:
			s.DeviceHist.Add(event.HistSlot(ns), 1)
		case event.PhaseTotal:
			s.TotalHist.Add(event.HistSlot(ns), 1)
		}
	}
	if o.Bytes > 0 && o.Op&event.OpMask <= event.OpWrite {
		s.Sizes[max(bits.Len32(o.Bytes-1), 9)-9]++
	}
	sums[k] = s
}

func addMarks(s *event.IOSum, o *event.IO) {
	if o.Error != 0 {
		s.Errors++
	}
	if o.Flags&event.IOSplit != 0 {
		s.Split++
	}
	if o.Carrier.TID != 0 {
		s.Carried++
	}
	if o.Depth == 0 {
		return
	}
	s.Depths += uint64(o.Depth)
	s.DepthCount++
	s.DepthMax = max(s.DepthMax, uint64(o.Depth))
	if o.Bytes == 0 {
		return
	}
	s.Sequenced++
	if o.Flags&event.IOSequential != 0 {
		s.Sequential++
	}
}
