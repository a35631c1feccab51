// SPDX-License-Identifier: Apache-2.0

package main

import (
	stdcsv "encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/iowitness/iowitness/lab"
)

// requestLine is what the tests read of a line of block --json.
type requestLine struct {
	Comm, Type, Device, Disk, Cgroup, File string
	PID                                    uint32 `json:"pid"`
	Sector, Bytes, Depth                   uint64
	QueueNS                                *uint64 `json:"queue_ns"`
	DeviceNS                               *uint64 `json:"device_ns"`
	TimeNS                                 uint64  `json:"time_ns"`
	TotalNS                                uint64  `json:"total_ns"`
	WaitTID                                uint32  `json:"wait_tid"`
	WaitNS                                 *uint64 `json:"wait_ns"`
	Error                                  *int32
	CarrierComm                            string `json:"carrier_comm"`
	Requeues                               uint64
	Uncharged                              bool
	Split                                  bool
}

func parseLines(t *testing.T, text string) (lines []requestLine) {
	t.Helper()
	for line := range strings.Lines(text) {
		var l requestLine
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		lines = append(lines, l)
	}
	return lines
}

// blockAround watches requests while a workload runs, and gives what was told.
func blockAround(t *testing.T, work func(), flags ...string) ran {
	t.Helper()
	lab.NeedRoot(t)
	out := filepath.Join(t.TempDir(), "requests")
	if !slices.Contains(flags, "--max-cost") { // of a slow machine it may be much
		flags = append([]string{"--max-cost", "0"}, flags...)
	}
	cmd := exec.Command(binary, append([]string{"block", "-o", out}, flags...)...)
	var errs strings.Builder
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	waitUntilOpen(t, cmd.Process.Pid)
	work()
	time.Sleep(300 * time.Millisecond)
	cmd.Process.Signal(os.Interrupt)
	cmd.Wait()
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatalf("%v; %s", err, errs.String())
	}
	return ran{cmd.ProcessState.ExitCode(), string(text), errs.String()}
}

// TestBlockLines: each direct read is a line with its owner, times and the wait that it
// ended; lines come in the order of time.
func TestBlockLines(t *testing.T) {
	const reads = 400
	lab.NeedRoot(t)
	device := lab.Waiting(t)
	var truth lab.Truth
	var pid uint32
	r := blockAround(t, func() {
		child := lab.Workload{Name: "direct_read", Args: []string{device.Path, strconv.Itoa(reads)}}.Start(t)
		child.Go()
		pid, truth = child.PID(), child.Wait()
	}, "--json", "--device", device.Name)
	lines := parseLines(t, r.out)
	n, joined, last, total := 0, 0, uint64(0), uint64(0)
	for _, l := range lines {
		if l.TimeNS < last {
			t.Errorf("out of order: %+v", l)
		}
		last = l.TimeNS
		if l.PID != pid {
			continue
		}
		n++
		total += l.TotalNS
		if l.QueueNS == nil || l.DeviceNS == nil || *l.QueueNS+*l.DeviceNS != l.TotalNS || l.Error == nil || *l.Error != 0 ||
			l.Bytes != 4096 || l.Device != device.Name || !strings.HasPrefix(l.Type, "R") || l.CarrierComm != "" {
			t.Errorf("%+v", l)
		}
		if l.WaitTID == pid && l.WaitNS != nil {
			joined++
		}
	}
	t.Logf("%d lines, %d joined, %v of %v; %s", n, joined, time.Duration(total), truth.Total, r.err)
	if n != reads || joined < reads*95/100 {
		t.Errorf("%d lines of %d reads, %d of them joined to the wait they ended", n, reads, joined)
	}
	if time.Duration(total) > truth.Total {
		t.Errorf("requests took %v in reads of %v", time.Duration(total), truth.Total)
	}
	if !strings.Contains(r.err, fmt.Sprintf("%d requests told", len(lines))) {
		t.Errorf("the foot: %s", r.err)
	}
}

