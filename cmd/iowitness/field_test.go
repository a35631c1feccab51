// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/iowitness/iowitness/lab"
)

// while runs the program for a time while a workload goes on, and gives its document.
func while(t *testing.T, c *lab.Child, args ...string) document {
	t.Helper()
	c.Go()
	time.Sleep(300 * time.Millisecond)
	r := runIt(t, append(args, "--json")...)
	if r.status != exitOK {
		t.Fatalf("%+v", r)
	}
	return parseDocument(t, []byte(r.out))
}

func progressOf(doc document, pid uint32) *progressDoc {
	for i := range doc.InProgress {
		if doc.InProgress[i].PID == pid {
			return &doc.InProgress[i]
		}
	}
	return nil
}

// TestAStuckThreadIsShownWhileItIsStuck (case H2): a FUSE daemon that never
// answers; the wait began before the tool did, and no iowait is charged for it.
func TestAStuckThreadIsShownWhileItIsStuck(t *testing.T) {
	lab.NeedRoot(t)
	c := lab.StuckStat(t)
	time.Sleep(time.Second)
	doc := while(t, c, "--for", "1500ms")
	p := progressOf(doc, c.PID())
	if p == nil {
		t.Fatalf("the stuck process is not among the waits in progress: %+v", doc.InProgress)
	}
	if p.Cause != "fuse" || p.AgeNS < uint64(2*time.Second) || p.AgeNS > uint64(time.Minute) {
		t.Errorf("%+v", p)
	}
	w := waitsOf(doc, c.PID())
	if w == nil || w.Flagged || w.TotalNS < doc.WallNS*8/10 || w.TotalNS > doc.WallNS*11/10 {
		t.Errorf("in an interval of %d ns it waited %+v", doc.WallNS, w)
	}
}

// TestAnIdleRingIsNotStorage (case G1): io_uring flags a thread that waits for work.
func TestAnIdleRingIsNotStorage(t *testing.T) {
	lab.NeedRoot(t)
	c := lab.Workload{Name: "ring_idle", Args: []string{"60000"}}.Start(t)
	doc := while(t, c, "--for", "2s")
	w := waitsOf(doc, c.PID())
	if w == nil || w.Cause != "io_uring_idle" || !w.Flagged || w.TotalNS < doc.WallNS*8/10 {
		t.Errorf("%+v", w)
	}
	if doc.OtherThreadSeconds < 0.8 {
		t.Errorf("%v thread-seconds a second are told as no storage waits", doc.OtherThreadSeconds)
	}
	c.Kill()
}

// TestAVforkParentIsNotStorage (case G7): it raises the load as who waits for a disk does, and there is none behind it.
func TestAVforkParentIsNotStorage(t *testing.T) {
	lab.NeedRoot(t)
	c := lab.Workload{Name: "vfork", Args: []string{filepath.Join(lab.SilentFUSE(t), "x")}}.Start(t)
	doc := while(t, c, "--for", "2s")
	w := waitsOf(doc, c.PID())
	if w == nil || w.Cause != "not_storage" || w.Flagged || w.Device != "" || w.TotalNS < doc.WallNS*8/10 || w.TotalNS > doc.WallNS*11/10 {
		t.Errorf("in an interval of %d ns it waited %+v", doc.WallNS, w)
	}
	if doc.OtherThreadSeconds < 0.8 {
		t.Errorf("%v thread-seconds a second are told as no storage waits", doc.OtherThreadSeconds)
	}
	c.Kill()
}

// TestWorkersOfARingAreTheirProcess: what a command reads by io_uring's workers is the command's, though
// nobody is told that the kernel makes them: their waits, and their requests by name.
func TestWorkersOfARingAreTheirProcess(t *testing.T) {
	lab.NeedRoot(t)
	if lab.GuestLine() == "5.10" {
		t.Skip("there they are kernel threads of their own")
	}
	const reads = 50
	device := lab.Waiting(t)
	cmd, truthFile := command(t, lab.Workload{Name: "ring_reads", Args: []string{device.Path, fmt.Sprint(reads)}})
	doc := witness(t, cmd, "--by", "cause,device,process", "--max-cost", "0")
	truth := lab.ReadTruth(t, truthFile)
	var waits uint64
	for _, w := range doc.Waits {
		if w.PID == uint32(truth.PID) && w.Cause == "page_cache_read" && w.Device == device.Name {
			waits += w.Count
		}
	}
	if waits < reads*9/10 || waits > reads+5 {
		t.Errorf("%d waits in %d reads: %+v", waits, reads, doc.Waits)
	}
	if !lab.Guest() {
		lab.DropCaches(t)
	}
	var pid uint32
	r := blockAround(t, func() {
		child := lab.Workload{Name: "ring_reads", Args: []string{device.Path, fmt.Sprint(reads)}}.Start(t)
		child.Go()
		pid = child.PID()
		child.Wait()
	}, "--json", "--device", device.Name, "--max-cost", "0")
	told, named := 0, map[string]int{}
	for _, l := range parseLines(t, r.out) {
		if l.PID == pid {
			told++
			named[l.Comm]++
		}
	}
	if told < reads || len(named) != 1 || named[strings.TrimSpace(readFile(t, "/proc/self/comm"))] == 0 {
		t.Errorf("%d requests of %d reads, by %v", told, reads, named)
	}
}

