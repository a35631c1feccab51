// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/iowitness/iowitness/lab"
)

// ofPageTables is what only a process costs: the copy of its page tables, taking them down, and copies of
// pages that are written while they are shared. Of each, functions of which one may be within another.
var ofPageTables = [][]string{{"copy_page_range", "dup_mmap", "dup_mm"}, {"exit_mmap", "__mmput", "mmput"}, {"do_wp_page", "wp_page_copy"}}

// largestOf is the time of that of the functions which has most.
func largestOf(doc *profileDoc, names []string) (most uint64) {
	for _, f := range doc.Functions {
		for _, name := range names {
			if f.Function == name || strings.HasPrefix(f.Function, name+".") {
				most = max(most, f.TotalNS)
			}
		}
	}
	return most
}

// TestJobsAsThreadsOrAsProcesses (casebook 3): threads are cheaper by far, and what makes the difference are the
// page tables, which a process gets as a copy and a thread does not.
func TestJobsAsThreadsOrAsProcesses(t *testing.T) {
	lab.NeedRoot(t)
	mib, frequency := "256", "997"
	if lab.Guest() {
		mib, frequency = "32", "199"
	}
	var told, why [2]uint64
	var truths [2]lab.Truth
	var making, late uint64 // processes: parent and child are in the function that forks
	for i, kind := range []string{"thread", "process"} {
		doc, truth := profileOf(t, lab.Workload{Name: "jobs", Args: []string{kind, "100", mib}}, "cpu", "--event", "cpu-clock", "--frequency", frequency, "--top", "0", "--max-cost", "0")
		truths[i] = truth
		for _, names := range ofPageTables {
			why[i] += largestOf(&doc, names)
		}
		making, late = largestOf(&doc, []string{"github.com/iowitness/iowitness/lab.oneProcess"}), doc.Lost["samples_late"].NS
		for _, p := range doc.Processes {
			if strings.Contains(p.Comm, "iowitness") { // children have its name
				told[i] += p.NS
			}
		}
		t.Logf("%s: %d jobs in %v, %v of CPU; told %v, %v of it for page tables; lost %+v", kind, truth.Ops, truth.Total, truth.CPU, time.Duration(told[i]), time.Duration(why[i]), doc.Lost)
	}
	if truths[1].CPU < 3*truths[0].CPU {
		t.Fatalf("by the workload's own clock threads took %v, processes %v", truths[0].CPU, truths[1].CPU)
	}
	// Both fill their memory first. Of time that a hypervisor took from a thread there are no samples; an emulated
	// machine's come late, which is told.
	if told[1]+late < told[0]+uint64(truths[1].CPU-truths[0].CPU)/3 || told[1] > told[0]+2*uint64(truths[1].CPU) {
		t.Errorf("told %v of threads, %v of processes, which cost %v more", time.Duration(told[0]), time.Duration(told[1]), truths[1].CPU-truths[0].CPU)
	}
	if why[1] < making*6/10 || why[0] > why[1]/4 {
		t.Errorf("page tables: %v of threads, %v of processes, the making of which took %v", time.Duration(why[0]), time.Duration(why[1]), time.Duration(making))
	}
}

