// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/iowitness/iowitness/lab"
)

// fsDocument is what tests read of the JSON output.
type fsDocument struct {
	Mounts []struct {
		Mount      string
		FSType     string
		Device     string
		Gone       bool
		Operations []fsCallDoc
		Sync       *fsSyncDoc
		Journal    *struct {
			Commits   uint64
			LoggingNS uint64 `json:"logging_ns"`
		}
		Flushes *struct {
			Device string
			Count  uint64
		}
	}
	Files    []fsFileDoc
	UnderWay []struct {
		Operation, File, Cause string
		PID                    uint32
		AgeNS                  uint64 `json:"age_ns"`
	} `json:"under_way"`
	Compared *struct {
		Operations []struct {
			Operation string
			ACount    uint64   `json:"a_count"`
			BCount    uint64   `json:"b_count"`
			Ratio     *float64 `json:"ratio"`
		}
		SyncParts []struct {
			Part string
			A    uint64 `json:"a_ns"`
			B    uint64 `json:"b_ns"`
		} `json:"sync_parts"`
	}
	Lost  map[string]lossDoc
	Notes []string
}

type fsFileDoc struct {
	fsCallDoc
	File, Mount, Comm string
	PID               uint32
	Others            int
	Sync              *fsSyncDoc
}

type fsCallDoc struct {
	Operation    string
	Count, Bytes uint64
	TotalNS      uint64 `json:"total_ns"`
}

type fsSyncDoc struct {
	Calls        uint64
	TotalNS      uint64 `json:"total_ns"`
	RunQueue     uint64 `json:"run_queue_ns"`
	OnCPU        uint64 `json:"on_cpu_ns"`
	Unattributed uint64 `json:"unattributed_ns"`
	Causes       []struct {
		Cause string
		NS    uint64
	}
}

func (s *fsSyncDoc) of(causes ...string) (ns uint64) {
	for _, c := range s.Causes {
		for _, want := range causes {
			if c.Cause == want {
				ns += c.NS
			}
		}
	}
	return ns
}

// fsRun is the program while it watches.
type fsRun struct {
	t    *testing.T
	cmd  *exec.Cmd
	file string
}

// watchFS starts the program, and returns once it is attached.
func watchFS(t *testing.T, args ...string) *fsRun {
	t.Helper()
	lab.NeedRoot(t)
	r := &fsRun{t: t, file: filepath.Join(t.TempDir(), "fs.json")}
	r.cmd = exec.Command(binary, append([]string{"fs", "--json", "--for", "10m", "--max-cost", "0", "-o", r.file}, args...)...)
	r.cmd.Stderr = os.Stderr
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if r.cmd.ProcessState == nil {
			r.cmd.Process.Kill()
			r.cmd.Wait()
		}
	})
	for before, n := -1, 0; n < leastLinks || n != before; {
		time.Sleep(200 * time.Millisecond)
		before, n = n, r.links()
		if n < 0 {
			break // it has ended: end says why
		}
	}
	return r
}

// leastLinks are those without which calls are not witnessed: two iterators and four tracepoints.
const leastLinks = 6

// links counts what the program has attached; -1: it has ended.
func (r *fsRun) links() (n int) {
	dir := fmt.Sprintf("/proc/%d/fd", r.cmd.Process.Pid)
	all, err := os.ReadDir(dir)
	if err != nil || len(all) == 0 {
		return -1
	}
	for _, fd := range all {
		if to, _ := os.Readlink(filepath.Join(dir, fd.Name())); strings.Contains(to, "bpf_link") || strings.Contains(to, "bpf-link") {
			n++
		}
	}
	return n
}

// end ends the watching and gives the document.
func (r *fsRun) end() fsDocument {
	r.t.Helper()
	r.cmd.Process.Signal(syscall.SIGINT)
	if err := r.cmd.Wait(); err != nil {
		if r.cmd.ProcessState.ExitCode() == exitUnsupported && !lab.Guest() {
			r.t.Skip("not on this kernel")
		}
		r.t.Fatal(err)
	}
	b, err := os.ReadFile(r.file)
	if err != nil {
		r.t.Fatal(err)
	}
	var d fsDocument
	if err := json.Unmarshal(b, &d); err != nil {
		r.t.Fatalf("%v in %.300s", err, b)
	}
	for _, m := range d.Mounts {
		if s := m.Sync; s != nil {
			sum := s.RunQueue + s.OnCPU + s.Unattributed
			for _, c := range s.Causes {
				sum += c.NS
			}
			if sum != s.TotalNS {
				r.t.Errorf("%s: the parts of %d ns add up to %d: %+v", m.Mount, s.TotalNS, sum, s)
			}
		}
	}
	return d
}