// TestIOWaitHidesBehindABusyCPU (case G3): the percentage falls when CPUs have
// something to do; the threads wait on.
func TestIOWaitHidesBehindABusyCPU(t *testing.T) {
	lab.NeedRoot(t)
	if testing.Short() {
		t.Skip("busy CPUs make an emulated machine crawl")
	}
	device := lab.Waiting(t)
	cgroup := lab.Throttle(t, device, "read_iops", 10)
	work := lab.Workload{Name: "direct_read", Args: []string{device.Path, "1000"}}
	c := work.Start(t, func(cmd *exec.Cmd) { lab.InCgroup(cmd, cgroup) })
	for range 2 * numCPU(t) {
		burn := exec.Command("sh", "-c", "while :; do :; done")
		if err := burn.Start(); err != nil {
			t.Fatal(err)
		}
		defer burn.Wait()
		defer burn.Process.Kill()
	}
	doc := while(t, c, "--for", "2s")
	if w := waitsOf(doc, c.PID()); w == nil || w.TotalNS < doc.WallNS*7/10 {
		t.Errorf("it waited %+v in %d ns", w, doc.WallNS)
	}
	if doc.IOWaitPercent == nil || *doc.IOWaitPercent > 20 {
		t.Errorf("iowait is %v", *doc.IOWaitPercent)
	}
	c.Kill()
}

