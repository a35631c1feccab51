// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/iowitness/iowitness/lab"
)

// coarseDocument checks what holds for every document of this means (case G4: what
// is not known is null and never 0).
func coarseDocument(t *testing.T, r ran) document {
	t.Helper()
	if r.status != exitOK {
		t.Fatalf("%+v", r)
	}
	doc := parseDocument(t, []byte(r.out))
	if !doc.Estimated || doc.Means["wait"] != "taskstats" || len(doc.Notes) == 0 || !strings.Contains(strings.Join(doc.Notes, " "), "coarse") {
		t.Errorf("means %v, estimated %v, notes %q", doc.Means, doc.Estimated, doc.Notes)
	}
	var nulls struct {
		Waits []struct {
			Exact             bool
			RunQueue          *uint64 `json:"runqueue_ns"`
			P50               *uint64 `json:"p50_ns"`
			Flagged           *bool
			FlaggedNS         *uint64 `json:"flagged_ns"`
			PID, Count, Bands any
		}
		Unflagged *float64 `json:"unflagged_percent"`
	}
	if err := json.Unmarshal([]byte(r.out), &nulls); err != nil {
		t.Fatal(err)
	}
	off, _ := os.ReadFile("/proc/sys/kernel/task_delayacct")
	unknown := strings.TrimSpace(string(off)) == "0"
	for _, w := range nulls.Waits {
		if w.Exact || w.RunQueue != nil || w.P50 != nil || w.Count != 0.0 && w.Bands != nil || unknown && (w.Flagged != nil || w.FlaggedNS != nil) {
			t.Errorf("%+v", w)
		}
	}
	if unknown && nulls.Unflagged != nil {
		t.Errorf("%v%% are told as not flagged", *nulls.Unflagged)
	}
	return doc
}

// TestCoarseAsAnOrdinaryUser: of others' threads it tells the time, and that their
// functions are hidden.
func TestCoarseAsAnOrdinaryUser(t *testing.T) {
	lab.NeedRoot(t)
	device := lab.Loop(t, 16)
	cgroup := lab.Throttle(t, device, "read_iops", 10)
	c := lab.Workload{Name: "direct_read", Args: []string{device.Path, "1000"}}.Start(t, func(cmd *exec.Cmd) { lab.InCgroup(cmd, cgroup) })
	c.Go()
	time.Sleep(300 * time.Millisecond)
	doc := coarseDocument(t, runCmd(t, asNobody(t, nil, "--max-cost", "0", "--for", "3s", "--json")))
	c.Kill()
	w := waitsOf(doc, c.PID())
	if w == nil || w.TotalNS < doc.WallNS*3/4 || w.TotalNS > doc.WallNS*11/10 || w.Count < 15 || w.Count > 45 {
		t.Fatalf("a thread that waits all the time, 100 ms at once, in %d ns: %+v", doc.WallNS, w)
	}
	if w.Cause != "unknown" || len(w.Stack) != 0 || doc.Lost["hidden"].Count == 0 {
		t.Errorf("%+v, hidden %+v", w, doc.Lost["hidden"])
	}
	if notes := strings.Join(doc.Notes, " "); !strings.Contains(notes, "CAP_BPF and CAP_PERFMON") || !strings.Contains(notes, "one's own processes only") {
		t.Errorf("%q", doc.Notes)
	}
}

