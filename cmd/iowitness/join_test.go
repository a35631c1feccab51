// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/iowitness/iowitness/lab"
)

// TestWaitsHaveTheirRequest: direct reads wait for requests of their size on their device, which
// take no longer than the reads.
func TestWaitsHaveTheirRequest(t *testing.T) {
	const reads = 400
	lab.NeedRoot(t)
	device := lab.Waiting(t)
	for _, via := range []string{"tp_btf", "raw_tp"} {
		t.Run(via, func(t *testing.T) {
			cmd, file := command(t, lab.Workload{Name: "direct_read", Args: []string{device.Path, strconv.Itoa(reads)}})
			doc := witness(t, cmd, "--via", via, "--sample", "1", "--by", "process,device")
			truth := lab.ReadTruth(t, file)
			if doc.Joined == nil || doc.Joined.Joined < reads/2 || doc.Joined.Joined > doc.Joined.Of {
				t.Fatalf("joined: %+v", doc.Joined)
			}
			joined := 0
			for _, w := range doc.Waits {
				for _, c := range w.Causes {
					if c.Cause != "direct_read" || w.Device != device.Name {
						continue
					}
					joined += int(c.Joined)
					r := c.Request
					if c.Joined < c.Recorded*95/100 || r == nil || c.DeviceMeanNS == nil || r.DeviceNS == nil || r.Sector == nil {
						t.Fatalf("%+v", c)
					}
					if r.Device != device.Name || r.Bytes != 4096 || r.Op != "read" || !strings.HasPrefix(r.Type, "R") || *r.Sector%8 != 0 {
						t.Errorf("%+v", r)
					}
					if max := uint64(truth.Max); *r.DeviceNS > max || r.WaitNS > max || r.WaitNS > w.MaxNS || *r.BeforeNS > r.WaitNS {
						t.Errorf("longest read %v, longest wait %v, of it %+v", truth.Max, time.Duration(w.MaxNS), r)
					}
					if all := time.Duration(*c.DeviceMeanNS * c.Joined); all > truth.Total || *c.DevicePercent <= 0 || *c.DevicePercent > 100 {
						t.Errorf("the device had requests for %v in reads of %v, %v%%", all, truth.Total, *c.DevicePercent)
					}
				}
			}
			if joined < reads/2 {
				t.Errorf("%d of %d reads joined to a request of %s: %+v", joined, reads, device.Name, doc.Waits)
			}
		})
	}
}

// TestTheDeviceIsQuickAndTheWaitIsLong (case B5): a limit of the control group holds requests
// back before they are made, and the device is told to have had little part in it.
func TestTheDeviceIsQuickAndTheWaitIsLong(t *testing.T) {
	const reads, delay = 30, 40 * time.Millisecond
	lab.NeedRoot(t)
	device := lab.Waiting(t)
	cgroup := lab.Throttle(t, device, "read_iops", int(time.Second/delay))
	for _, c := range []struct {
		via          string
		joins, times bool
	}{{"tp_btf", true, true}, {"raw_tp", true, true}, {"tp", true, false}, {"kretprobe", false, false}} {
		t.Run(c.via, func(t *testing.T) {
			if r := runIt(t, "--via", c.via, "--for", "10ms"); !c.joins && r.status == exitUnsupported {
				t.Skip(r.err)
			}
			cmd, _ := command(t, lab.Workload{Name: "direct_read", Args: []string{device.Path, strconv.Itoa(reads)}})
			doc := witness(t, lab.InCgroup(cmd, cgroup), "--via", c.via, "--sample", "1", "--by", "process,device,cause")
			if (doc.Joined != nil) != c.joins || c.joins && doc.Joined.Joined < reads-4 {
				t.Fatalf("joined: %+v", doc.Joined)
			}
			i := slices.IndexFunc(doc.Waits, func(w waitDoc) bool { return w.Device == device.Name && w.Cause == "direct_read" })
			if i < 0 {
				t.Fatalf("nobody reads %s: %+v", device.Name, doc.Waits)
			}
			w := &doc.Waits[i].Causes[0]
			if (w.Request != nil) != c.joins || (w.DeviceMeanNS != nil) != c.times || (w.DevicePercent != nil) != c.times {
				t.Fatalf("%+v", w)
			}
			if c.joins && (w.Request.Device != device.Name || (w.Request.DeviceNS != nil) != c.times) {
				t.Errorf("%+v", w.Request)
			}
			if !c.times {
				return
			}
			t.Logf("of %v before the request %v, %.2f%% in the device", time.Duration(*w.WaitMeanNS), time.Duration(*w.BeforeMeanNS), *w.DevicePercent)
			if mean := time.Duration(*w.WaitMeanNS); mean < delay/2 || time.Duration(*w.BeforeMeanNS) < mean*8/10 || *w.DevicePercent > 15 {
				t.Errorf("of %v only %v before the request, %v%% in the device", mean, time.Duration(*w.BeforeMeanNS), *w.DevicePercent)
			}
		})
	}
}

var inDevice = regexp.MustCompile(`\(<?(\d+)% of that in the device\)`)

// TestTextTellsTheDevicesPart of the same (case B5).
func TestTextTellsTheDevicesPart(t *testing.T) {
	lab.NeedRoot(t)
	device := lab.Waiting(t)
	cgroup := lab.Throttle(t, device, "read_iops", 25)
	c := lab.Workload{Name: "direct_read", Args: []string{device.Path, "1000"}}.Start(t, func(cmd *exec.Cmd) { lab.InCgroup(cmd, cgroup) })
	c.Go()
	time.Sleep(300 * time.Millisecond)
	r := runIt(t, "--pid", fmt.Sprint(c.PID()), "--for", "1500ms", "--stacks")
	c.Kill()
	part := inDevice.FindStringSubmatch(r.out)
	if r.status != exitOK || part == nil {
		t.Fatalf("%+v", r)
	}
	if percent, _ := strconv.Atoi(part[1]); percent > 15 {
		t.Errorf("%s%% in the device", part[1])
	}
	for _, want := range []string{" before the request was made, ", "longest: ", " of 4.00 KiB at sector ", " on " + device.Name, "recorded storage waits to the request that ended them"} {
		if !strings.Contains(r.out, want) {
			t.Errorf("no %q in\n%s", want, r.out)
		}
	}
}