// TestOwnersAcrossContexts (cases A5, A6, A7, K3): with an I/O scheduler, whoever issues and
// whoever is interrupted by the completion, the owner submitted it; a filter by
// process takes it by its owner.
func TestOwnersAcrossContexts(t *testing.T) {
	lab.NeedRoot(t)
	device := lab.Loop(t, 64)
	lab.SetQueue(t, device, "scheduler", "mq-deadline")
	lab.SetQueue(t, device, "max_sectors_kb", "64")
	child := lab.Workload{Name: "threads", Args: []string{device.Path, "16", "60"}}.Start(t)
	r := blockAround(t, func() {
		other := lab.Workload{Name: "direct_read", Args: []string{device.Path, "50"}}.Start(t)
		other.Go()
		child.Go()
		child.Wait()
		other.Wait()
	}, "--json", "--device", device.Name, "--pid", fmt.Sprint(child.PID()))
	lines := parseLines(t, r.out)
	for _, l := range lines {
		if l.PID != child.PID() || l.Comm == "" {
			t.Errorf("%+v", l)
		}
	}
	if len(lines) != 16*60 {
		t.Errorf("%d lines of %d reads: %s", len(lines), 16*60, r.err)
	}
}

// TestLargeWritesAreSplitAndKeepTheirOwner (case K2): whatever the number of issues, each part is
// told once, and all bytes are the writer's.
func TestLargeWritesAreSplitAndKeepTheirOwner(t *testing.T) {
	const mib = 8
	lab.NeedRoot(t)
	device := lab.Loop(t, 64)
	lab.SetQueue(t, device, "max_sectors_kb", "128")
	r := blockAround(t, func() {
		lab.Run(t, "dd", "if=/dev/zero", "of="+device.Path, "bs=1M", fmt.Sprintf("count=%d", mib), "oflag=direct")
	}, "--json", "--device", device.Name, "--op", "write")
	var bytes uint64
	split := 0
	at := map[uint64]bool{}
	for _, l := range parseLines(t, r.out) {
		if l.Comm != "dd" {
			t.Errorf("%+v", l)
		}
		if at[l.Sector] {
			t.Errorf("told twice: %+v", l)
		}
		at[l.Sector] = true
		bytes += l.Bytes
		if l.Split {
			split++
		}
	}
	if bytes != mib<<20 || split != mib*8 {
		t.Errorf("%d bytes of %d in %d parts, %d of them known as such", bytes, mib<<20, len(at), split)
	}
}

var (
	footLost   = regexp.MustCompile(`(\d+) request lines lost`)
	footUnseen = regexp.MustCompile(`(\d+) requests not told: their completion was not seen`)
	footOpen   = regexp.MustCompile(`(\d+) still under way`)
)

// toldBy is the number of which the foot tells, 0 if it does not.
func toldBy(foot *regexp.Regexp, text string) int {
	m := foot.FindStringSubmatch(text)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(m[1])
	return n
}

