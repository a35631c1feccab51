// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/iowitness/iowitness/diagnosis"
	"github.com/iowitness/iowitness/kernel"
	"github.com/iowitness/iowitness/lab"
	"github.com/iowitness/iowitness/tracefs"
)

// thisHost is diagnosed once: in an emulated guest that takes half a minute.
var thisHost = sync.OnceValue(func() *diagnosis.Report { return Diagnose("/", DiagnoseOptions{}) })

// TestVerdictsAreTrue: what is said of a means is what becomes of opening it.
func TestVerdictsAreTrue(t *testing.T) {
	lab.NeedRoot(t)
	r := thisHost()
	logReport(t, r)
	used := false
	for _, m := range preference {
		w, err := Open(Options{Via: m, Functions: oneFunction()})
		if err == nil {
			w.Close()
		}
		d := meansOf(t, r, m)
		if (err == nil) != (d.Verdict == diagnosis.Usable) {
			t.Errorf("%s is said to be %s (%s), but: %v", m, d.Verdict, d.Reason, err)
		}
		if d.Used != (err == nil && !used) {
			t.Errorf("%s used: %v", m, d.Used)
		}
		used = used || err == nil
	}
}

func logReport(t *testing.T, r *diagnosis.Report) {
	t.Helper()
	for _, m := range r.Means {
		t.Logf("%s %s %s %q", m.ID, m.Verdict, m.Reason, m.Notes)
	}
	for _, f := range r.Functions {
		for _, m := range f.Means {
			if m.Verdict != diagnosis.Usable && len(f.Symbols) > 0 {
				t.Logf("%s %+v", f.Name, m)
			}
		}
	}
	for _, f := range r.Facts {
		t.Logf("%s = %v %s", f.ID, f.Value, f.Note)
	}
}

// TestReasonsAreThoseOfThisKernel: nobody has to be told what the kernel's own
// configuration and lockdown make certain.
func TestReasonsAreThoseOfThisKernel(t *testing.T) {
	lab.NeedRoot(t)
	facts := kernel.Read("/")
	config := kernel.ReadConfig("/", facts.Release, configOptions())
	r := thisHost()
	if config.Option("CONFIG_KPROBES") == kernel.Absent {
		for _, m := range []Means{Kretprobe, Tracefs, Kmod} {
			if d := meansOf(t, r, m); d.Verdict != diagnosis.Unusable || !strings.Contains(d.Reason, "CONFIG_KPROBES") {
				t.Errorf("%+v", d)
			}
		}
	}
	if facts.Lockdown == "integrity" || facts.Lockdown == confidential {
		if d := meansOf(t, r, Kmod); d.Verdict != diagnosis.Unusable || !strings.Contains(d.Reason, "lockdown") {
			t.Errorf("%+v", d)
		}
	}
	if d := meansOf(t, r, Fexit); strings.Contains(d.Reason, "MEMLOCK") || d.Reason == "" && d.Verdict != diagnosis.Usable {
		t.Errorf("%+v", d)
	}
}

// TestGuest: what the lab's kernels have must work, and under lockdown the reason be told.
func TestGuest(t *testing.T) {
	if !lab.Guest() {
		t.Skip("not in a guest of the lab")
	}
	r := thisHost()
	trial := newLiveTrial(DiagnoseOptions{})
	switch kernel.Read("/").Lockdown {
	case confidential:
		for m, says := range map[Means]string{TP: "confidentiality", Kretprobe: "confidentiality", Tracefs: "confidentiality", Kmod: "confidentiality"} {
			if d := meansOf(t, r, m); d.Verdict != diagnosis.Unusable || !strings.Contains(d.Reason, says) {
				t.Errorf("%+v", d)
			}
		}
	case "integrity":
		if d := meansOf(t, r, Kmod); d.Verdict != diagnosis.Unusable || !strings.Contains(d.Reason, "integrity") {
			t.Errorf("%+v", d)
		}
		fallthrough
	default:
		for _, m := range []Means{TPBTF, RawTP, TP, Fexit, Kretprobe, Tracefs, Taskstats} {
			if err := trial.means(m); err != nil {
				t.Errorf("%s: %v", m, err)
			}
		}
		for _, f := range r.Functions {
			if len(f.Symbols) > 0 && !slices.Contains(f.Usable(), string(Kretprobe)) {
				t.Errorf("%+v", f)
			}
		}
		if f := functionOf(t, r, "io_schedule"); len(f.Usable()) < 3 || f.Blacklisted == "on" || f.Traceable == "off" {
			t.Errorf("%+v", f)
		}
	}
}

// TestTrialsLeaveNothingBehind: no probe, no instance.
func TestTrialsLeaveNothingBehind(t *testing.T) {
	lab.NeedRoot(t)
	fs, err := tracefs.Open("/")
	if err != nil {
		t.Skip(err)
	}
	defer fs.Close()
	if err := tryTracefs(); err != nil {
		t.Logf("the trial itself: %v", err)
	}
	found, err := fs.Cleanup()
	if err != nil || len(found) != 0 {
		t.Errorf("left: %v, %v", found, err)
	}
}

// TestMemlockIsProved: on kernels that charge cgroups for BPF, the limit is not to blame.
func TestMemlockIsProved(t *testing.T) {
	lab.NeedRoot(t)
	counts, bytes := tryMemlock()
	t.Logf("counts: %s, limit %d", counts, bytes)
	if line := lab.GuestLine(); line != "" && (counts == kernel.On) != (line == "5.10") {
		t.Errorf("on %s it counts: %s", line, counts)
	}
	again, same := tryMemlock()
	if again != counts || same != bytes {
		t.Errorf("the limit was %d, and is %d", bytes, same)
	}
}

func TestTracefsIsFoundWhereItIs(t *testing.T) {
	lab.NeedRoot(t)
	place, listing := newLiveTrial(DiagnoseOptions{}).tracefs([]string{"io_schedule"})
	if place != "" && place != "private" {
		if _, err := os.Stat(filepath.Join(place, "events")); err != nil {
			t.Error(err)
		}
	}
	if listing.Known && listing.Has("io_schedule") != kernel.On {
		t.Error("ftrace does not know io_schedule")
	}
	if place == "" && listing.Why == "" {
		t.Errorf("no place and no reason: %+v", listing)
	}
}
