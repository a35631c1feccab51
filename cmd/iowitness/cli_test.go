// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/iowitness/iowitness/lab"
)

func TestBadInputGetsOneSentence(t *testing.T) {
	for _, test := range []struct {
		args   string
		status int
		says   string
	}{
		{"--frobnicate", exitUsage, "unknown flag --frobnicate"},
		{"--for xyz", exitUsage, "--for"},
		{"--for=-1s", exitUsage, "negative"},
		{"--interval 1ms", exitUsage, "at least"},
		{"--min=-1ms", exitUsage, "negative"},
		{"--top=-7", exitUsage, "negative"},
		{"--pid abc", exitUsage, "--pid"},
		{"--by colour", exitUsage, "choose from process"},
		{"--cause page_cash_read", exitUsage, "page_cache_read"},
		{"--columns nosuch --for 1s", exitUsage, "nosuch"},
		{"--buffer 1000", exitUsage, "power of two"},
		{"--via ptrace", exitUsage, "tp_btf"},
		{"surplus", exitUsage, "surplus"},
		{"causes -- true", exitUsage, "takes no command"},
		{"--", exitUsage, "no command after --"},
		{"--output /nonexistent/file --for 1s", exitError, "/nonexistent/file"},
	} {
		t.Run(test.args, func(t *testing.T) {
			runIt(t, strings.Fields(test.args)...).expect(t, test.status, test.says)
		})
	}
}

func TestHelpAndVersion(t *testing.T) {
	if r := runIt(t, "--help"); r.status != exitOK || !strings.Contains(r.out, "--by") || !strings.Contains(r.out, "-- COMMAND") {
		t.Errorf("%+v", r)
	}
	if r := runIt(t, "--version"); r.status != exitOK || !strings.HasPrefix(r.out, "iowitness ") {
		t.Errorf("%+v", r)
	}
	if r := runIt(t, "causes"); r.status != exitOK || !strings.Contains(r.out, "journal_commit") {
		t.Errorf("%+v", r)
	}
	if r := runIt(t, "fields", "--schema"); r.status != exitOK || !strings.Contains(r.out, "$schema") {
		t.Errorf("%+v", r)
	}
}

func TestPIDThatDoesNotExist(t *testing.T) {
	lab.NeedRoot(t)
	runIt(t, "--pid", "4194303", "--for", "1s").expect(t, exitError, "no process with pid 4194303")
}

func TestTheCommandsStatusIsPassedOn(t *testing.T) {
	lab.NeedRoot(t)
	for _, test := range []struct {
		command []string
		status  int
		says    string
	}{
		{[]string{"true"}, 0, "real"},
		{[]string{"sh", "-c", "exit 7"}, 7, "real"},
		{[]string{"sh", "-c", "kill -9 $$"}, 128 + 9, "SIGKILL"},
		{[]string{"sh", "-c", "kill -TERM $$"}, 128 + 15, "SIGTERM"},
		{[]string{"no-such-command-at-all"}, 127, "not found"},
		{[]string{"/no/such/file"}, 127, "not found"},
		{[]string{"/etc/passwd"}, 126, "cannot be run"},
		{[]string{"/etc"}, 126, "cannot be run"},
	} {
		t.Run(strings.Join(test.command, " "), func(t *testing.T) {
			runIt(t, append([]string{"--"}, test.command...)...).expect(t, test.status, test.says)
		})
	}
}

func TestTheCommandsOutputIsLeftAlone(t *testing.T) {
	lab.NeedRoot(t)
	file := filepath.Join(t.TempDir(), "report")
	r := runIt(t, "--json", "-o", file, "--", "sh", "-c", "echo out; echo err >&2; cat", "--json")
	if r.status != 0 || r.out != "out\n" || r.err != "err\n" {
		t.Errorf("%+v", r)
	}
	doc := readDocument(t, file)
	if doc.Command == nil || doc.Command.ExitCode != 0 || len(doc.Command.Argv) != 4 {
		t.Errorf("%+v", doc.Command)
	}
}

// TestNohupReachesTheCommand: what is ignored around us is ignored in the command too.
func TestNohupReachesTheCommand(t *testing.T) {
	lab.NeedRoot(t)
	r := runCmd(t, exec.Command("sh", "-c", `trap "" HUP; exec "$0" -o /dev/null -- sh -c 'kill -HUP $$; echo alive'`, binary))
	if r.status != exitOK || r.out != "alive\n" {
		t.Errorf("%+v", r)
	}
}

func TestSignalsReachTheCommand(t *testing.T) {
	lab.NeedRoot(t)
	cmd := exec.Command(binary, "--", "sh", "-c", `trap 'echo got; exit 3' TERM; echo ready; while :; do sleep 0.05; done`)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	lines.Scan()
	cmd.Process.Signal(syscall.SIGTERM)
	lines.Scan()
	cmd.Wait()
	if lines.Text() != "got" || cmd.ProcessState.ExitCode() != 3 {
		t.Errorf("%q, status %d", lines.Text(), cmd.ProcessState.ExitCode())
	}
}