// TestJobsWaitForACPU: runq counts each of the jobs, threads as waits of one process, processes as their own.
func TestJobsWaitForACPU(t *testing.T) {
	lab.NeedRoot(t)
	own := strings.TrimSpace(readFile(t, "/proc/self/comm")) // the workload is the test's own program
	for _, kind := range []string{"thread", "process"} {
		cmd, truthFile := command(t, lab.Workload{Name: "jobs", Args: []string{kind, "100", "16"}})
		out := filepath.Join(t.TempDir(), "out.json")
		run := exec.Command(binary, append([]string{"runq", "--json", "--top", "0", "--max-cost", "0", "-o", out, "--"}, cmd.Args...)...)
		run.Env, run.Stderr = cmd.Env, os.Stderr
		if err := run.Run(); err != nil {
			t.Fatal(err)
		}
		var doc struct {
			Processes []struct {
				PID   *uint32
				Comm  string
				Woken struct {
					Count   uint64
					TotalNS uint64 `json:"total_ns"`
				}
			}
			Lost map[string]struct{ Count uint64 }
		}
		if err := json.Unmarshal([]byte(readFile(t, out)), &doc); err != nil {
			t.Fatal(err)
		}
		truth := lab.ReadTruth(t, truthFile)
		var parent, others uint64
		var processes int
		for _, p := range doc.Processes {
			switch {
			case p.PID != nil && *p.PID == uint32(truth.PID):
				parent += p.Woken.Count
			case p.Comm == own && p.Woken.Count > 0:
				others += p.Woken.Count
				processes++
			}
		}
		t.Logf("%s: %d waits of its own, %d of %d processes that it made", kind, parent, others, processes)
		unseen := int(doc.Lost["no_end"].Count) // such a wait may have been a process's only one
		if kind == "thread" && (parent < 100 || processes > 2) || kind == "process" && (processes+unseen < 100 || processes > 102) {
			t.Errorf("%s: %d waits of its own, %d of %d others", kind, parent, others, processes)
		}
	}
}

// TestJobsByTheirCalls: each job is made by one call of copy_process, and only processes have memory of their own to
// take down. That, and letting go of files, comes when a thread has ended, so far as the kernel tells of that: its calls are seen to the last, by BPF
// and without.
func TestJobsByTheirCalls(t *testing.T) {
	needProbes(t)
	t.Run("preferred", func(t *testing.T) { jobsByTheirCalls(t) })
	t.Run("tracefs", func(t *testing.T) { jobsByTheirCalls(t, "--via", "tracefs") })
}

func jobsByTheirCalls(t *testing.T, args ...string) {
	median := map[string]uint64{} // some threads lose their CPU within the call
	for _, kind := range []string{"thread", "process"} {
		cmd, truthFile := command(t, lab.Workload{Name: "jobs", Args: []string{kind, "100", "64"}})
		for _, v := range cmd.Env {
			if name, value, _ := strings.Cut(v, "="); strings.HasPrefix(name, "IOWITNESS_") || name == "GODEBUG" {
				t.Setenv(name, value)
			}
		}
		d := funcDocument(t, slices.Concat([]string{"copy_process", "exit_mmap", "exit_files", "--max-cost", "0"}, args, []string{"--"}, cmd.Args)...)
		counts := map[string]uint64{}
		for _, r := range d.Rows {
			counts[r.Function] += r.Count
			if r.Function == "copy_process" {
				median[kind] = r.MedianNS
			}
		}
		truth := lab.ReadTruth(t, truthFile)
		t.Logf("%s: %v, %d ns for a copy_process; %v by its own clock; %d under way, lost %v", kind, counts, median[kind], truth.Total, d.UnderWay, d.Lost)
		// The Go runtime makes some threads, too. The command itself is followed, but made by nobody who is; so is
		// the thread that was its first, if another one made the program of it.
		if made, ended := counts["copy_process"], counts["exit_files"]; made < 100 || made > 125 || ended < made+1 || ended > made+2 {
			t.Errorf("%s: %v", kind, counts)
		}
		if n := counts["exit_mmap"]; kind == "thread" && n > 3 || kind == "process" && (n < 100 || n > 103) {
			t.Errorf("%s: %v", kind, counts)
		}
	}
	if median["process"] < 2*median["thread"] {
		t.Errorf("copy_process took %d ns of a process, %d of a thread", median["process"], median["thread"])
	}
}