// TestEachFileSystemIsToldAsTheWorkloadKnowsIt (case H5): counts, bytes, times, names and parts.
func TestEachFileSystemIsToldAsTheWorkloadKnowsIt(t *testing.T) {
	lab.NeedRoot(t)
	for _, k := range eachFS {
		t.Run(k.name, func(t *testing.T) {
			d, dir := mounted(t, k)
			file := filepath.Join(dir, "data")
			work := lab.Workload{Name: "files", Args: []string{file, "20", "100", "50", "60"}}
			r := watchFS(t, file[:len(file)-len("/data")])
			child := work.Start(t)
			child.Go()
			truth := child.Wait()
			doc := r.end()
			if m := doc.Mounts[0]; len(doc.Mounts) != 1 || m.Mount != dir || m.FSType != k.fstype || m.Device != d.Name || m.Gone {
				t.Fatalf("%+v", doc.Mounts)
			}
			// A preemptible kernel may not run a program for a call's begin or end: so many calls may be missing, and no more.
			skipped, missing := doc.Lost["skipped"].Count, uint64(0)
			for op, own := range truth.Calls {
				var f fsFileDoc
				for _, row := range doc.Files {
					if row.PID == child.PID() && row.Operation == op {
						f = row
					}
				}
				if f.File != file || f.Mount != dir || f.Count > uint64(own.Count) || f.Bytes != f.Count*uint64(own.Bytes/own.Count) {
					t.Errorf("%s: %+v, by the workload %+v", op, f, own)
				}
				missing += uint64(own.Count) - f.Count
				// The way into the system call and out again, which is slow where a hypervisor has a hand in it.
				slack := own.Total/20 + truth.RunQueue + time.Duration(own.Count)*10*time.Microsecond
				if took := time.Duration(f.TotalNS); op != "open" && (took > own.Total || f.Count == uint64(own.Count) && took < own.Total-slack) {
					t.Errorf("%s took %v, by the workload's clock %v", op, took, own.Total)
				}
			}
			if missing > skipped {
				t.Errorf("%d calls are not told, %d runs of a program were left out: %+v", missing, skipped, doc.Files)
			}
			m := doc.Mounts[0]
			if m.Sync == nil || m.Sync.Calls > 60 || m.Sync.Calls+skipped < 60 || m.Sync.Unattributed > m.Sync.TotalNS/20 || m.Sync.of("unknown", "not_storage") > m.Sync.TotalNS/20 {
				t.Errorf("parts: %+v", m.Sync)
			}
			if (m.Journal != nil) != (k.name == ext4Journal.name) {
				t.Errorf("journal: %+v", m.Journal)
			}
			if m.Journal != nil && (m.Journal.Commits < 1 || m.Journal.LoggingNS == 0) {
				t.Errorf("journal: %+v", m.Journal)
			}
			if m.Flushes == nil || m.Flushes.Device != d.Name || m.Flushes.Count == 0 {
				t.Errorf("flushes: %+v", m.Flushes)
			}
			for id, l := range doc.Lost {
				if l.Count > 0 && id != "no_wake" && id != "skipped" {
					t.Errorf("lost: %s %+v", id, l)
				}
			}
		})
	}
}

// TestAThrottledFsyncWaitsForItsData: the limit is on the way to the device, of the data or of the
// flush behind it, whichever comes when the share is used up.
func TestAThrottledFsyncWaitsForItsData(t *testing.T) {
	d, dir := mounted(t, ext4Plain)
	cgroup := lab.Throttle(t, d, "write_iops", 40)
	file := filepath.Join(dir, "log")
	r := watchFS(t, dir, "--comm", "limited")
	// The name is that of the shell's child: the program is run by a link of that name.
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "limited")
	if err := os.Symlink(exe, link); err != nil {
		t.Fatal(err)
	}
	child := lab.Workload{Name: "fsync", Args: []string{file, "30"}}.Start(t, func(cmd *exec.Cmd) {
		cmd.Path, cmd.Args[0] = link, link
		lab.InCgroup(cmd, cgroup)
	})
	child.Go()
	truth := child.Wait()
	doc := r.end()
	s := doc.Mounts[0].Sync
	if s == nil || s.Calls != 30 {
		t.Fatalf("%+v", doc.Mounts)
	}
	asleep, held := s.TotalNS-s.RunQueue-s.OnCPU, []string{"data_writeback", "device_flush"}
	if lab.Guest() {
		held = append(held, "metadata_write") // by cgroup v2 the limit is on what the file system writes of its own, too
	}
	if slow := uint64(truth.Total) / 2; s.TotalNS < slow || asleep < s.TotalNS/2 ||
		s.of("data_writeback", "metadata_write", "device_flush") < asleep*8/10 || s.of(held...) < asleep*3/4 {
		t.Errorf("of %v: %+v", truth.Total, s)
	}
	if f := doc.Files[0]; f.Operation != "fsync" || f.Comm != "limited" || f.File != file {
		t.Errorf("the first row is %+v", f)
	}
}