// TestCoarseOfOnesOwnCommand: an ordinary user sees function, system call and file of what is his.
func TestCoarseOfOnesOwnCommand(t *testing.T) {
	lab.NeedRoot(t)
	device, _ := lab.SlowDisk(t, 400*time.Millisecond)
	if err := os.Chmod(device.Path, 0o666); err != nil {
		t.Fatal(err)
	}
	cmd := asNobody(t, nil, "--max-cost", "0", "--json", "--", "dd", "if="+device.Path, "of=/dev/null", "bs=4k", "count=25", "iflag=direct")
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, errs.String())
	}
	report := errs.String()[strings.Index(errs.String(), "{"):]
	report, _, _ = strings.Cut(report, "\n")
	doc := coarseDocument(t, ran{out: report})
	i := slices.IndexFunc(doc.Waits, func(w waitDoc) bool { return w.Comm == "dd" })
	if i < 0 {
		t.Fatalf("no dd: %+v", doc.Waits)
	}
	w := &doc.Waits[i]
	if doc.Command == nil || doc.Command.ExitCode != 0 {
		t.Fatalf("%+v", doc.Command)
	}
	if w.TotalNS < uint64(1800*time.Millisecond) || w.TotalNS > doc.Command.RealNS+uint64(100*time.Millisecond) {
		t.Errorf("25 reads of 100 ms each in %v: %+v", time.Duration(doc.Command.RealNS), w)
	}
	if w.Cause != "direct_read" || w.Device != device.Name || w.File != device.Path || w.DeviceSource != "file" {
		t.Errorf("%+v", w)
	}
}

// TestCoarseShowsAStuckThread with its true age and, to root, its cause (cases H2, G1).
func TestCoarseShowsAStuckThread(t *testing.T) {
	lab.NeedRoot(t)
	c := lab.StuckStat(t)
	ring := lab.Workload{Name: "ring_idle", Args: []string{"60000"}}.Start(t)
	ring.Go()
	time.Sleep(2300 * time.Millisecond)
	doc := coarseDocument(t, runIt(t, "--via", "taskstats", "--max-cost", "0", "--for", "2s", "--json"))
	p := progressOf(doc, c.PID())
	if p == nil {
		t.Fatalf("the stuck process is not among the waits in progress: %+v", doc.InProgress)
	}
	if _, err := os.Stat("/proc/self/sched"); err == nil && (p.AgeNS < uint64(3500*time.Millisecond) || p.AgeNS > uint64(20*time.Second)) {
		t.Errorf("stuck for some 4 s, told %v", time.Duration(p.AgeNS))
	}
	if p.Cause != "fuse" {
		t.Errorf("%+v", p)
	}
	if w := waitsOf(doc, c.PID()); w == nil || w.TotalNS < doc.WallNS*9/10 || w.TotalNS > doc.WallNS*11/10 {
		t.Errorf("in %d ns: %+v", doc.WallNS, w)
	}
	if w := waitsOf(doc, ring.PID()); w == nil || w.Cause != "io_uring_idle" || w.TotalNS < doc.WallNS*8/10 {
		t.Errorf("the idle ring: %+v", w)
	}
	if doc.ThreadSeconds < 0.9 || doc.OtherThreadSeconds < 0.7 {
		t.Errorf("%v thread-seconds a second for storage, %v others", doc.ThreadSeconds, doc.OtherThreadSeconds)
	}
}

// TestCoarseIsMarkedInText: no figure of waits is without its mark.
func TestCoarseIsMarkedInText(t *testing.T) {
	lab.NeedRoot(t)
	device := lab.Loop(t, 16)
	cgroup := lab.Throttle(t, device, "read_iops", 10)
	c := lab.Workload{Name: "direct_read", Args: []string{device.Path, "1000"}}.Start(t, func(cmd *exec.Cmd) { lab.InCgroup(cmd, cgroup) })
	c.Go()
	time.Sleep(300 * time.Millisecond)
	r := runIt(t, "--via", "taskstats", "--max-cost", "0", "--for", "1500ms", "--pid", number(c.PID()))
	c.Kill()
	row := ""
	for line := range strings.Lines(r.out) {
		if strings.HasPrefix(strings.TrimSpace(line), number(c.PID())+" ") {
			row = line
		}
	}
	if strings.Count(row, "~") < 4 || !strings.Contains(r.out, "~") || !strings.Contains(r.out, "are estimates") {
		t.Errorf("%s", r.out)
	}
	if strings.Contains(r.out, "probes") && strings.Contains(r.out, "not measured") {
		t.Errorf("it tells of probes: %s", r.out)
	}
}

func number(n uint32) string { return strconv.FormatUint(uint64(n), 10) }