// TestCopyingByCallsOrMappings (casebook 4): the report about the command, and fs, explain the difference: the
// calls of small blocks, the faults of mappings, and what each waited for.
func TestCopyingByCallsOrMappings(t *testing.T) {
	const mib = 16
	device := lab.Loop(t, 400)
	if lab.Guest() { // where an emulated processor is so slow that it would be ready before anybody sleeps
		device = lab.DMDelay(t, device, 2*time.Millisecond)
	}
	dir := lab.Mount(t, device, ext4Plain.fstype, ext4Plain.options, ext4Plain.mkfs...)
	from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
	fill(t, from, mib)
	sizes := []int{1 << 10, 64 << 10, 4 << 20}
	if lab.Guest() {
		sizes = []int{4 << 10, 4 << 20}
	}
	sys := map[string]uint64{}
	for _, how := range []string{"calls", "mapped"} {
		for _, size := range sizes {
			name := fmt.Sprintf("%s of %d KiB", how, size>>10)
			t.Run(name, func(t *testing.T) {
				lab.DropCaches(t)
				cmd, truthFile := command(t, lab.Workload{Name: "copy", Args: []string{from, to, how, fmt.Sprint(size)}})
				calls := watchFS(t, dir)
				doc := witness(t, cmd, "--by", "cause,file", "--max-cost", "0")
				truth := lab.ReadTruth(t, truthFile)
				counted := calls.end()
				sys[name] = doc.Command.SysNS

				faults := doc.Command.MinorFaults + doc.Command.MajorFaults
				if own := uint64(truth.MinorFaults + truth.MajorFaults); faults < own || faults > own+5000 || doc.Command.MajorFaults < uint64(truth.MajorFaults) {
					t.Errorf("%d faults, %d with I/O; by the workload %+v", faults, doc.Command.MajorFaults, truth)
				}
				// A fault maps up to 64 KiB of what is read and is cached; of what is written, new kernels map what lies together.
				if own := truth.MinorFaults + truth.MajorFaults; how == "mapped" && (own < mib<<20/(64<<10) || truth.MajorFaults == 0 || truth.Calls["read"].Count != 0) {
					t.Errorf("%d minor and %d major faults", truth.MinorFaults, truth.MajorFaults)
				}
				missing := uint64(0) // so many as runs of a program were left out, as a preemptible kernel does
				for op, own := range truth.Calls {
					var n, bytes uint64
					for _, f := range counted.Files {
						if f.PID == uint32(truth.PID) && f.Operation == op && (f.File == from || f.File == to) {
							n, bytes = n+f.Count, bytes+f.Bytes
						}
					}
					missing += uint64(own.Count) - n
					if n > uint64(own.Count) || bytes > uint64(own.Bytes) || uint64(own.Bytes)-bytes > (uint64(own.Count)-n)*uint64(size) {
						t.Errorf("%s: %d calls, %d bytes; by the workload %+v", op, n, bytes, own)
					}
				}
				if skipped := counted.Lost["skipped"].Count; missing > skipped {
					t.Errorf("%d calls are not told, and %d runs of a program were left out", missing, skipped)
				}
				// How often, not how long: a quick device may be done before the thread sleeps.
				reads, mapped := waitsFor(doc, "page_cache_read", from), waitsFor(doc, "page_fault_read", from)
				t.Logf("%v by its clock; sys %.1f ms, faults %d (%d with I/O), calls %+v %+v, %d waits in read, %d in faults",
					truth.Total, ms(doc.Command.SysNS), faults, doc.Command.MajorFaults, truth.Calls["read"], truth.Calls["write"], reads, mapped)
				if how == "calls" && (reads == 0 || mapped > 0) || how == "mapped" && (mapped == 0 || reads > 0) {
					t.Errorf("%d waits in reads, %d in faults: %+v", reads, mapped, doc.Waits)
				}
			})
		}
	}
	small, large := sys[fmt.Sprintf("calls of %d KiB", sizes[0]>>10)], sys[fmt.Sprintf("calls of %d KiB", sizes[len(sizes)-1]>>10)]
	t.Logf("in the kernel: %.1f ms by small calls, %.1f ms by large ones", ms(small), ms(large))
}

// waitsFor is how often a cause was waited for on a file.
func waitsFor(doc document, cause, file string) (n uint64) {
	for _, w := range doc.Waits {
		if w.Cause == cause && w.File == file {
			n += w.Count
		}
	}
	return n
}
