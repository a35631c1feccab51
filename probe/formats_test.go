// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/iowitness/iowitness/lab"
	"github.com/iowitness/iowitness/lab/fact"
	"github.com/iowitness/iowitness/tracefs"
)

// recordedEvents are those of which format files are kept, as the lab's kernels have them.
var recordedEvents = []struct{ group, name string }{
	{"sched", "sched_switch"},
	{"sched", "sched_waking"},
	{"sched", "sched_process_fork"},
	{"sched", "sched_process_exit"},
	{"sched", "sched_process_exec"},
	{"sched", "sched_process_free"},
	{"sched", "sched_wakeup_new"},
	{"task", "task_newtask"},
	{"raw_syscalls", "sys_enter"},
	{"raw_syscalls", "sys_exit"},
	{"block", "block_rq_complete"},
	{"block", "block_rq_issue"},
	{"block", "block_rq_insert"},
	{"block", "block_bio_queue"},
	{"block", "block_io_start"},
	{"block", "block_io_done"},
}

// TestFormatsOfThisKernel tells the format files, and that the plain tracepoints
// are read where this kernel has their fields.
func TestFormatsOfThisKernel(t *testing.T) {
	if !lab.Guest() {
		t.Skip("only on the lab's kernels")
	}
	at, err := tracefs.Open("/")
	if err != nil {
		t.Fatal(err)
	}
	defer at.Close()
	for _, e := range recordedEvents {
		text, err := fs.ReadFile(at.Files(), "events/"+e.group+"/"+e.name+"/format")
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		lab.Fact(t, fact.KindFormat, fact.Format{Group: e.group, Event: e.name, Text: string(text)})
	}
	for _, table := range [][]Probe{Table, ProfileTables[ProfileOffCPU], ProfileTables[ProfileRunQ], syscallPoints} {
		if err := placeFields(at, table, map[string]any{}); err != nil {
			t.Error(err)
		}
	}
}

// TestFormatsOfTheLabsKernels (cases E5, E6): fields move and events come and go,
// also within a line of stable kernels; what is read is looked up, by no version.
func TestFormatsOfTheLabsKernels(t *testing.T) {
	lines, err := filepath.Glob("testdata/formats/*")
	if err != nil || len(lines) < 5 {
		t.Fatalf("formats of %q: %v", lines, err)
	}
	recorded := map[string]int{}
	for _, dir := range lines {
		formats := map[string]*tracefs.Format{}
		for _, e := range recordedEvents {
			text, err := os.ReadFile(filepath.Join(dir, e.name+".format"))
			if errors.Is(err, os.ErrNotExist) {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			if formats[e.name], err = tracefs.ParseFormat(string(text)); err != nil {
				t.Errorf("%s of %s: %v", e.name, dir, err)
			}
		}
		for _, want := range eventFields {
			if formats[want.name] == nil {
				continue // of some kernels fewer events were recorded
			}
			recorded[want.name+" "+want.field]++
			if err := want.place(formats[want.name], map[string]any{}); err != nil {
				t.Errorf("%s: %v", dir, err)
			}
		}
		_, started := formats["block_io_start"]
		if line := filepath.Base(dir); started == (line == "5.10" || line == "6.1") {
			t.Errorf("%s has block_io_start: %v", dir, started)
		}
	}
	for _, want := range eventFields {
		if recorded[want.name+" "+want.field] == 0 {
			t.Errorf("%s of %s was recorded of no kernel", want.field, want.name)
		}
	}
}
