// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"strings"
	"testing"

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