// TestWhatAJournalCosts: the same load on a file system without one and on one with it. The
// devices are slow at each write, of which a commit needs some.
func TestWhatAJournalCosts(t *testing.T) {
	plainDevice, plain := mounted(t, ext4Plain)
	journalDevice, journal := mounted(t, ext4Journal)
	lab.LimitWrites(t, plainDevice, 300)
	lab.LimitWrites(t, journalDevice, 300)
	r := watchFS(t, "--compare", plain, journal)
	for i := range 6 { // in turns: what else the machine does is the same for both
		child := lab.Workload{Name: "fsync", Args: []string{filepath.Join([]string{plain, journal}[i%2], fmt.Sprint("log", i)), "40"}}.Start(t)
		child.Go()
		child.Wait()
	}
	doc := r.end()
	if len(doc.Mounts) != 2 || doc.Mounts[0].Mount != plain || doc.Mounts[1].Mount != journal || doc.Compared == nil {
		t.Fatalf("%+v", doc)
	}
	for _, op := range doc.Compared.Operations {
		if op.ACount != op.BCount {
			t.Errorf("%s: %d and %d calls", op.Operation, op.ACount, op.BCount)
		}
		if op.Operation == "fsync" && (op.ACount != 120 || op.Ratio == nil) {
			t.Errorf("%+v", op)
		}
	}
	var a, b uint64
	commit := false
	for _, p := range doc.Compared.SyncParts {
		switch p.Part {
		case "total":
			a, b = p.A, p.B
		case "journal_commit":
			commit = p.B > p.A
		}
	}
	if a >= b || !commit {
		t.Errorf("an fsync takes %d ns without a journal, %d with it: %+v", a, b, doc.Compared.SyncParts)
	}
}

// TestACallThatHangsIsShown: a frozen file system lets no write through.
func TestACallThatHangsIsShown(t *testing.T) {
	_, dir := mounted(t, ext4Journal)
	file := filepath.Join(dir, "log")
	child := lab.Workload{Name: "fsync", Args: []string{file, "100000"}}.Start(t)
	r := watchFS(t, dir)
	child.Go()
	for size := int64(0); size == 0; time.Sleep(10 * time.Millisecond) {
		if info, err := os.Stat(file); err == nil {
			size = info.Size()
		}
	}
	if out, err := exec.Command("fsfreeze", "--freeze", dir).CombinedOutput(); err != nil {
		t.Skipf("fsfreeze: %s", out)
	}
	thaw := func() { exec.Command("fsfreeze", "--unfreeze", dir).Run() }
	defer thaw()
	time.Sleep(2 * time.Second)
	doc := r.end()
	thaw()
	child.End()
	if len(doc.UnderWay) != 1 {
		t.Fatalf("under way: %+v", doc.UnderWay)
	}
	if c := doc.UnderWay[0]; c.PID != child.PID() || c.File != file || c.AgeNS < 1.5e9 || c.AgeNS > 60e9 {
		t.Errorf("%+v", c)
	}
}

// TestAMountThatVanishes is told with what was seen of it.
func TestAMountThatVanishes(t *testing.T) {
	d := lab.Loop(t, 64)
	dir := lab.Mount(t, d, "ext4", "")
	r := watchFS(t, dir)
	if err := os.WriteFile(filepath.Join(dir, "x"), make([]byte, 5000), 0o644); err != nil {
		t.Fatal(err)
	}
	lab.Run(t, "umount", dir)
	doc := r.end()
	m := doc.Mounts[0]
	if len(doc.Mounts) != 1 || !m.Gone || m.Mount != dir || len(m.Operations) == 0 {
		t.Errorf("%+v", doc.Mounts)
	}
}

