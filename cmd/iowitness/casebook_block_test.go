// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/iowitness/iowitness/lab"
)

// repeatsDoc is what tests read of block --summary --repeats.
type repeatsDoc struct {
	Repeats []struct {
		Device, Op, Comm, File       string
		PID                          uint32
		Extents, Bytes, Requests, Of uint64
		Min                          uint64  `json:"times_min"`
		Max                          uint64  `json:"times_max"`
		Share                        float64 `json:"disk_percent"`
	}
	Missed    uint64 `json:"repeats_missed"`
	Processes []struct {
		PID      *uint32
		Requests uint64
		Share    float64 `json:"share_percent"`
		Device   float64 `json:"device_count"`
		Mean     float64 `json:"device_mean_ns"`
		Sizes    []struct {
			To    *uint64 `json:"le_bytes"`
			Count uint64
		} `json:"size_histogram"`
	}
	Files []struct {
		File     *string
		Requests uint64
	}
}

// TestTheSameBlocksInALoop (casebook 1): who writes them, to which file, that they are the same ones, how
// large each write is, and what share of the device that takes.
func TestTheSameBlocksInALoop(t *testing.T) {
	const blocks, times = 8, 250
	device, dir := mounted(t, ext4Plain)
	file := filepath.Join(dir, "table")
	fill(t, file, 1)
	work := func() (pid uint32, truth lab.Truth) {
		child := lab.Workload{Name: "rewrite", Args: []string{file, fmt.Sprint(blocks), fmt.Sprint(times)}}.Start(t)
		child.Go()
		return child.PID(), child.Wait()
	}
	var pid uint32
	var truth lab.Truth
	r := blockAround(t, func() { pid, truth = work() }, "--summary", "--repeats", "--json", "--top", "0", "--max-cost", "0", "--device", device.Name)
	var doc repeatsDoc
	if err := json.Unmarshal([]byte(r.out), &doc); err != nil {
		t.Fatalf("%v: %+v", err, r)
	}
	if len(doc.Repeats) == 0 {
		t.Fatalf("nothing repeats: %.2000s %s", r.out, r.err)
	}
	f := doc.Repeats[0]
	if f.Device != device.Name || f.Op != "write" || f.PID != pid || f.File != file || f.Share < 90 || f.Comm == "" {
		t.Errorf("%+v", f)
	}
	if f.Extents != blocks || f.Min != times || f.Max != times || f.Bytes != blocks*4096 || f.Requests != uint64(truth.Ops) || f.Of != f.Requests || doc.Missed != 0 {
		t.Errorf("%+v of %d writes", f, truth.Ops)
	}
	var inDevice, own float64
	for _, p := range doc.Processes {
		inDevice += p.Device * p.Mean
		if p.PID != nil && *p.PID == pid {
			own = p.Device * p.Mean
		}
	}
	whole := false
	for _, p := range doc.Processes {
		if p.PID == nil || *p.PID != pid {
			continue
		}
		whole = true
		var pages uint64
		for _, s := range p.Sizes {
			if s.To != nil && *s.To == 4096 {
				pages = s.Count
			}
		}
		if math.Abs(p.Share-100*own/inDevice) > 0.1 || p.Share < 80 {
			t.Errorf("its row has %v%% of the device, %v of %v ns: %s", p.Share, own, inDevice, r.out)
		}
		if pages < uint64(truth.Ops) || pages > uint64(truth.Ops)+20 { // it reads some metadata, too
			t.Errorf("its row: %d requests of up to 4 KiB, %+v", pages, p)
		}
	}
	if !whole || len(doc.Files) == 0 || doc.Files[0].File == nil || *doc.Files[0].File != file || doc.Files[0].Requests < uint64(truth.Ops) {
		t.Errorf("processes %+v, files %+v", doc.Processes, doc.Files)
	}

	says := fmt.Sprintf("(pid %%d) wrote the same %d places (32.0 KiB in all) %d times each: ", blocks, times)
	r = blockAround(t, func() { pid, _ = work() }, "--max-cost", "0", "--device", device.Name)
	if want := fmt.Sprintf(says, pid); !strings.Contains(r.err, want) || !strings.Contains(r.err, file) {
		t.Errorf("the list's foot does not say %q: %s", want, r.err)
	}
}