// TestWithoutPrivilegesItSaysWhichAreNeeded: one sentence, exit status 3 where a
// means is asked for; else it does what it can, and says the same.
func TestWithoutPrivilegesItSaysWhichAreNeeded(t *testing.T) {
	lab.NeedRoot(t)
	r := runCmd(t, asNobody(t, nil, "--for", "1s", "--via", "tp_btf"))
	r.expect(t, exitUnsupported, "CAP_BPF")
	if !strings.Contains(r.err, "CAP_PERFMON") || strings.Count(r.err, "\n") != 1 {
		t.Errorf("%q", r.err)
	}
	r = runCmd(t, asNobody(t, nil, "--for", "1s"))
	r.expect(t, exitOK, "")
	if !strings.Contains(r.out, "note: coarse, because no probe may be used") || !strings.Contains(r.out, "CAP_BPF and CAP_PERFMON") {
		t.Errorf("%s", r.out)
	}
}

// asNobody runs the program as a user without privileges but for some capabilities.
func asNobody(t *testing.T, caps []uintptr, args ...string) *exec.Cmd {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "iowitness")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	os.Chmod(dir, 0o755)
	copied := filepath.Join(dir, "iowitness")
	lab.Run(t, "cp", binary, copied)
	os.Chmod(copied, 0o755)
	cmd := exec.Command(copied, args...)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}, AmbientCaps: caps}
	return cmd
}

// TestTwoCapabilitiesAreEnoughForTotals: without CAP_SYSLOG the kernel hides its
// symbols; the tool says so, and counts.
func TestTwoCapabilitiesAreEnoughForTotals(t *testing.T) {
	lab.NeedRoot(t)
	device := lab.Waiting(t)
	child := lab.Workload{Name: "direct_read", Args: []string{device.Path, "3000000"}}.Start(t)
	child.Go()
	r := runCmd(t, asNobody(t, []uintptr{unix.CAP_BPF, unix.CAP_PERFMON}, "--json", "--for", "2s"))
	child.Kill()
	if r.status != exitOK {
		t.Fatalf("%+v", r)
	}
	doc := parseDocument(t, []byte(r.out))
	if !strings.Contains(strings.Join(doc.Notes, " "), "kptr_restrict") {
		t.Errorf("notes: %q", doc.Notes)
	}
	if w := waitsOf(doc, child.PID()); w == nil || w.Count < 100 || w.TotalNS == 0 {
		t.Errorf("the process's waits are %+v", w)
	}
}

func waitsOf(doc document, pid uint32) *waitDoc {
	for i := range doc.Waits {
		if doc.Waits[i].PID == pid {
			return &doc.Waits[i]
		}
	}
	return nil
}

// TestAClosedPipeEndsQuietly (case J1): nobody reads any more.
func TestAClosedPipeEndsQuietly(t *testing.T) {
	lab.NeedRoot(t)
	for _, args := range [][]string{{}, {"--json", "--interval", "100ms"}, {"--for", "1h"}} {
		var errs strings.Builder
		cmd := exec.Command(binary, args...)
		cmd.Stderr = &errs
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(300 * time.Millisecond)
		out.Close()
		if err := cmd.Wait(); err != nil || errs.Len() > 0 {
			t.Errorf("%v: %v, %q", args, err, errs.String())
		}
	}
}

func TestCtrlCEndsWithASummary(t *testing.T) {
	lab.NeedRoot(t)
	cmd := exec.Command(binary)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	awaitPrograms(t, cmd.Process.Pid)
	time.Sleep(300 * time.Millisecond)
	cmd.Process.Signal(os.Interrupt)
	b, _ := io.ReadAll(out)
	if err := cmd.Wait(); err != nil || !strings.Contains(string(b), "iowait") {
		t.Errorf("%v, %q", err, b)
	}
}

