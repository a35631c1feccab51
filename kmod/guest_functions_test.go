// SPDX-License-Identifier: Apache-2.0

package kmod

import (
	"testing"
	"time"

	"github.com/iowitness/iowitness/lab"
)

// All functions at once: waits for the journal are seen, which the kernel does not flag.
func TestAllFunctions(t *testing.T) {
	load(t, Params{Probes: Functions()})
	dir := lab.Mount(t, lab.Disk(t, "plain"), "ext4", "")
	began := time.Now()
	truth := run(t, "fsync", dir+"/file", "40")
	wall := time.Since(began)
	s := state(t)
	p := s.process(truth.PID)
	if p.Unflagged.Count < 10 || p.Flagged.Count == 0 {
		t.Errorf("40 fsyncs, and %+v", p.Counts)
	}
	// One thread: its waits cannot overlap, however the functions nest.
	if total := time.Duration(p.Flagged.NS + p.Unflagged.NS); total > wall || time.Duration(p.MaxNS) > truth.Max+10*time.Millisecond {
		t.Errorf("one thread waited %v of %v, at longest %v of %v", total, wall, time.Duration(p.MaxNS), truth.Max)
	}
	var probed, journal int
	for _, probe := range s.Probes {
		switch {
		case probe.Error == 0:
			probed++
		case probe.Error != 2 && probe.Error != 22:
			t.Errorf("%s: error %d", probe.Function, probe.Error)
		}
		if probe.Function == "jbd2_log_wait_commit" {
			journal = int(probe.Returns)
		}
		t.Logf("%+v", probe)
	}
	if probed < 10 || journal == 0 {
		t.Errorf("%d functions probed, %d waits for the journal", probed, journal)
	}
}

// A ratio leaves out whole waits: what nests in one that is left out is not counted in its stead.
func TestRatioOfNestedFunctions(t *testing.T) {
	load(t, Params{Probes: []string{"bit_wait_io"}, Ratio: 1000000})
	c := control(t)
	d := lab.NullBlk(t, 20*time.Millisecond)
	before := state(t)
	truth := run(t, "mount", d.Path)
	s := state(t)
	if n := s.process(truth.PID).Entries; n > 0 {
		t.Errorf("%d waits taken", n)
	}
	skipped := s.calls(func(p *Probe) uint64 { return p.Skipped }) - before.calls(func(p *Probe) uint64 { return p.Skipped })
	nested := s.calls(func(p *Probe) uint64 { return p.Nested }) - before.calls(func(p *Probe) uint64 { return p.Nested })
	if skipped == 0 || nested == 0 {
		t.Errorf("%d left out, %d nested in them", skipped, nested)
	}
	must(t, c.SetRatio(1))
	truth = run(t, "mount", d.Path)
	if n := state(t).process(truth.PID).Returns(); n == 0 {
		t.Error("nothing is taken any more")
	}
}
