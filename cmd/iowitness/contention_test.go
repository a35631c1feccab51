// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/iowitness/iowitness/lab"
)

// totals are the times by cause of rows that pass.
func totals(doc document, pass func(waitDoc) bool) map[string]uint64 {
	sum := map[string]uint64{}
	for _, w := range doc.Waits {
		if pass(w) {
			sum[w.Cause] += w.TotalNS
		}
	}
	return sum
}

// TestOutOfRequestTags (case H7): more threads than the device's queue has requests.
func TestOutOfRequestTags(t *testing.T) {
	lab.NeedRoot(t)
	below, end := lab.SlowDisk(t, 20*time.Millisecond)
	d := lab.LoopOn(t, below)
	lab.SetQueue(t, d, "scheduler", "mq-deadline")
	lab.SetQueue(t, d, "nr_requests", "4")
	cmd, _ := command(t, lab.Workload{Name: "threads", Args: []string{d.Path, "32", "10"}})
	sum := totals(witness(t, cmd, "--by", "cause,device"), func(w waitDoc) bool { return w.Device == d.Name })
	end()
	if sum["request_tag"] < sum["direct_read"] {
		t.Errorf("32 threads share 4 requests: %v", sum)
	}
}

// TestAPileUpBehindTheJournal (case H3): those who wait for a commit are told
// from the journal's own thread, which waits for the device.
func TestAPileUpBehindTheJournal(t *testing.T) {
	lab.NeedRoot(t)
	d, dir := mounted(t, ext4Journal)
	c := lab.Workload{Name: "fsync_dir", Args: []string{dir, "100000"}}.Start(t)
	doc := while(t, c, "--for", "1s", "--by", "process,cause,device", "--sample", "1")
	c.Kill()
	victim := totals(doc, func(w waitDoc) bool { return w.PID == c.PID() && w.Device == d.Name })
	if victim["journal_commit"] == 0 || victim["journal_commit"] < victim["metadata_read"] {
		t.Errorf("the process that calls fsync waited for %v", victim)
	}
	journal := totals(doc, func(w waitDoc) bool { return strings.Contains(w.Comm, "jbd2/"+d.Name) })
	if len(journal) == 0 {
		t.Errorf("the journal's thread is not among %+v", doc.Waits)
	}
}

// TestWritebackThrottling (case H6): a device held to a latency it cannot reach, which some reads show, is written to
// in many requests.
func TestWritebackThrottling(t *testing.T) {
	lab.NeedRoot(t)
	d, dir := mounted(t, ext4Plain)
	lab.SetQueue(t, d, "scheduler", "mq-deadline")
	lab.SetQueue(t, d, "wbt_lat_usec", "1")
	lab.SetQueue(t, d, "max_sectors_kb", "64")
	file := filepath.Join(dir, "read")
	fill(t, file, 64)
	reader := lab.Workload{Name: "threads", Args: []string{file, "2", "1000000"}}.Start(t)
	reader.Go()
	defer reader.Kill()
	writer := lab.Workload{Name: "sync", Args: []string{dir, "1000"}}.Start(t)
	doc := while(t, writer, "--for", "5s", "--by", "cause,device", "--max-cost", "0")
	writer.Kill()
	sum := totals(doc, func(w waitDoc) bool { return w.Device == d.Name || w.Device == "" })
	if sum["qos_throttle"] == 0 {
		t.Errorf("nobody was throttled: %v", sum)
	}
}

// TestASuspendedDeviceIsNamed (case H8): who reads and who synchronizes wait for the same device, which keeps
// back what comes: no request of it is under way, and they are told to wait for it together.
func TestASuspendedDeviceIsNamed(t *testing.T) {
	if !lab.Guest() {
		t.Skip("only on the lab's kernels")
	}
	top := lab.DMDelay(t, lab.Loop(t, 400), time.Millisecond)
	dir := lab.Mount(t, top, "ext4", "")
	file := filepath.Join(dir, "data")
	fill(t, file, 16)
	reader := lab.Workload{Name: "direct_read", Args: []string{file, "1000000"}}.Start(t)
	writer := lab.Workload{Name: "fsync", Args: []string{filepath.Join(dir, "log"), "1000000"}}.Start(t)
	reader.Go()
	writer.Go()
	time.Sleep(time.Second)
	resume := lab.Suspend(t, top)
	time.Sleep(500 * time.Millisecond) // what was under way has ended
	doc := witness(t, nil, "--for", "3s", "--by", "process,cause,device", "--max-cost", "0")
	resume()
	reader.Kill()
	writer.Kill()
	for _, c := range []*lab.Child{reader, writer} {
		waited := uint64(0)
		for _, w := range doc.Waits {
			if w.PID == c.PID() && strings.HasPrefix(w.Device, top.Name+" (delay-") {
				waited += w.TotalNS
			}
		}
		if waited < doc.WallNS*8/10 {
			t.Errorf("pid %d waited %.1f ms of %.1f for %s: %+v", c.PID(), ms(waited), ms(doc.WallNS), top.Name, doc.Waits)
		}
	}
}

// TestSchedulerStatisticsAreNotNeeded (cases G4, G5): waits are told though
// delay accounting and scheduler statistics are off, and what is unknown is not 0.
func TestSchedulerStatisticsAreNotNeeded(t *testing.T) {
	lab.NeedRoot(t)
	d := lab.Waiting(t)
	cmd, _ := command(t, lab.Workload{Name: "direct_read", Args: []string{d.Path, "200"}})
	doc := witness(t, cmd)
	if len(doc.Waits) == 0 || doc.Waits[0].Count < 100 || doc.IOWaitPercent == nil {
		t.Errorf("%+v", doc)
	}
}