// programsOf are the ids of the BPF programs that a process holds.
func programsOf(t *testing.T, pid int) (ids []ebpf.ProgramID) {
	t.Helper()
	infos, err := filepath.Glob(fmt.Sprintf("/proc/%d/fdinfo/*", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range infos {
		b, _ := os.ReadFile(file)
		for line := range strings.Lines(string(b)) {
			var id ebpf.ProgramID
			if n, _ := fmt.Sscanf(line, "prog_id: %d", &id); n == 1 && !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// awaitPrograms waits until a process has loaded what it needs.
func awaitPrograms(t *testing.T, pid int) (ids []ebpf.ProgramID) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); len(ids) < 5; time.Sleep(20 * time.Millisecond) {
		if ids = programsOf(t, pid); time.Now().After(deadline) {
			t.Fatalf("it holds the programs %v only", ids)
		}
	}
	return ids
}

func loaded(id ebpf.ProgramID) bool {
	p, err := ebpf.NewProgramFromID(id)
	if err == nil {
		p.Close()
	}
	return err == nil
}

// TestKillLeavesNothingAttached: the kernel detaches what a killed process held.
func TestKillLeavesNothingAttached(t *testing.T) {
	lab.NeedRoot(t)
	cmd := exec.Command(binary)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	ids := awaitPrograms(t, cmd.Process.Pid)
	time.Sleep(300 * time.Millisecond)
	cmd.Process.Kill()
	cmd.Wait()
	for deadline := time.Now().Add(10 * time.Second); slices.ContainsFunc(ids, loaded); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("of the programs %v some stay after kill -9", ids)
		}
	}
	if left := lab.Run(t, "bpftool", "link", "show"); strings.Contains(left, fmt.Sprintf("iowitness(%d)", cmd.Process.Pid)) {
		t.Errorf("links stay: %s", left)
	}
}

// TestWithoutBTF (case E8): the sentence names what is missing and what still works.
func TestWithoutBTF(t *testing.T) {
	lab.NeedRoot(t)
	saved := filepath.Join(t.TempDir(), "btf")
	lab.Run(t, "cp", "/sys/kernel/btf/vmlinux", saved)
	hidden := func(args string) ran {
		return runIn(t, fmt.Sprintf("mount -t tmpfs none /sys/kernel/btf && exec %s %s", binary, args))
	}
	hidden("--for 1s --via tp_btf").expect(t, exitUnsupported, "--btf")
	says := []string{"coarse, because", "--btf"}
	if lab.Guest() {
		says = []string{"devices, files and system calls are not told"} // return probes of tracefs need none
	}
	r := hidden("--for 1s")
	for _, part := range says {
		if r.status != exitOK || !strings.Contains(r.out, part) {
			t.Errorf("no %q in %+v", part, r)
		}
	}
	r = hidden("--json --for 1s --btf " + saved)
	r.expect(t, exitOK, "")
	if r.status == exitOK {
		if doc := parseDocument(t, []byte(r.out)); doc.Means["wait"] == "" {
			t.Errorf("means %v", doc.Means)
		}
	}
	runIt(t, "--btf", "/etc/passwd", "--for", "1s").expect(t, exitError, "/etc/passwd")
}

// runIn runs a shell script in a mount namespace of its own.
func runIn(t *testing.T, script string) ran {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", script)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS, Unshareflags: syscall.CLONE_NEWNS}
	return runCmd(t, cmd)
}

// inPIDNamespace runs the program in a pid namespace of its own beside a reader, whose pid there
// stands for $work in the arguments.
func inPIDNamespace(t *testing.T, args string) ran {
	t.Helper()
	device := lab.Waiting(t)
	work, _ := command(t, lab.Workload{Name: "direct_read", Args: []string{device.Path, "100000000"}})
	script := fmt.Sprintf(`mount -t proc proc /proc
IOWITNESS_WORKLOAD=direct_read %s %s 100000000 </dev/null & work=$!
sleep 0.2
%s %s
kill $work`, work.Path, device.Path, binary, args)
	cmd := exec.Command("/bin/sh", "-c", script)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID, Unshareflags: syscall.CLONE_NEWNS}
	return runCmd(t, cmd)
}

// TestPIDsOfTheCallersNamespace (case I1).
func TestPIDsOfTheCallersNamespace(t *testing.T) {
	lab.NeedRoot(t)
	r := inPIDNamespace(t, "--json --for 1s --pid $work")
	if r.status != exitOK {
		t.Fatalf("%+v", r)
	}
	doc := parseDocument(t, []byte(r.out))
	if len(doc.Waits) != 1 || doc.Waits[0].Count < 100 || doc.Waits[0].Comm == "" {
		t.Errorf("%+v", doc.Waits)
	}
}

// TestBlockTakesPIDsOfTheCallersNamespace (case I1): for a filter, and for a victim.
func TestBlockTakesPIDsOfTheCallersNamespace(t *testing.T) {
	lab.NeedRoot(t)
	r := inPIDNamespace(t, "block --json --for 1s --pid $work")
	lines := parseLines(t, r.out)
	if r.status != exitOK || len(lines) < 100 || lines[0].PID != lines[len(lines)-1].PID || lines[0].Comm == "" {
		t.Errorf("status %d, %d lines: %s", r.status, len(lines), r.err)
	}
	r = inPIDNamespace(t, "block --summary --json --for 1s --victim $work")
	var doc struct{ Victim struct{ Waits uint64 } }
	if err := json.Unmarshal([]byte(r.out), &doc); err != nil || doc.Victim.Waits < 100 {
		t.Errorf("%v, %+v: %s%s", err, doc, r.err, r.out[strings.Index(r.out, `"victim"`):])
	}
	if r = inPIDNamespace(t, "block --for 1s --pid 4194302"); !strings.Contains(r.err, "no process with pid 4194302") {
		t.Errorf("%+v", r)
	}
}
