// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/iowitness/iowitness/kernel"
	"github.com/iowitness/iowitness/lab"
)

// writtenBack watches the lines, and a summary, of a file that a process in a cgroup of its own
// dirtied and somebody else wrote.
func writtenBack(t *testing.T, options string) (lines []requestLine, cgroup string, foot string, uncharged uint64) {
	lab.NeedRoot(t)
	device := lab.Loop(t, 128)
	dir := lab.Mount(t, device, "ext4", options)
	cgroup = lab.BlockCgroup(t)
	var pid uint32
	work := func(file string) {
		child := lab.Workload{Name: "dirty", Args: []string{filepath.Join(dir, file), "4"}}.Start(t, func(cmd *exec.Cmd) { lab.InCgroup(cmd, cgroup) })
		child.Go()
		child.Wait()
		pid = child.PID()
		unix.Sync()
	}
	r := blockAround(t, func() { work("file") }, "--json", "--device", device.Name, "--op", "write")
	for _, l := range parseLines(t, r.out) {
		if l.PID == pid && strings.HasSuffix(l.File, "/file") && l.CarrierComm != "" {
			lines = append(lines, l)
		}
	}
	sum := blockAround(t, func() { work("other") }, "--summary", "--json", "--device", device.Name, "--op", "write")
	var doc struct{ Total struct{ Uncharged uint64 } }
	if err := json.Unmarshal([]byte(sum.out), &doc); err != nil {
		t.Fatalf("%v: %s", err, sum.out)
	}
	if len(lines) == 0 {
		t.Fatalf("nothing was written back: %s%s", r.out, r.err)
	}
	if told := doc.Total.Uncharged > 0; told != strings.Contains(sum.out, "cannot be charged to a cgroup") {
		t.Errorf("%d requests are uncharged: %s", doc.Total.Uncharged, sum.out)
	}
	return lines, "/" + filepath.Base(cgroup), r.err, doc.Total.Uncharged
}

// TestWritebackIsChargedOrSaidNotToBe (case A15): of cgroup v1 the flusher is charged, and that is said;
// of v2 whoever dirtied the data, but where the file system cannot have it.
func TestWritebackIsChargedOrSaidNotToBe(t *testing.T) {
	charges, err := kernel.ChargesWriteback("/")
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		options string
		charged bool
	}{"ordered": {"", charges}, "data=journal": {"data=journal", false}} {
		t.Run(name, func(t *testing.T) {
			if name == "data=journal" && lab.GuestLine() == "5.10" {
				t.Skip("there such data is written as blocks of the device, of which no file is known")
			}
			lines, cgroup, foot, uncharged := writtenBack(t, test.options)
			t.Logf("charged %v: %d lines, %d uncharged in the summary; %s", test.charged, len(lines), uncharged, foot)
			for _, l := range lines {
				if l.Uncharged == test.charged || (l.Cgroup == cgroup) != test.charged {
					t.Errorf("%s: %+v", cgroup, l)
				}
			}
			if told := strings.Contains(foot, "cannot be charged to a cgroup"); told == test.charged || uncharged > 0 == test.charged {
				t.Errorf("%d uncharged; %s", uncharged, foot)
			}
		})
	}
}
