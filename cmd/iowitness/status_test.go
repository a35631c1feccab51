// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/iowitness/iowitness/cmd/iowitness/signals"
	"github.com/iowitness/iowitness/lab"
	"github.com/iowitness/iowitness/probe"
)

// witnesses are the verbs that witness until they are told to end; those of functions need probes.
var witnesses = []struct {
	name     string
	args     []string
	commands bool // takes a command
	probes   bool
}{
	{"watch", nil, true, false},
	{"block", []string{"block"}, false, false},
	{"block summary", []string{"block", "--summary"}, false, false},
	{"fs", []string{"fs"}, false, false},
	{"cpu", []string{"cpu"}, true, false},
	{"offcpu", []string{"offcpu"}, true, false},
	{"runq", []string{"runq"}, true, false},
	{"errors", []string{"errors", "--via", "none"}, true, false},
	{"func", []string{"func", "vfs_read"}, true, true},
	{"calls", []string{"calls", "vfs_read"}, true, true},
}

// eachWitness runs a test for each verb that works here, and gives its arguments and more.
func eachWitness(t *testing.T, test func(t *testing.T, commands bool, with func(more ...string) []string)) {
	lab.NeedRoot(t)
	for _, w := range witnesses {
		t.Run(w.name, func(t *testing.T) {
			if w.probes {
				needProbes(t)
			}
			test(t, w.commands, func(more ...string) []string { return append(append([]string{}, w.args...), more...) })
		})
	}
}

// TestStatusOfErrors: what was joined is said one by one, and the command's own status goes first.
func TestStatusOfErrors(t *testing.T) {
	full := reporting(&os.PathError{Op: "write", Path: "/dev/full", Err: syscall.ENOSPC})
	gone := reporting(&os.PathError{Op: "write", Path: "pipe", Err: syscall.EPIPE})
	for _, c := range []struct {
		err    error
		status int
		says   []string
	}{
		{nil, exitOK, nil},
		{full, exitError, []string{"no space left"}},
		{gone, exitOK, nil},
		{errors.Join(gone, errTooCostly), exitError, []string{"--max-cost"}},
		{errors.Join(full, exitStatus(7)), 7, []string{"no space left"}},
		{errors.Join(full, errTooCostly, exitStatus(0)), 0, []string{"no space left", "--max-cost"}},
		{errors.Join(gone, exitStatus(7)), 7, nil},
		{errors.Join(errors.Join(exitStatus(130)), nil, full), 130, []string{"no space left"}},
		{usageError{errors.Join(errors.New("one"), errors.New("two"))}, exitUsage, []string{"one; two"}},
		{fmt.Errorf("opening: %w", probe.ErrProfileUnsupported), exitUnsupported, []string{"opening"}},
		{fmt.Errorf("%w: %w", probe.ErrUnsupported, syscall.EPERM), exitUnsupported, []string{"cannot be witnessed"}},
		{exitStatus(signals.Ended(syscall.SIGTERM)), 143, nil},
	} {
		var said bytes.Buffer
		status := fail(&said, c.err)
		if status != c.status || strings.Count(said.String(), "\n") != len(c.says) {
			t.Errorf("%v: status %d, %q", c.err, status, said.String())
		}
		for _, words := range c.says {
			if !strings.Contains(said.String(), words) {
				t.Errorf("%v: %q, which does not say %q", c.err, said.String(), words)
			}
		}
	}
}

func TestStatusOfARunThatIsDone(t *testing.T) {
	eachWitness(t, func(t *testing.T, _ bool, with func(...string) []string) {
		runIt(t, with("--for", "300ms")...).expect(t, exitOK, "")
	})
}

func TestStatusOfAMistake(t *testing.T) {
	eachWitness(t, func(t *testing.T, commands bool, with func(...string) []string) {
		runIt(t, with("--for", "soon")...).expect(t, exitUsage, "--for")
		words := "takes no command"
		if commands {
			words = "no command after --"
		}
		runIt(t, with("--")...).expect(t, exitUsage, words)
	})
	for _, verb := range []string{"causes", "fields", "doctor", "list", "cleanup", "kmod status"} {
		runIt(t, append(strings.Fields(verb), "--no-such-flag")...).expect(t, exitUsage, "--no-such-flag")
	}
}

