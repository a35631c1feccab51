// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"testing"
)

// FioTruth is what fio says of its own I/O: operations done, bytes moved, of all jobs.
type FioTruth struct {
	Reads, Writes         uint64
	ReadBytes, WriteBytes uint64
}

// Fio runs fio on a file or device, with direct I/O of 4 KiB at random places unless the
// arguments say something else.
func Fio(t testing.TB, path string, args ...string) FioTruth {
	t.Helper()
	all := append([]string{
		"--name=fio", "--filename=" + path, "--direct=1", "--bs=4k", "--rw=randrw", "--ioengine=psync",
		"--output-format=json", "--group_reporting", "--norandommap", "--randrepeat=1", "--invalidate=0",
	}, args...)
	cmd := exec.Command("fio", all...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("fio %v: %v\n%s%s", args, err, errs.String(), out)
	}
	var doc struct {
		Jobs []struct {
			Read, Write struct {
				TotalIOs uint64 `json:"total_ios"`
				Bytes    uint64 `json:"io_bytes"`
			}
		}
	}
	if err := json.Unmarshal(out[max(bytes.IndexByte(out, '{'), 0):], &doc); err != nil { // notes come first
		t.Fatalf("fio: %v\n%s", err, out)
	}
	var truth FioTruth
	for _, j := range doc.Jobs {
		truth.Reads += j.Read.TotalIOs
		truth.Writes += j.Write.TotalIOs
		truth.ReadBytes += j.Read.Bytes
		truth.WriteBytes += j.Write.Bytes
	}
	return truth
}