func numCPU(t *testing.T) int {
	t.Helper()
	n, err := strconv.Atoi(lab.Run(t, "nproc"))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestAnFsyncWaitsForMoreThanTheDevice (case B5): the time of write and fsync is
// told whole, by its parts, though each request takes far less.
func TestAnFsyncWaitsForMoreThanTheDevice(t *testing.T) {
	lab.NeedRoot(t)
	_, dir := mounted(t, ext4Journal)
	cmd, truthFile := command(t, lab.Workload{Name: "fsync", Args: []string{filepath.Join(dir, "log"), "300"}})
	doc := witness(t, cmd)
	truth := lab.ReadTruth(t, truthFile)
	w := waitsOf(doc, uint32(truth.PID))
	if w == nil {
		t.Fatalf("no waits of pid %d: %+v", truth.PID, doc.Waits)
	}
	// Neither CPU time nor delays hold all of what a switch takes, of which each operation has some.
	slept := truth.Total - truth.CPU - truth.RunQueue - time.Duration(truth.Ops)*20*time.Microsecond
	if waited := time.Duration(w.TotalNS); waited < slept*95/100 || waited > truth.Total+100*time.Millisecond {
		t.Errorf("waited %v of the %v in write and fsync, in %v of which it slept", waited, truth.Total, slept)
	}
	if w.Flagged || w.FlaggedNS > w.TotalNS/2 {
		t.Errorf("journal commits are not iowait, but %d of %d ns are", w.FlaggedNS, w.TotalNS)
	}
	var sum uint64
	for _, c := range w.Causes {
		sum += c.TotalNS
	}
	if sum != w.TotalNS {
		t.Errorf("the causes add up to %d ns, not %d", sum, w.TotalNS)
	}
}

// hostile are names that processes may give themselves.
var hostile = []string{"\x1b[2J\x1b[31mred", "line\nbreak", "tab\tand\rreturn", "bad\xff\xfeutf8", "fifteen-bytes\xe5\x8a", `quote"<b>&\`}

// TestHostileNamesBreakNoView (cases I5, J3).
func TestHostileNamesBreakNoView(t *testing.T) {
	lab.NeedRoot(t)
	device := lab.Waiting(t)
	dir := t.TempDir()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range hostile {
		file := filepath.Join(dir, name)
		if err := os.Link(exe, file); err != nil {
			lab.Run(t, "cp", exe, file)
		}
		c := lab.Workload{Name: "direct_read", Args: []string{device.Path, "100000000"}}.Start(t, func(cmd *exec.Cmd) { cmd.Path = file })
		c.Go()
		defer c.Kill()
	}
	time.Sleep(300 * time.Millisecond)
	for _, args := range [][]string{{}, {"--by", "process,file", "--columns", "exe,cwd", "--histogram", "--stacks"}, {"--by", "thread"}} {
		args = append(args, "--for", "500ms")
		text := runIt(t, args...)
		if text.status != exitOK {
			t.Fatalf("%+v", text)
		}
		for _, r := range text.out {
			if r == utf8.RuneError || r < ' ' && r != '\n' || r == 0x7f {
				t.Fatalf("%v: a control character or broken UTF-8 in %q", args, text.out)
			}
		}
		json := runIt(t, append(args, "--json")...)
		if !utf8.ValidString(json.out) || strings.ContainsAny(strings.TrimSuffix(json.out, "\n"), "\x1b\r") {
			t.Fatalf("%v: %q", args, json.out)
		}
		parseDocument(t, []byte(json.out))
	}
}

// TestLongNames (case I6): the kernel cuts names at 15 bytes, the executable's is whole.
func TestLongNames(t *testing.T) {
	lab.NeedRoot(t)
	device := lab.Waiting(t)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	long := filepath.Join(t.TempDir(), "a-name-of-thirty-bytes-exactly")
	lab.Run(t, "cp", exe, long)
	c := lab.Workload{Name: "direct_read", Args: []string{device.Path, "100000000"}}.Start(t, func(cmd *exec.Cmd) { cmd.Path = long })
	doc := while(t, c, "--for", "500ms", "--comm", filepath.Base(long))
	c.Kill()
	if w := waitsOf(doc, c.PID()); w == nil || w.Exe != long {
		t.Errorf("%+v", doc.Waits)
	}
	if !strings.Contains(strings.Join(doc.Notes, " "), "15 bytes") {
		t.Errorf("no word of the cut name: %q", doc.Notes)
	}
}

// TestItDoesNotShowItself (case F7): the report is written to a slow device.
func TestItDoesNotShowItself(t *testing.T) {
	lab.NeedRoot(t)
	_, dir := mounted(t, ext4Journal)
	out := filepath.Join(dir, "report")
	cmd := exec.Command(binary, "--json", "--interval", "50ms", "-o", out)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		time.Sleep(100 * time.Millisecond)
		unix.Sync()
	}
	cmd.Process.Signal(os.Interrupt)
	cmd.Wait()
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(b) {
		if w := waitsOf(parseDocument(t, line), uint32(cmd.Process.Pid)); w != nil {
			t.Fatalf("it shows itself: %+v", w)
		}
	}
}

// TestShortLivedProcessesAreNamed: they end within the interval, and still have
// name, executable and cgroup; the rows are bounded (case I4).
func TestShortLivedProcessesAreNamed(t *testing.T) {
	lab.NeedRoot(t)
	device := lab.Waiting(t)
	script := `i=0; while [ $i -lt 200 ]; do dd if=` + device.Path + ` of=/dev/null bs=4k count=4 iflag=direct 2>/dev/null; i=$((i+1)); done`
	cmd := exec.Command("sh", "-c", script)
	doc := witness(t, cmd, "--top", "0")
	named := 0
	for _, w := range doc.Waits {
		if w.Comm == "dd" && filepath.Base(w.Exe) == "dd" && w.Cgroup != "" {
			named++
		}
	}
	if named < 190 {
		t.Errorf("%d of 200 processes are named", named)
	}
	if doc = witness(t, cmd, "--top", "5"); len(doc.Waits) > 6 {
		t.Errorf("%d rows where 5 and the others were asked for", len(doc.Waits))
	}
}

// TestWithoutATerminal and on poor ones (case J2).
func TestTerminals(t *testing.T) {
	lab.NeedRoot(t)
	for _, test := range []struct {
		env     []string
		escapes bool
	}{
		{[]string{"TERM=xterm", "COLUMNS=80"}, true},
		{[]string{"TERM=dumb"}, false},
		{[]string{"TERM="}, false},
	} {
		cmd := exec.Command("script", "-qec", "timeout -s INT 4 "+binary, "/dev/null")
		cmd.Env = append(os.Environ(), test.env...)
		r := runCmd(t, cmd)
		if !strings.Contains(r.out, "iowait") || strings.Contains(r.out, "\x1b[H") != test.escapes {
			t.Errorf("%v: status %d, %q", test.env, r.status, r.out)
		}
	}
	for _, columns := range []string{"1", "20", "40"} {
		cmd := exec.Command(binary, "--for", "300ms")
		cmd.Env = append(os.Environ(), "COLUMNS="+columns)
		if r := runCmd(t, cmd); r.status != exitOK || strings.Contains(r.out, "\x1b") {
			t.Errorf("COLUMNS=%s: %+v", columns, r)
		}
	}
}