// TestWhatDoesNotRepeat: writes to blocks by chance are no finding.
func TestWhatDoesNotRepeat(t *testing.T) {
	lab.NeedRoot(t)
	device := lab.Loop(t, 64)
	r := blockAround(t, func() {
		child := lab.Workload{Name: "direct_write", Args: []string{device.Path, "2000"}}.Start(t)
		child.Go()
		child.Wait()
	}, "--summary", "--repeats", "--json", "--device", device.Name)
	var doc repeatsDoc
	if err := json.Unmarshal([]byte(r.out), &doc); err != nil || len(doc.Repeats) != 0 || doc.Repeats == nil {
		t.Errorf("%v: %+v", err, doc.Repeats)
	}
}

// TestTwoFileSystemsUnderOneLoad (casebook 10): ext4 and xfs under the same fsync load. Each pays for its log,
// by its own name, and ext4's journal tells its commits.
func TestTwoFileSystemsUnderOneLoad(t *testing.T) {
	const each = 200
	_, a := mounted(t, ext4Journal)
	_, b := mounted(t, xfs)
	r := watchFS(t, "--compare", a, b)
	var truths [2]lab.Truth
	for i := range 4 { // in turns: what else the machine does is the same for both
		child := lab.Workload{Name: "fsync", Args: []string{filepath.Join([]string{a, b}[i%2], fmt.Sprint("log", i)), fmt.Sprint(each / 2)}}.Start(t)
		child.Go()
		truth := child.Wait()
		truths[i%2].Ops += truth.Ops
		truths[i%2].Total += truth.Total
	}
	doc := r.end()
	if len(doc.Mounts) != 2 || doc.Compared == nil || doc.Mounts[0].FSType != "ext4" || doc.Mounts[1].FSType != "xfs" {
		t.Fatalf("%+v", doc)
	}
	for _, op := range doc.Compared.Operations {
		if op.Operation == "fsync" && (op.ACount != each || op.BCount != each || op.Ratio == nil) {
			t.Errorf("%+v", op)
		}
	}
	for i, m := range doc.Mounts {
		if m.Sync == nil || m.Sync.Calls != uint64(truths[i].Ops) || m.Sync.TotalNS > uint64(truths[i].Total) || m.Sync.TotalNS < uint64(truths[i].Total)/2 {
			t.Fatalf("%s: %+v, by the workload %v", m.FSType, m.Sync, truths[i].Total)
		}
	}
	journal, log := doc.Mounts[0].Sync.of("journal_commit", "journal_locked", "journal_space"), doc.Mounts[1].Sync.of("log_force")
	t.Logf("of each fsync: ext4 %d ns, journal %d; xfs %d ns, log %d", doc.Mounts[0].Sync.TotalNS/each, journal/each, doc.Mounts[1].Sync.TotalNS/each, log/each)
	if journal == 0 || log == 0 || doc.Mounts[0].Sync.of("log_force") != 0 || doc.Mounts[1].Sync.of("journal_commit") != 0 {
		t.Errorf("ext4: %+v, xfs: %+v", doc.Mounts[0].Sync, doc.Mounts[1].Sync)
	}
	if j := doc.Mounts[0].Journal; j == nil || j.Commits == 0 || j.Commits > 2*each || doc.Mounts[1].Journal != nil {
		t.Errorf("journals: %+v, %+v", j, doc.Mounts[1].Journal)
	}
	parts := map[string][2]uint64{}
	for _, p := range doc.Compared.SyncParts {
		parts[p.Part] = [2]uint64{p.A, p.B}
	}
	if p := parts["journal_commit"]; p[0] == 0 || p[1] != 0 {
		t.Errorf("compared: %+v", doc.Compared.SyncParts)
	}
	if p := parts["log_force"]; p[0] != 0 || p[1] == 0 {
		t.Errorf("compared: %+v", doc.Compared.SyncParts)
	}
}

// TestARecordingTellsRepeats: what was recorded elsewhere says so, too.
func TestARecordingTellsRepeats(t *testing.T) {
	var events strings.Builder
	for i := range 120 {
		at := fmt.Sprintf("%d.%06d", 1+i/10, i%10*10000)
		fmt.Fprintf(&events, "db 7 [000] %s: block:block_rq_issue: 8,0 W 4096 () %d + 8 [db]\n", at, 100+i%2*64)
		fmt.Fprintf(&events, "swapper 0 [000] %s5: block:block_rq_complete: 8,0 W () %d + 8 [0]\n", at[:len(at)-1], 100+i%2*64)
	}
	if _, summary := imported(t, events.String()); !strings.Contains(strings.Join(strings.Fields(summary), " "), "8:0: db (pid 7) wrote the same 2 places (8.00 KiB in all) 60 times each: 100.0% of the writes of the disk") {
		t.Errorf("%s", summary)
	}
}
