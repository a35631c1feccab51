// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/iowitness/iowitness/lab"
)

// overNFS exports a file system whose disk takes its time, with a file on it, and mounts it.
func overNFS(t *testing.T, disk, network time.Duration) *lab.NFS {
	t.Helper()
	export := lab.Mount(t, lab.DMDelay(t, lab.Loop(t, 64), disk), "ext4", "")
	if err := os.WriteFile(filepath.Join(export, "data"), make([]byte, 2<<20), 0o644); err != nil {
		t.Fatal(err)
	}
	return lab.MountNFS(t, export, network)
}

// TestReadsOverNFSAreTold (case H1): what a reader waits for is the server, by
// name, whichever of the server's parts is slow.
func TestReadsOverNFSAreTold(t *testing.T) {
	lab.NeedRoot(t)
	const network = 20 * time.Millisecond
	nfs := overNFS(t, 10*time.Millisecond, network)
	file := filepath.Join(nfs.Dir, "data")
	for _, w := range []lab.Workload{
		{Name: "direct_read", Args: []string{file, "20"}},
		{Name: "buffered", Args: []string{file}},
	} {
		t.Run(w.Name, func(t *testing.T) {
			lab.DropCaches(t)
			cmd, truthFile := command(t, w)
			doc := witness(t, cmd, "--max-cost", "0")
			truth := lab.ReadTruth(t, truthFile)
			wait := waitsOf(doc, uint32(truth.PID))
			if wait == nil {
				t.Fatalf("no waits of pid %d: %+v", truth.PID, doc.Waits)
			}
			if wait.Cause != "nfs" || wait.Device != "nfs4 "+nfs.Source || wait.File != file {
				t.Errorf("it waited for %s, device %q, file %q", wait.Cause, wait.Device, wait.File)
			}
			var server time.Duration
			for _, c := range wait.Causes {
				if c.Cause == "nfs" {
					server = time.Duration(c.TotalNS)
				}
			}
			if least := network * time.Duration(truth.Ops); server < least || server < truth.Total*8/10 || server > truth.Total*11/10 {
				t.Errorf("it waited %v for the server, of %v in %d reads", server, truth.Total, truth.Ops)
			}
		})
	}
}

// TestASilentNFSServerIsNamed (case H1): who hangs on a mount whose server
// answers nothing, and who behind them, while it lasts.
func TestASilentNFSServerIsNamed(t *testing.T) {
	lab.NeedRoot(t)
	nfs := overNFS(t, time.Millisecond, 0)
	data, log := filepath.Join(nfs.Dir, "data"), filepath.Join(nfs.Dir, "log")
	hung := map[string]*lab.Child{}
	resume := nfs.Stall()
	for _, w := range []lab.Workload{
		{Name: "stat", Args: []string{filepath.Join(nfs.Dir, "other")}},
		{Name: "direct_read", Args: []string{data, "1"}},
		{Name: "buffered", Args: []string{data}},
		{Name: "fsync", Args: []string{log, "1"}},
		{Name: "sync", Args: []string{lab.Dir(t), "1"}},
	} {
		hung[w.Name] = w.Start(t)
		hung[w.Name].Go()
	}
	time.Sleep(3 * time.Second)
	for name, c := range hung {
		t.Logf("%s:\n%s", name, stacksOf(c.PID()))
	}
	text := runIt(t, "--max-cost", "0", "--for", "1s", "--stacks")
	json := runIt(t, "--max-cost", "0", "--for", "1s", "--json")
	resume()
	t.Log(text.out, text.err)
	t.Log(json.out, json.err)
	for _, c := range hung {
		c.Wait()
	}
}

func stacksOf(pid uint32) string {
	var text strings.Builder
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stack", pid))
	for _, task := range tasks {
		stack, _ := os.ReadFile(task)
		if !strings.Contains(string(stack), "futex") && !strings.Contains(string(stack), "epoll") {
			text.Write(append(stack, '\n'))
		}
	}
	return text.String()
}
