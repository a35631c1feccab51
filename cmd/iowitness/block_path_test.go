// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/iowitness/iowitness/lab"
)

// TestADiskWithPathsHasItsRow (case A12): of an NVMe disk with two paths, disk and path have the
// same requests, and the whole counts them once.
func TestADiskWithPathsHasItsRow(t *testing.T) {
	if !lab.Guest() {
		t.Skip("only on the lab's kernels")
	}
	disk := lab.Disk(t, "shared")
	var truth lab.FioTruth
	work := func() { truth = lab.Fio(t, disk.Path, "--size=32m", "--io_size=512k") }
	for _, flags := range [][]string{nil, {"--device", disk.Name}} {
		r := blockAround(t, work, append([]string{"--summary", "--json", "--comm", "fio"}, flags...)...)
		var doc struct {
			Total   struct{ Requests uint64 }
			Devices []struct {
				Device   string
				Stacked  bool
				Via      []string
				Requests uint64
			}
		}
		if err := json.Unmarshal([]byte(r.out), &doc); err != nil {
			t.Fatalf("%v: %s%s", err, r.out, r.err)
		}
		of := truth.Reads + truth.Writes
		if doc.Total.Requests != of || len(doc.Devices) != 2 {
			t.Fatalf("%d I/Os: %+v", of, doc)
		}
		above, path := doc.Devices[0], doc.Devices[1]
		if !above.Stacked {
			above, path = path, above
		}
		if above.Device != disk.Name || above.Requests != of || len(above.Via) != 1 || above.Via[0] != path.Device ||
			path.Requests != of || path.Stacked {
			t.Errorf("%d I/Os: %+v", of, doc.Devices)
		}
	}
	r := blockAround(t, work, "--comm", "fio", "--device", disk.Name)
	via := " via nvme"
	if lab.GuestLine() == "5.10" {
		via = " via 259:" // it tells no numbers of hidden disks
	}
	if n := uint64(strings.Count(r.out, disk.Name+via)); n != truth.Reads+truth.Writes {
		t.Errorf("%d lines of %+v: %s", n, truth, r.out)
	}
}

// TestFioOnStackedDevices: of dm-delay on a mirror on two loop devices each I/O is told exactly once at each level, whatever
// the engine; the whole and the process count what the disks did, which for a write is two.
func TestFioOnStackedDevices(t *testing.T) {
	if !lab.Guest() {
		t.Skip("only on the lab's kernels")
	}
	const block = 4096
	a, b := lab.Loop(t, 32), lab.LoopOver(t, filepath.Join(lab.Dir(t), "other.img"), 32)
	mirror := lab.Raid1(t, a, b)
	top := lab.DMDelay(t, mirror, 5*time.Millisecond)
	type row struct {
		Device, Comm    string
		Stacked         bool
		Requests, Bytes uint64
	}
	for _, engine := range []string{"psync", "libaio", "io_uring"} {
		t.Run(engine, func(t *testing.T) {
			var truth lab.FioTruth
			r := blockAround(t, func() {
				truth = lab.Fio(t, top.Path, "--ioengine="+engine, "--iodepth=4", "--numjobs=2", "--size=16m", "--io_size=512k")
			}, "--summary", "--json", "--comm", "fio", "--top", "0", "--max-cost", "0")
			var doc struct {
				Total              row
				Devices, Processes []row
				Notes              []string
			}
			if err := json.Unmarshal([]byte(r.out), &doc); err != nil {
				t.Fatalf("%v: %s%s", err, r.out, r.err)
			}
			// A preemptible kernel leaves out runs of programs. Of an I/O whose begin is not seen nobody knows the owner on
			// any level: so many may be missing on each, and on the disks twice as many, if they are writes.
			skipped := uint64(0)
			for _, note := range doc.Notes {
				if strings.HasSuffix(note, "events that the kernel did not run a program for") {
					fmt.Sscan(note, &skipped)
				}
			}
			told := func(got row, want, missing uint64) bool {
				return got.Requests <= want && want-got.Requests <= missing && got.Bytes == got.Requests*block
			}
			devices := map[string]row{}
			for _, d := range doc.Devices {
				if _, twice := devices[d.Device]; twice {
					t.Errorf("two rows of %s: %+v", d.Device, doc.Devices)
				}
				devices[d.Device] = d
			}
			above, below := truth.Reads+truth.Writes, truth.Reads+2*truth.Writes
			for _, name := range []string{top.Name + " (delay-" + mirror.Name + ")", mirror.Name} {
				if got := devices[name]; !got.Stacked || !told(got, above, skipped) {
					t.Errorf("of %d I/Os on %s, %d left out: %+v in %+v", above, name, skipped, got, doc.Devices)
				}
			}
			var disks row
			for _, d := range []lab.Device{a, b} {
				got := devices[d.Name]
				if got.Stacked || got.Requests+skipped < truth.Writes || got.Requests > above {
					t.Errorf("of %+v on %s: %+v", truth, d.Name, got)
				}
				disks.Requests, disks.Bytes = disks.Requests+got.Requests, disks.Bytes+got.Bytes
			}
			if !told(disks, below, 2*skipped) || len(devices) != 4 {
				t.Errorf("of %+v on the disks, %d left out: %+v", truth, skipped, doc.Devices)
			}
			var own row
			for _, p := range doc.Processes {
				own.Requests, own.Bytes = own.Requests+p.Requests, own.Bytes+p.Bytes
				if p.Comm != "fio" {
					t.Errorf("%+v", p)
				}
			}
			for what, sum := range map[string]row{"in all": doc.Total, "of fio": own} {
				if sum.Requests != disks.Requests || sum.Bytes != disks.Bytes {
					t.Errorf("%s %d requests of %d bytes, not %+v: %+v", what, sum.Requests, sum.Bytes, disks, doc)
				}
			}
			if strings.Contains(r.err, "lost") {
				t.Errorf("%s", r.err)
			}
		})
	}
}
