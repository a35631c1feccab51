// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
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

// binary is the program under test, built as it is shipped.
var binary string

func TestMain(m *testing.M) {
	lab.Main()
	if lab.Guest() {
		binary = lab.Program
		os.Exit(m.Run())
	}
	dir, err := os.MkdirTemp("", "iowitness")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	binary = filepath.Join(dir, "iowitness")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building: %v\n%s", err, out)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// document is what tests read of the JSON output.
type document struct {
	Start, End         time.Time
	WallNS             uint64             `json:"wall_ns"`
	Means              map[string]string  `json:"means"`
	Estimated          bool               `json:"estimated"`
	IOWaitPercent      *float64           `json:"iowait_percent"`
	ThreadSeconds      float64            `json:"thread_seconds"`
	OtherThreadSeconds float64            `json:"other_thread_seconds"`
	UnflaggedPercent   *float64           `json:"unflagged_percent"`
	Lost               map[string]lossDoc `json:"lost"`
	Notes              []string           `json:"notes"`
	Joined             *struct{ Joined, Of uint64 }
	Waits              []waitDoc     `json:"waits"`
	InProgress         []progressDoc `json:"in_progress"`
	Command            *struct {
		Argv   []string `json:"argv"`
		RealNS uint64   `json:"real_ns"`
		SysNS  uint64   `json:"sys_ns"`

		MinorFaults uint64 `json:"minor_faults"`
		MajorFaults uint64 `json:"major_faults"`

		ExitCode int     `json:"exit_code"`
		Signal   *string `json:"signal"`
	} `json:"command"`
}

type lossDoc struct{ Count, NS uint64 }

type waitDoc struct {
	PID          uint32   `json:"pid"`
	TID          uint32   `json:"tid"`
	Comm         string   `json:"comm"`
	Exe          string   `json:"exe"`
	Cgroup       string   `json:"cgroup"`
	Cause        string   `json:"cause"`
	Flagged      bool     `json:"flagged"`
	FlaggedNS    uint64   `json:"flagged_ns"`
	Device       string   `json:"device"`
	DeviceSource string   `json:"device_source"`
	File         string   `json:"file"`
	FileSource   string   `json:"file_source"`
	Count        uint64   `json:"count"`
	TotalNS      uint64   `json:"total_ns"`
	MaxNS        uint64   `json:"max_ns"`
	RunQueueNS   uint64   `json:"runqueue_ns"`
	Stack        []string `json:"stack"`
	Causes       []struct {
		Cause   string `json:"cause"`
		TotalNS uint64 `json:"total_ns"`

		Recorded, Joined uint64
		WaitMeanNS       *uint64  `json:"wait_mean_ns"`
		BeforeMeanNS     *uint64  `json:"before_mean_ns"`
		QueueMeanNS      *uint64  `json:"queue_mean_ns"`
		DeviceMeanNS     *uint64  `json:"device_mean_ns"`
		DevicePercent    *float64 `json:"device_percent"`
		Request          *requestDoc
	} `json:"causes"`
}

type requestDoc struct {
	Device, Type, Op string
	Sector           *uint64
	Bytes            uint64
	QueueNS          *uint64 `json:"queue_ns"`
	DeviceNS         *uint64 `json:"device_ns"`
	WaitNS           uint64  `json:"wait_ns"`
	BeforeNS         *uint64 `json:"before_ns"`
}

type progressDoc struct {
	PID    uint32 `json:"pid"`
	Comm   string `json:"comm"`
	AgeNS  uint64 `json:"age_ns"`
	Cause  string `json:"cause"`
	Device string `json:"device"`
	File   string `json:"file"`
}

// witness runs iowitness to its end and gives its JSON document; args come before "--".
func witness(t *testing.T, work *exec.Cmd, args ...string) document {
	t.Helper()
	file := filepath.Join(t.TempDir(), "out.json")
	args = append(args, "--json", "-o", file)
	if work != nil {
		args = append(append(args, "--"), work.Args...)
	}
	cmd := exec.Command(binary, args...)
	cmd.Stderr = os.Stderr
	if work != nil {
		cmd.Env = work.Env
	}
	if err := cmd.Run(); err != nil {
		t.Fatalf("iowitness %v: %v", args, err)
	}
	return readDocument(t, file)
}

func readDocument(t *testing.T, file string) document {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return parseDocument(t, b)
}

func parseDocument(t *testing.T, b []byte) document {
	t.Helper()
	var d document
	if err := json.Unmarshal(b, &d); err != nil {
		t.Fatalf("%v in %.300s", err, b)
	}
	return d
}

// command is a workload as a command line: the test binary itself.
func command(t *testing.T, w lab.Workload) (cmd *exec.Cmd, truth string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	truth = filepath.Join(t.TempDir(), "truth")
	cmd = exec.Command(exe, w.Args...)
	cmd.Env = w.Env(truth)
	return cmd, truth
}

// ran is what a run of the program did.
type ran struct {
	status   int
	out, err string
}

// run runs the program with arguments.
func runIt(t *testing.T, args ...string) ran {
	t.Helper()
	return runCmd(t, exec.Command(binary, args...))
}

func runCmd(t *testing.T, cmd *exec.Cmd) ran {
	t.Helper()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	status := cmd.ProcessState.ExitCode()
	if ws := cmd.ProcessState.Sys().(syscall.WaitStatus); ws.Signaled() {
		status = -int(ws.Signal())
	}
	return ran{status, out.String(), errs.String()}
}

func (r ran) expect(t *testing.T, status int, errContains string) {
	t.Helper()
	if r.status != status || !strings.Contains(r.err, errContains) {
		t.Errorf("status %d, not %d; standard error: %q, not %q", r.status, status, r.err, errContains)
	}
	if n := strings.Count(strings.TrimSpace(r.err), "\n"); status == exitUsage && n > 0 {
		t.Errorf("%d lines of error where a sentence is due: %q", n+1, r.err)
	}
}
