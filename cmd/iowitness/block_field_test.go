// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/iowitness/iowitness/lab"
)

// imported analyses events of perf script's, as lines and as a summary.
func imported(t *testing.T, events string) (lines []map[string]any, summary string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "events")
	if err := os.WriteFile(file, []byte(events), 0o600); err != nil {
		t.Fatal(err)
	}
	r := runIt(t, "block", "--import", file, "--json")
	if r.status != exitOK {
		t.Fatalf("%+v", r)
	}
	for line := range strings.Lines(r.out) {
		var l map[string]any
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, l)
	}
	return lines, runIt(t, "block", "--import", file, "--summary").out
}

// TestAStaleStartEndsNoLaterRequest (case B2): a read's completion at the place of a write that was issued
// 90 s before, and one 9.4 minutes later, are no latencies.
func TestAStaleStartEndsNoLaterRequest(t *testing.T) {
	lines, summary := imported(t, `dd 7 [000] 1.000010: block:block_rq_issue: 8,0 W 4096 () 100 + 8 [dd]
swapper 0 [000] 91.000010: block:block_rq_complete: 8,0 R () 100 + 8 [0]
dd 7 [000] 100.000010: block:block_rq_issue: 8,0 W 4096 () 300 + 8 [dd]
swapper 0 [000] 665.000010: block:block_rq_complete: 8,0 W () 300 + 8 [0]
`)
	if len(lines) != 2 {
		t.Fatalf("%v", lines)
	}
	for _, l := range lines {
		if l["unfinished"] != true || l["total_ns"] != nil || l["device_ns"] != nil {
			t.Errorf("%v", l)
		}
	}
	if !strings.Contains(summary, "unmatched 2") || strings.Contains(summary, "90.0 s") || strings.Contains(summary, "min") {
		t.Errorf("%s", summary)
	}
}

// TestAFlushsSecondCompletionAndAnError (case B4): the completion that only closes a flush is no request, and a
// failed one is told with its error.
func TestAFlushsSecondCompletionAndAnError(t *testing.T) {
	lines, summary := imported(t, `jbd2 7 [000] 1.000010: block:block_rq_issue: 8,0 WS 2048 () 4112 + 4 [jbd2]
swapper 0 [000] 1.000020: block:block_rq_complete: 8,0 WS () 4112 + 4 [-5]
swapper 0 [000] 1.000030: block:block_rq_complete: 8,0 WS () 4112 + 0 [0]
`)
	if len(lines) != 1 || lines[0]["error"] != 5. || lines[0]["device_ns"] != 10000. {
		t.Errorf("%v", lines)
	}
	if !strings.Contains(summary, "1 request") || !strings.Contains(summary, "1 failed") {
		t.Errorf("%s", summary)
	}
}

// TestWhatBeganAndEndedBalances (case C3): while requests come, those that began are those that completed
// and those under way, in the document and in the foot.
func TestWhatBeganAndEndedBalances(t *testing.T) {
	const threads = 8
	lab.NeedRoot(t)
	device := lab.Loop(t, 64)
	child := lab.Workload{Name: "threads", Args: []string{device.Path, strconv.Itoa(threads), "100000000"}}.Start(t)
	unix.Sync() // so that little is under way elsewhere when it begins
	child.Go()
	defer child.Kill()
	r := runIt(t, "block", "--summary", "--json", "--for", "2s", "--max-cost", "0")
	var doc struct {
		Total  struct{ Requests uint64 }
		Losses struct {
			Started, Completed, Unmatched, Dropped uint64
			InFlight                               uint64 `json:"in_flight"`
		}
	}
	if err := json.Unmarshal([]byte(r.out), &doc); err != nil {
		t.Fatalf("%v: %s%s", err, r.out, r.err)
	}
	l := doc.Losses
	t.Logf("%+v", doc)
	// Those under way when it began are seen to end only; the CPUs' counts are not read in one instant.
	if off := int64(l.Started) - int64(l.Completed+l.InFlight); l.Started < 1000 || off > 64 || off < -64 || l.Unmatched > 64 {
		t.Errorf("they do not balance: %+v: %s", l, r.out)
	}
	if off := int64(l.Completed) - int64(doc.Total.Requests); off < 0 || off > 64+int64(l.Completed/100) { // its own are left out
		t.Errorf("%d requests are summed up of %d", doc.Total.Requests, l.Completed)
	}
	text := runIt(t, "block", "--summary", "--for", "500ms", "--max-cost", "0")
	for _, part := range []string{"started ", "completed ", "in flight ", "unmatched "} {
		if !strings.Contains(text.out, part) {
			t.Errorf("no %q in %s", part, text.out)
		}
	}
}

// TestADeviceThatIsThrottledBelow (case H13): of a disk that the emulator lets do 50 requests a second the
// figures speak for a device that is slow itself, evenly, and not for a busy process.
func TestADeviceThatIsThrottledBelow(t *testing.T) {
	if !lab.Guest() {
		t.Skip("only on the lab's disks")
	}
	device := lab.Disk(t, "throttled")
	child := lab.Workload{Name: "direct_read", Args: []string{device.Path, "100000"}}.Start(t)
	child.Go()
	defer child.Kill()
	r := runIt(t, "block", "--summary", "--json", "--device", device.Name, "--for", "12s")
	var doc struct {
		Findings []struct {
			ID, Device, Op string
			Now            struct {
				DeviceMeanNS uint64  `json:"device_mean_ns"`
				PerSecond    float64 `json:"requests_per_second"`
			}
		}
	}
	if err := json.Unmarshal([]byte(r.out), &doc); err != nil {
		t.Fatalf("%v: %s%s", err, r.out, r.err)
	}
	if len(doc.Findings) != 1 {
		t.Fatalf("%+v: %s", doc, r.out)
	}
	if f := doc.Findings[0]; f.ID != "device_slow" || f.Device != device.Name || f.Op != "read" || f.Now.DeviceMeanNS < 15e6 || f.Now.PerSecond < 25 || f.Now.PerSecond > 60 {
		t.Errorf("%+v", f)
	}
	if text := runIt(t, "block", "--summary", "--device", device.Name, "--for", "12s"); !strings.Contains(text.out, "Is the device itself slow, or throttled below?") {
		t.Error(text.out)
	}
}