// TestStatusOfWhatIsNotThere: a name that nothing has is a mistake; files and processes may just have gone.
func TestStatusOfWhatIsNotThere(t *testing.T) {
	eachWitness(t, func(t *testing.T, _ bool, with func(...string) []string) {
		runIt(t, with("--pid", "4194303", "--for", "300ms")...).expect(t, exitError, "no process with pid 4194303")
		if strings.Join(with(), " ") != "fs" {
			runIt(t, with("--cgroup", "/no/such", "--for", "300ms")...).expect(t, exitUsage, "no cgroup /no/such")
		}
	})
	runIt(t, "fs", "/no/such", "--for", "300ms").expect(t, exitError, "/no/such")
}

// TestStatusOfAFullDisk: a sentence, and 1.
func TestStatusOfAFullDisk(t *testing.T) {
	eachWitness(t, func(t *testing.T, commands bool, with func(...string) []string) {
		runIt(t, with("--for", "300ms", "-o", "/dev/full")...).expect(t, exitError, "no space left on device")
		if commands {
			runIt(t, with("-o", "/dev/full", "--", "sh", "-c", "exit 7")...).expect(t, 7, "no space left on device")
		}
	})
	for _, verb := range []string{"causes", "fields", "doctor", "list vfs_read", "fs --schema", "causes --markdown"} {
		runIt(t, append(strings.Fields(verb), "-o", "/dev/full")...).expect(t, exitError, "no space left on device")
	}
}

func TestStatusWithoutPrivileges(t *testing.T) {
	eachWitness(t, func(t *testing.T, _ bool, with func(...string) []string) {
		args := with("--for", "300ms")
		if len(with()) == 0 {
			args = append(args, "--via", "tp_btf")
		}
		r := runCmd(t, asNobody(t, nil, args...))
		r.expect(t, exitUnsupported, "CAP_BPF")
		if strings.Count(r.err, "\n") != 1 {
			t.Errorf("%q", r.err)
		}
	})
	runCmd(t, asNobody(t, nil, "cleanup")).expect(t, exitUnsupported, "tracefs")
}

// TestStatusAroundACommand is the command's.
func TestStatusAroundACommand(t *testing.T) {
	eachWitness(t, func(t *testing.T, commands bool, with func(...string) []string) {
		if !commands {
			return
		}
		for command, status := range map[string]int{"true": 0, "exit 7": 7, "kill -9 $$": 137} {
			if r := runIt(t, with("--", "sh", "-c", command)...); r.status != status {
				t.Errorf("%s: %+v", command, r)
			}
		}
		runIt(t, with("--", "/no/such")...).expect(t, exitNotFound, "not found")
		runIt(t, with("--", "/etc")...).expect(t, exitCannotRun, "cannot be run")
	})
}

// TestACommandMayOutliveTheWitness: it is let run on, and told to have been.
func TestACommandMayOutliveTheWitness(t *testing.T) {
	eachWitness(t, func(t *testing.T, commands bool, with func(...string) []string) {
		if !commands {
			return
		}
		file := filepath.Join(t.TempDir(), "report")
		runIt(t, with("--max-time", "100ms", "-o", file, "--", "sh", "-c", "sleep 1; exit 7")...).expect(t, 7, "")
		if report, err := os.ReadFile(file); err != nil || !strings.Contains(string(report), "ran longer than --for or --max-time") {
			t.Errorf("%v, %s", err, report)
		}
	})
}

