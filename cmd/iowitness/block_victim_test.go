// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/iowitness/iowitness/lab"
)

// TestWhoHadTheDiskOfAVictim (case H14): beside a loop of fsync dd writes to the same disk, and shares it
// in the slow waits; who read from it before did not, and is among its issuers only.
func TestWhoHadTheDiskOfAVictim(t *testing.T) {
	lab.NeedRoot(t)
	device, dir := mounted(t, ext4Journal)
	if err := os.WriteFile(filepath.Join(dir, "cold"), make([]byte, 4<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	lab.Run(t, "sync")
	victim := lab.Workload{Name: "fsync", Args: []string{filepath.Join(dir, "log"), "300"}}.Start(t)
	work := func() {
		before := lab.Workload{Name: "direct_read", Args: []string{filepath.Join(dir, "cold"), "200"}}.Start(t)
		before.Go()
		before.Wait()
		dd := exec.Command("dd", "if=/dev/zero", "of="+filepath.Join(dir, "bulk"), "bs=1M", "count=32", "oflag=direct", "conv=notrunc")
		stop := make(chan bool)
		done := make(chan bool)
		go func() {
			defer close(done)
			for {
				if err := (&exec.Cmd{Path: dd.Path, Args: dd.Args}).Run(); err != nil {
					t.Error(err)
					return
				}
				select {
				case <-stop:
					return
				default:
				}
			}
		}()
		victim.Go()
		victim.Wait()
		close(stop)
		<-done
	}
	r := blockAround(t, work, "--summary", "--json", "--device", device.Name, "--top", "0", "--victim", fmt.Sprint(victim.PID()))
	type process struct {
		Comm     string
		PID      uint32
		Itself   bool
		Requests uint64
		DeviceNS uint64 `json:"device_ns"`
	}
	var doc struct {
		Processes []process
		Victim    struct {
			PID     uint32
			Waits   uint64
			Slow    uint64 `json:"slow_waits"`
			Devices []struct {
				Device    string
				Processes []process
			}
		}
	}
	if err := json.Unmarshal([]byte(r.out), &doc); err != nil {
		t.Fatalf("%v: %s%s", err, r.out, r.err)
	}
	v := doc.Victim
	if v.PID != victim.PID() || v.Waits < 300 || v.Slow < v.Waits/10 || v.Slow > v.Waits/10+1 || len(v.Devices) != 1 || v.Devices[0].Device != device.Name {
		t.Fatalf("%+v: %s", v, r.err)
	}
	test := filepath.Base(os.Args[0])
	reader := false
	for _, p := range doc.Processes {
		reader = reader || strings.HasPrefix(test, p.Comm) && p.PID != victim.PID() && p.Requests >= 200
	}
	seen := map[string]uint64{}
	for _, p := range v.Devices[0].Processes {
		seen[p.Comm] += p.DeviceNS
		if strings.HasPrefix(test, p.Comm) && !p.Itself {
			t.Errorf("it had no request then: %+v", p)
		}
	}
	t.Logf("reader among all %v; %+v", reader, v)
	if !reader || seen["dd"] == 0 {
		t.Errorf("reader told %v; while it was slow: %v", reader, seen)
	}
}
