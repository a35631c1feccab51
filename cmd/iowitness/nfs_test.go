// SPDX-License-Identifier: Apache-2.0

package main

import (
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
	for _, name := range []string{"data", "other"} {
		if err := os.WriteFile(filepath.Join(export, name), make([]byte, 1<<20), 0o644); err != nil {
			t.Fatal(err)
		}
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
		{Name: "direct_read", Args: []string{file, "10"}},
		{Name: "buffered", Args: []string{file}},
	} {
		t.Run(w.Name, func(t *testing.T) {
			lab.DropCaches(t)
			cmd, truthFile := command(t, w)
			doc := witness(t, cmd, "--max-cost", "0", "--by", "process,file")
			truth := lab.ReadTruth(t, truthFile)
			var wait *waitDoc
			for i := range doc.Waits {
				if w := &doc.Waits[i]; w.PID == uint32(truth.PID) && w.File == file {
					wait = w
				}
			}
			if wait == nil {
				t.Fatalf("no waits of pid %d for %s: %+v", truth.PID, file, doc.Waits)
			}
			if wait.Cause != "nfs" || wait.Device != "nfs4 "+nfs.Source {
				t.Errorf("it waited for %s, device %q", wait.Cause, wait.Device)
			}
			t.Log(strings.Join(wait.Stack, "\n"))
			var server time.Duration
			for _, c := range wait.Causes {
				if c.Cause == "nfs" {
					server = time.Duration(c.TotalNS)
				}
			}
			// Opening the file asks the server some times more.
			each := truth.Total / time.Duration(truth.Ops)
			if least := network * time.Duration(truth.Ops); server < least || server < truth.Total*8/10 || server > truth.Total*11/10+4*each {
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
	const endless = "1000000"
	hung := map[string]*lab.Child{}
	for _, w := range []lab.Workload{
		{Name: "direct_read", Args: []string{data, endless}},
		{Name: "fsync", Args: []string{log, endless}},
		{Name: "sync", Args: []string{lab.Dir(t), endless}},
		{Name: "stat", Args: []string{filepath.Join(nfs.Dir, "other")}},
	} {
		hung[w.Name] = w.Start(t)
		if w.Name != "stat" {
			hung[w.Name].Go()
		}
	}
	awaitFile(t, log)
	resume := nfs.Stall(t)
	silent := time.Now()
	hung["stat"].Go()
	time.Sleep(2 * time.Second)
	doc := witness(t, nil, "--max-cost", "0", "--for", "1s")
	text := runIt(t, "--max-cost", "0", "--for", "1s")
	resume()
	most := time.Since(silent)
	server := "nfs4 " + nfs.Source
	for name, want := range map[string]progressDoc{
		"direct_read": {Cause: "nfs", Device: server, File: data},
		"fsync":       {Cause: "nfs", Device: server, File: log},
		"sync":        {Cause: "data_writeback", Device: server, File: log},
		"stat":        {Cause: "nfs"}, // on its way to a file that it has no descriptor of
	} {
		p := progressOf(doc, hung[name].PID())
		if p == nil {
			t.Errorf("%s is not among the waits in progress: %+v", name, doc.InProgress)
			continue
		}
		if age := time.Duration(p.AgeNS); age < time.Second || age > most {
			t.Errorf("%s waits for %v, and the server has been silent for %v", name, age, most)
		}
		if p.Cause != want.Cause || p.Device != want.Device || p.File != want.File {
			t.Errorf("%s waits for %s, device %q, file %q", name, p.Cause, p.Device, p.File)
		}
		if row := waitsOf(doc, p.PID); row != nil {
			t.Logf("%s\n%s", name, strings.Join(row.Stack, "\n"))
		}
	}
	if !strings.Contains(text.out, "wait for the NFS server in pread64 on "+server+", "+data) {
		t.Errorf("neither server nor file are told:\n%s", text.out)
	}
	for _, c := range hung {
		c.End()
	}
}

func awaitFile(t *testing.T, file string) {
	t.Helper()
	for range 600 {
		if info, err := os.Stat(file); err == nil && info.Size() > 0 {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatalf("%s is not written", file)
}