// TestStatusOfCtrlC: a run that gives its report is done, whoever ended it.
func TestStatusOfCtrlC(t *testing.T) {
	eachWitness(t, func(t *testing.T, _ bool, with func(...string) []string) {
		for _, after := range []time.Duration{2 * time.Second, 10 * time.Second, 30 * time.Second} {
			r, report := interruptRun(t, after, with()...)
			if r.status == exitSignal+int(syscall.SIGINT) && strings.Contains(r.err, "before it had begun") {
				continue // on a busy machine it was opening still
			}
			if r.status != exitOK || len(report)+len(r.err) == 0 {
				t.Errorf("%+v, report %q", r, report)
			}
			return
		}
		t.Error("it told nothing")
	})
}

// interruptRun interrupts a run after some time, and gives its report.
func interruptRun(t *testing.T, after time.Duration, args ...string) (r ran, report []byte) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "report")
	cmd := exec.Command(binary, append(args, "-o", out)...)
	stop := time.AfterFunc(after, func() { cmd.Process.Signal(os.Interrupt) })
	defer stop.Stop()
	r = runCmd(t, cmd)
	report, err := os.ReadFile(out)
	if err != nil {
		t.Error(err)
	}
	return r, report
}

// TestStatusOfAnEndBeforeTheBeginning is that of any program that a signal ends: the types come
// from a pipe that says nothing until the signal is there.
func TestStatusOfAnEndBeforeTheBeginning(t *testing.T) {
	eachWitness(t, func(t *testing.T, commands bool, with func(...string) []string) {
		interruptOpening(t, with(), syscall.SIGINT, 130)
		if commands {
			interruptOpening(t, with(), syscall.SIGTERM, 143, "--", "touch", filepath.Join(t.TempDir(), "ran"))
		}
	})
}

// TestCtrlCEndsWhatIsNoRun with the same status.
func TestCtrlCEndsWhatIsNoRun(t *testing.T) {
	for _, args := range [][]string{{"doctor"}, {"list"}, {"list", "vfs_read", "--json"}} {
		cmd, out, _ := startOpening(t, args)
		cmd.Process.Signal(syscall.SIGINT)
		cmd.Wait()
		if got := cmd.ProcessState.ExitCode(); got != 130 || out.Len() > 0 {
			t.Errorf("%v: status %d, %q", args, got, out.String())
		}
	}
}

func interruptOpening(t *testing.T, args []string, sig syscall.Signal, status int, command ...string) {
	t.Helper()
	cmd, out, pipe := startOpening(t, args, command...)
	cmd.Process.Signal(sig)
	time.Sleep(500 * time.Millisecond)
	if w, err := os.OpenFile(pipe, os.O_WRONLY|unix.O_NONBLOCK, 0); err == nil {
		io.WriteString(w, "no types")
		w.Close()
	}
	cmd.Wait()
	if got := cmd.ProcessState.ExitCode(); got != status || !strings.HasPrefix(out.String(), "iowitness: ended by SIG") || strings.Count(out.String(), "\n") != 1 {
		t.Errorf("%v by %v: status %d, %q", args, sig, got, out.String())
	}
	if len(command) > 0 {
		if _, err := os.Stat(command[2]); err == nil {
			t.Error("the command has run")
		}
	}
}

// startOpening starts a run that reads the kernel's types from a pipe which says nothing.
func startOpening(t *testing.T, args []string, command ...string) (cmd *exec.Cmd, out *bytes.Buffer, pipe string) {
	t.Helper()
	pipe = filepath.Join(t.TempDir(), "btf")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd, out = exec.Command(binary, append(append(args, "--btf", pipe), command...)...), new(bytes.Buffer)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	opening := func() bool {
		found, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/syscall", cmd.Process.Pid))
		for _, file := range found {
			b, _ := os.ReadFile(file)
			if strings.HasPrefix(string(b), fmt.Sprintf("%d 0xffffffffffffff9c ", unix.SYS_OPENAT)) {
				return true
			}
		}
		return false
	}
	for deadline := time.Now().Add(20 * time.Second); !opening(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			cmd.Process.Kill()
			t.Fatalf("it does not read the types: %s", out.String())
		}
	}
	time.Sleep(100 * time.Millisecond)
	return cmd, out, pipe
}