// TestLostLinesAreCountedExactly (case C1): lines and losses add up to what completed, and to
// what did unseen: a machine under load may keep completions from every program.
func TestLostLinesAreCountedExactly(t *testing.T) {
	const threads, each = 8, 4000
	lab.NeedRoot(t)
	device := lab.Loop(t, 64)
	r := blockAround(t, func() {
		child := lab.Workload{Name: "threads", Args: []string{device.Path, strconv.Itoa(threads), strconv.Itoa(each)}}.Start(t)
		child.Go()
		child.Wait()
	}, "--csv", "--device", device.Name, "--buffer", "16", "--op", "read", "--max-cost", "0")
	records, err := stdcsv.NewReader(strings.NewReader(r.out)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	lost, unseen, open := toldBy(footLost, r.err), toldBy(footUnseen, r.err), toldBy(footOpen, r.err)
	t.Logf("%d lines, %d lost, %d unseen, %d under way", len(records)-1, lost, unseen, open)
	if lost == 0 {
		t.Errorf("nothing is lost in a ring of 16 KiB: %s", r.err)
	}
	if got := len(records) - 1 + lost; got+unseen+open < threads*each || got > threads*each+50 || unseen > threads*each/100 {
		t.Errorf("%d lines and %d lost of %d reads: %s", len(records)-1, lost, threads*each, r.err)
	}
}

// loopWithPartitions is a loop device of 16 MiB with two partitions of 4 MiB, at 4 and 8 MiB.
func loopWithPartitions(t *testing.T) (disk, first, second lab.Device) {
	lab.NeedRoot(t)
	disk = lab.Loop(t, 16)
	return disk, lab.Partition(t, disk, 1, 4, 4), lab.Partition(t, disk, 2, 8, 4)
}

// readDirectly reads 4 KiB so many times from the begin of a device.
func readDirectly(t *testing.T, d lab.Device, times int) {
	t.Helper()
	lab.Run(t, "dd", "if="+d.Path, "of=/dev/null", "bs=4k", fmt.Sprintf("count=%d", times), "iflag=direct")
}

// TestPartitionsHaveTheirOwnName (case A9).
func TestPartitionsHaveTheirOwnName(t *testing.T) {
	disk, first, second := loopWithPartitions(t)
	r := blockAround(t, func() {
		readDirectly(t, second, 5)
		readDirectly(t, first, 3)
	}, "--json", "--device", second.Name)
	n := 0
	for _, l := range parseLines(t, r.out) {
		if l.Comm != "dd" {
			continue
		}
		n++
		if l.Device != second.Name || l.Disk != disk.Name || l.Sector < 16384 {
			t.Errorf("%+v", l)
		}
	}
	if n != 5 {
		t.Errorf("%d requests of the second partition: %s", n, r.err)
	}
}

// TestSummaryTellsWhoTouchesAPartition (case A9): rows and issuers by partition, beside those of
// the disk.
func TestSummaryTellsWhoTouchesAPartition(t *testing.T) {
	disk, first, second := loopWithPartitions(t)
	name := disk.Name
	work := func() {
		readDirectly(t, first, 3)
		readDirectly(t, second, 5)
		readDirectly(t, disk, 7)
	}
	r := blockAround(t, work, "--summary", "--json", "--device", name, "--comm", "dd", "--op", "read")
	type row struct {
		Device, Disk string
		Requests     uint64
	}
	var doc struct {
		Devices, Partitions []row
		Issuers             []struct {
			Device    string
			Processes []struct{ Comm string }
		}
	}
	if err := json.Unmarshal([]byte(r.out), &doc); err != nil {
		t.Fatalf("%v: %s", err, r.out)
	}
	counts := map[row]bool{}
	for _, p := range append(doc.Devices, doc.Partitions...) {
		counts[p] = true
	}
	for _, want := range []row{{name, "", 15}, {name + "p1", name, 3}, {name + "p2", name, 5}} {
		if !counts[want] {
			t.Errorf("no %+v in %+v", want, doc)
		}
	}
	if len(doc.Issuers) != 3 || len(doc.Issuers[2].Processes) == 0 || doc.Issuers[2].Processes[0].Comm != "dd" {
		t.Errorf("%+v", doc.Issuers)
	}
	text := blockAround(t, work, "--summary", "--device", name, "--comm", "dd")
	for _, want := range []string{"PARTITIONS", "WHO HAD THE PARTITION", name + "p2: dd (pid "} {
		if !strings.Contains(text.out, want) {
			t.Errorf("no %q in\n%s", want, text.out)
		}
	}
}

// TestBlockSummaryTellsWhoSharedTheDevice (case H14), in a document and in text.
func TestBlockSummaryTellsWhoSharedTheDevice(t *testing.T) {
	lab.NeedRoot(t)
	device := lab.Loop(t, 64)
	work := func() {
		a := lab.Workload{Name: "direct_read", Args: []string{device.Path, "200"}}.Start(t)
		b := lab.Workload{Name: "direct_write", Args: []string{device.Path, "300"}}.Start(t)
		a.Go()
		b.Go()
		a.Wait()
		b.Wait()
	}
	r := blockAround(t, work, "--summary", "--json", "--device", device.Name)
	var doc struct {
		Ops []struct {
			Op       string
			Requests uint64
		}
		Losses struct{ Started, Completed uint64 }
	}
	if err := json.Unmarshal([]byte(r.out), &doc); err != nil {
		t.Fatalf("%v: %s", err, r.out)
	}
	ops := map[string]uint64{}
	for _, o := range doc.Ops {
		ops[o.Op] = o.Requests
	}
	if ops["read"] < 200 || ops["read"] > 220 || ops["write"] != 300 {
		t.Errorf("%+v", doc)
	}
	text := blockAround(t, work, "--summary", "--heatmap", "--device", device.Name)
	for _, want := range []string{"WHO SHARED THE DEVICE", "PHASES", "Q→G", "HEAT MAP", device.Name, "started "} {
		if !strings.Contains(text.out, want) {
			t.Errorf("no %q in\n%s", want, text.out)
		}
	}
}

// TestWhatRunsSilentlySaysSo: to a person at a terminal, of output that goes elsewhere or comes at the end.
func TestWhatRunsSilentlySaysSo(t *testing.T) {
	lab.NeedRoot(t)
	if _, err := exec.LookPath("script"); err != nil {
		t.Skip("script is not installed")
	}
	for args, what := range map[string]string{
		"block --json --for 1s > /dev/null":    "watching block requests until ",
		"block --csv --for 1s > /dev/null":     "watching block requests until ",
		"block --summary --for 1s > /dev/null": "watching block requests until ",
		"fs --json --for 1s > /dev/null":       "watching calls to file systems until ",
		"--json --for 1s > /dev/null":          "watching waits until ",
	} {
		if r := runCmd(t, exec.Command("script", "-qec", binary+" "+args, "/dev/null")); !strings.Contains(r.out, what) {
			t.Errorf("%s: %q", args, r.out)
		}
	}
	if r := runIt(t, "block", "--json", "--for", "300ms"); strings.Contains(r.err, "watching") {
		t.Errorf("where nobody looks: %s", r.err)
	}
}

// TestBlockRefusesInOneSentence: each mistake has its sentence and status.
func TestBlockRefusesInOneSentence(t *testing.T) {
	lab.NeedRoot(t)
	empty, broken := filepath.Join(t.TempDir(), "empty"), filepath.Join(t.TempDir(), "broken")
	os.WriteFile(empty, nil, 0o600)
	os.WriteFile(broken, []byte("no trace\nat all\n"), 0o600)
	for _, c := range []struct {
		args   string
		status int
		says   string
	}{
		{"--device no-such-disk", exitUsage, "there is no device"},
		{"--device loop", exitUsage, "near: loop"},
		{"--device /etc/passwd", exitUsage, "is no block device"},
		{"--pid 4194303", exitError, "no process with pid 4194303"},
		{"--import=", exitUsage, "its value is empty"},
		{"--device=", exitUsage, "its value is empty"},
		{"--op sleep", exitUsage, "no operation"},
		{"--buffer 5", exitUsage, "no power of two"},
		{"--heatmap", exitUsage, "goes with --summary"},
		{"--csv --json", exitUsage, ""},
		{"--for=-1s", exitUsage, "negative"},
		{"--for 0s", exitUsage, "--for: a duration of 0"},
		{"--interval 0", exitUsage, "--interval: a duration of 0"},
		{"--interval soon", exitUsage, "is no duration"},
		{"--via kmod", exitUsage, "tp_btf or raw_tp"},
		{"--via nonsense", exitUsage, "no means"},
		{"--cgroup /no/such/group", exitUsage, "no cgroup"},
		{"--columns nonsense", exitUsage, ""},
		{"--import " + empty, exitError, ""},
		{"--import " + broken, exitError, ""},
		{"--import /no/such/file", exitError, "neither such a file"},
		{"--import " + broken + " --for 1s", exitUsage, "does not go"},
		{"--import " + broken + " --via tp_btf", exitUsage, "do not go"},
	} {
		r := runIt(t, append([]string{"block"}, strings.Fields(c.args)...)...)
		if r.status != c.status && !(strings.Contains(c.says, "not go") && r.status == exitUsage) {
			t.Errorf("%s: status %d: %s", c.args, r.status, r.err)
		}
		if c.says != "does not go" && !strings.Contains(r.err, c.says) || r.err == "" {
			t.Errorf("%s: %s", c.args, r.err)
		}
	}
}

// TestBlockWithNowhereToWrite: a full disk is said, and everything is detached.
func TestBlockWithNowhereToWrite(t *testing.T) {
	lab.NeedRoot(t)
	device := lab.Loop(t, 16)
	cmd := exec.Command(binary, "block", "--csv", "-o", "/dev/full", "--device", device.Name, "--for", "20s")
	var errs strings.Builder
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waitUntilOpen(t, cmd.Process.Pid)
	child := lab.Workload{Name: "direct_read", Args: []string{device.Path, "200"}}.Start(t)
	child.Go()
	child.Wait()
	begun := time.Now()
	cmd.Wait()
	if cmd.ProcessState.ExitCode() != exitError || !strings.Contains(errs.String(), unix.ENOSPC.Error()) || time.Since(begun) > 10*time.Second {
		t.Errorf("after %v with status %d: %s", time.Since(begun), cmd.ProcessState.ExitCode(), errs.String())
	}
}

// TestADeviceThatVanishes during a run ends nothing.
func TestADeviceThatVanishes(t *testing.T) {
	lab.NeedRoot(t)
	image := filepath.Join(lab.Dir(t), "gone.img")
	if err := os.WriteFile(image, make([]byte, 8<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	path := lab.Run(t, "losetup", "--find", "--show", image)
	r := blockAround(t, func() {
		lab.Run(t, "dd", "if="+path, "of=/dev/null", "bs=4k", "count=20", "iflag=direct")
		lab.Run(t, "losetup", "--detach", path)
		time.Sleep(1500 * time.Millisecond)
	}, "--json", "--device", filepath.Base(path))
	n := 0
	for _, l := range parseLines(t, r.out) {
		if l.Comm == "dd" {
			n++
		}
	}
	if r.status != exitOK || n != 20 {
		t.Errorf("status %d, %d lines: %s", r.status, n, r.err)
	}
}

// TestImportOfTheFieldsRecordings (cases K1, K2): of the one all requests complete, of the other none is
// told as hung.
func TestImportOfTheFieldsRecordings(t *testing.T) {
	testdata := filepath.Join("..", "..", "blktrace", "testdata")
	files, _ := filepath.Glob(filepath.Join(testdata, "*dd_direct*"))
	if len(files) != 1 {
		t.Fatalf("%v", files)
	}
	r := runIt(t, "block", "--import", files[0], "--json")
	lines := parseLines(t, r.out)
	if r.status != exitOK || len(lines) != 36 {
		t.Errorf("status %d, %d lines: %s", r.status, len(lines), r.err)
	}
	for _, l := range lines {
		if l.DeviceNS == nil || l.Comm == "" || l.Comm == "swapper" {
			t.Errorf("%+v", l)
		}
	}
	files, _ = filepath.Glob(filepath.Join(testdata, "*no_completions*"))
	if len(files) != 1 {
		t.Fatalf("%v", files)
	}
	r = runIt(t, "block", "--import", files[0], "--summary")
	if r.status != exitOK || !strings.Contains(r.out, "16 requests without a completion") {
		t.Errorf("status %d: %s%s", r.status, r.out, r.err)
	}
}
