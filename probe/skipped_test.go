// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/iowitness/iowitness/lab"
	"github.com/iowitness/iowitness/tracefs"
)

// TestProbesThatMeetAreCounted (case D3): the kernel skips a probe that is hit while
// another one runs on that CPU. Somebody's probe is hit in the interrupts that end
// reads, ours in the threads that wait for them: each one's calls are counted or told as missed.
func TestProbesThatMeetAreCounted(t *testing.T) {
	const threads, reads = 16, 250
	device := lab.NullBlk(t, 500*time.Microsecond)
	lab.Preempt(t, "full") // then ours by fexit, in which a thread can be preempted, is skipped too
	var met uint64
	for _, via := range []Means{Fexit, Kretprobe, Tracefs, Kmod} {
		if !isExpected(via) {
			continue
		}
		t.Run(string(via), func(t *testing.T) {
			child := lab.Workload{Name: "counted", Args: []string{device.Path, strconv.Itoa(threads), strconv.Itoa(reads), "direct"}}.Start(t)
			other := probeOfAnother(t, "bio_endio")
			w := openWitness(t, Options{Via: via, PIDs: []uint32{child.PID()}, Functions: sleepers, Module: lab.GuestModule()})
			before := other()
			truth, told := accompany(t, child, w)
			after := other()
			_, flagged, _ := told[0].sum(child.PID())
			losses := lossesOf(t, w)
			shown := losses["missed_return"].Count + losses["missed_entry"].Count + losses["state_full"].Count
			// A call of which the return was missed may be one without a wait, as some of those seen are.
			awake := losses["no_sleep"].Count
			without := shown * awake / max(flagged+awake, 1)
			if told, real := flagged+shown, uint64(truth.Switches); told < real-real/100 || told > real+real/100+without {
				t.Errorf("%d waits counted, %d told as missed, in %d switches", flagged, shown, real)
			}
			hits, misses := after.Hits-before.Hits, after.Misses-before.Misses
			t.Logf("%d waits counted and %d missed of %d; the other probe was hit %d times and missed %d of %d", flagged, shown, truth.Switches, hits, misses, truth.Ops)
			if calls := uint64(truth.Ops); hits+misses < calls || hits+misses > calls+calls/100 {
				t.Errorf("the other probe was hit %d times and missed %d, in %d reads", hits, misses, calls)
			}
			met += misses
		})
	}
	if met == 0 && !t.Failed() {
		t.Error("the probes never met")
	}
}

// probeOfAnother probes a function until the test ends, as somebody else would
// in the tracing file system, and tells the kernel's counts of it.
func probeOfAnother(t *testing.T, function string) (counts func() tracefs.Profile) {
	t.Helper()
	files, err := tracefs.Open("/")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { files.Close() })
	name := strings.ReplaceAll("another_"+function, ".", "_")
	p := tracefs.Probe{Group: "another", Event: name, Symbol: function}
	if _, err := files.AddProbe(p); err != nil {
		t.Fatal(err)
	}
	enable := filepath.Join(files.Place(), "events", p.Group, p.Event, "enable")
	t.Cleanup(func() {
		os.WriteFile(enable, []byte("0"), 0)
		if err := files.RemoveProbe(p.Group, p.Event); err != nil {
			t.Error(err)
		}
	})
	if err := os.WriteFile(enable, []byte("1"), 0); err != nil {
		t.Fatal(err)
	}
	return func() tracefs.Profile {
		profiles, err := files.Profiles()
		if err != nil {
			t.Fatal(err)
		}
		return profiles[name]
	}
}
