// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"testing"
	"time"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/lab"
)

// openProfile opens a profiler that is closed at the test's end.
func openProfile(t *testing.T, kind ProfileKind, o ProfileOptions) *Profile {
	t.Helper()
	lab.NeedRoot(t)
	p, err := OpenProfile(kind, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// profiled profiles for a time.
func profiled(t *testing.T, p *Profile, length time.Duration) (*event.ProfileInterval, []any) {
	t.Helper()
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	var records []any
	if err := p.Drain(time.Now().Add(length), func(r any) { records = append(records, r) }); err != nil {
		t.Fatal(err)
	}
	iv, err := p.Interval()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Drain(time.Unix(1, 0), func(r any) { records = append(records, r) }); err != nil {
		t.Fatal(err)
	}
	return iv, records
}

// noLosses fails for what is lost though nothing here is near its limit.
func noLosses(t *testing.T, p *Profile, but ...string) {
	t.Helper()
	losses, err := p.Losses()
	if err != nil {
		t.Fatal(err)
	}
	allowed := map[string]bool{"skipped": p.via == TP} // while maps are read on the same CPU
	for _, id := range but {
		allowed[id] = true
	}
	for _, l := range losses {
		if l.Count > 0 && !allowed[l.ID] {
			t.Errorf("%d %s", l.Count, l.Title)
		}
	}
}

func TestProfilersOfEachKind(t *testing.T) {
	for _, test := range []struct {
		kind ProfileKind
		o    ProfileOptions
	}{
		{ProfileCPU, ProfileOptions{Event: EventCPUClock}},
		{ProfileCPU, ProfileOptions{Follow: true}},
		{ProfileOffCPU, ProfileOptions{Via: TPBTF}},
		{ProfileOffCPU, ProfileOptions{Via: TPBTF, old: true}},
		{ProfileOffCPU, ProfileOptions{Via: RawTP}},
		{ProfileOffCPU, ProfileOptions{Via: TP}},
		{ProfileRunQ, ProfileOptions{Via: TPBTF}},
		{ProfileRunQ, ProfileOptions{Via: TPBTF, old: true}},
		{ProfileRunQ, ProfileOptions{Via: RawTP, Long: time.Nanosecond}},
		{ProfileRunQ, ProfileOptions{Via: TP, Long: time.Nanosecond}},
	} {
		p := openProfile(t, test.kind, test.o)
		child := lab.Workload{Name: "spin", Args: []string{"400"}}.Start(t) // on a quiet machine nothing else may run
		child.Go()
		iv, records := profiled(t, p, 500*time.Millisecond)
		t.Logf("%s %+v: %d stacks, %d gaps, %d CPUs, %d+%d run queues, %d pairs, %d records", test.kind, test.o, len(iv.Stacked), len(iv.Gaps), len(iv.CPUs), len(iv.Processes), len(iv.OnCPUs), len(iv.Pairs), len(records))
		if !test.o.Follow && len(iv.Stacked)+len(iv.Processes) == 0 {
			t.Errorf("%s by %s: nothing was seen", test.kind, p.via)
		}
		p.Close()
		child.Wait()
	}
}