// TestOtherFileSystemsAreNotCounted: nor pipes, nor other processes than those asked for.
func TestOtherFileSystemsAreNotCounted(t *testing.T) {
	_, dir := mounted(t, ext4Plain)
	own := lab.Workload{Name: "files", Args: []string{filepath.Join(dir, "own"), "1", "5", "5", "5"}}.Start(t)
	r := watchFS(t, "--pid", fmt.Sprint(own.PID()))
	other := lab.Workload{Name: "files", Args: []string{filepath.Join(dir, "other"), "1", "5", "5", "5"}}.Start(t)
	other.Go()
	other.Wait()
	own.Go()
	own.Wait()
	for _, f := range r.end().Files {
		if f.PID != own.PID() || strings.HasPrefix(f.File, "/proc") || strings.HasPrefix(f.File, "/sys") {
			t.Errorf("%+v", f)
		}
	}
}

// TestFSSaysWhatIsNoCall: what is read through a mapping is not told, and that is said.
func TestFSSaysWhatIsNoCall(t *testing.T) {
	_, dir := mounted(t, ext4Plain)
	file := filepath.Join(dir, "mapped")
	if err := os.WriteFile(file, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	lab.DropCaches(t)
	r := watchFS(t, dir)
	child := lab.Workload{Name: "mmap", Args: []string{file}}.Start(t)
	child.Go()
	child.Wait()
	doc := r.end()
	for _, f := range doc.Files {
		if f.File == file && f.Operation == "read" {
			t.Errorf("%+v", f)
		}
	}
	if notes := strings.Join(doc.Notes, "; "); !strings.Contains(notes, "mappings") || !strings.Contains(notes, "io_uring") {
		t.Errorf("nothing is said of it: %s", notes)
	}
}

func TestFSBadInput(t *testing.T) {
	lab.NeedRoot(t)
	for _, c := range []struct {
		args   []string
		status int
		says   string
	}{
		{[]string{"/proc/self"}, exitUsage, "type proc: only ext4, xfs, btrfs and f2fs are watched"},
		{[]string{"/no/such/mount"}, exitError, "there is no"},
		{[]string{"--compare", "/"}, exitUsage, "give two mount points"},
		{[]string{"--interval", "1ms"}, exitUsage, "at least 10ms"},
		{[]string{"--interval", "0"}, exitUsage, "a duration of 0"},
		{[]string{"--for", "0s"}, exitUsage, "a duration of 0"},
		{[]string{"--top=-5"}, exitUsage, "cannot be negative"},
		{[]string{"--via", "magic"}, exitUsage, "no means"},
		{[]string{"--via", "kmod", "--for", "1s"}, exitUnsupported, "only by tp_btf or raw_tp"},
		{[]string{"--pid", "999999999", "--for", "1s"}, exitError, "no process with pid"},
		{[]string{"--btf", "/dev/null", "--for", "1s"}, exitError, "holds no BTF"},
	} {
		r := runIt(t, append([]string{"fs"}, c.args...)...)
		r.expect(t, c.status, c.says)
	}
}

// TestFSTakesAnyPathOfAMount: a file or a directory stands for its file system.
func TestFSTakesAnyPathOfAMount(t *testing.T) {
	_, dir := mounted(t, ext4Plain)
	file := filepath.Join(dir, "a file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	r := runIt(t, "fs", "--for", "200ms", file)
	if r.status == exitUnsupported {
		t.Skip(r.err)
	}
	if r.status != exitOK || !strings.Contains(r.out, dir+" (ext4 on loop") || !strings.Contains(r.out, "no calls") {
		t.Errorf("%+v", r)
	}
	if r = runIt(t, "fs", "--compare", dir, file); r.status != exitUsage || !strings.Contains(r.err, "same file system") {
		t.Errorf("%+v", r)
	}
}

// TestFSDetachesWhenItCostsTooMuch: first it leaves out causes, and says each step.
func TestFSDetachesWhenItCostsTooMuch(t *testing.T) {
	_, dir := mounted(t, ext4Plain)
	child := lab.Workload{Name: "fsync", Args: []string{filepath.Join(dir, "log"), "10000000"}}.Start(t)
	child.Go()
	defer child.End()
	r := runIt(t, "fs", "--for", "60s", "--max-cost", "0.01", dir)
	if r.status == exitUnsupported {
		t.Skip(r.err)
	}
	for _, want := range []string{"only counts and times are witnessed, no causes", "without causes, more than the 0.0% that it may: detached", "detached before its time"} {
		if !strings.Contains(r.err, want) {
			t.Errorf("not said: %q", want)
		}
	}
	if r.status != exitError || !strings.Contains(r.out, "not attributed") || !strings.Contains(r.out, "note: witnessing cost") {
		t.Errorf("%+v", r)
	}
}
