// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// Truth is what a workload knows of itself, by its own clock.
type Truth struct {
	PID   int           `json:"pid"`
	Ops   int           `json:"ops"`
	Total time.Duration `json:"total"` // in the operations
	Max   time.Duration `json:"max"`   // the longest operation

	// What the scheduler says of a workload's thread, where it does its operations on
	// one and says so: time on a CPU, and ready but waiting for one.
	CPU      time.Duration `json:"cpu"`
	RunQueue time.Duration `json:"run_queue"`

	// Told by the workloads "spin" and "compete" only: CPU time of each thread.
	Each []time.Duration `json:"each,omitempty"`

	// Told by the workload "copy" only.
	MinorFaults int64 `json:"minor_faults,omitempty"`
	MajorFaults int64 `json:"major_faults,omitempty"`

	// Told by the workloads "files", "copy", "database" and "messages" only: by kind of call.
	Calls map[string]*Calls `json:"calls,omitempty"`

	// Told by the workloads "counted" and "sleeper" only, of one thread.
	TID      int `json:"tid,omitempty"`      // of the sleeper
	Slept    int `json:"slept,omitempty"`    // operations in which the thread gave up its CPU
	Switches int `json:"switches,omitempty"` // how often it did, by the kernel's own count
}

// Calls are what a workload knows of its calls of one kind.
type Calls struct {
	Count int           `json:"count"`
	Bytes int           `json:"bytes"`
	Total time.Duration `json:"total"`
	Max   time.Duration `json:"max"`
}

const (
	workloadVariable = "IOWITNESS_WORKLOAD"
	truthVariable    = "IOWITNESS_TRUTH"
)

// Main is called first in a TestMain: in a child process it runs the workload
// that the process was started for, and does not return.
func Main() {
	name := os.Getenv(workloadVariable)
	if name == "" {
		return
	}
	run, ok := workloads[name]
	if !ok {
		fmt.Fprintf(os.Stderr, "no workload %q\n", name)
		os.Exit(2)
	}
	var line [1]byte
	os.Stdin.Read(line[:]) // wait for the word to start, or for the end of the input
	truth := Truth{PID: os.Getpid()}
	if err := run(&truth, os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "workload %s: %v\n", name, err)
		os.Exit(1)
	}
	b, _ := json.Marshal(truth)
	if file := os.Getenv(truthVariable); file != "" {
		os.WriteFile(file, b, 0o600)
	}
	os.Exit(0)
}

// Workload is a workload to run in a process of its own.
type Workload struct {
	Name string
	Args []string
}

// String names a workload and its arguments.
func (w Workload) String() string { return strings.Join(slices.Concat([]string{w.Name}, w.Args), " ") }

// Env is the environment in which the test binary is the workload, with the
// file to which it writes its truth. The Go runtime does not interrupt its
// threads: a goroutine that is taken off its thread would add a switch.
func (w Workload) Env(truth string) []string {
	return append(os.Environ(), workloadVariable+"="+w.Name, truthVariable+"="+truth, "GODEBUG=asyncpreemptoff=1")
}

// Child is a workload's process.
type Child struct {
	t     testing.TB
	cmd   *exec.Cmd
	start func()
	truth string
}

// Start makes the process, which waits for Go. prepare may change the command
// before it starts, for instance its cgroup.
func (w Workload) Start(t testing.TB, prepare ...func(*exec.Cmd)) *Child {
	t.Helper()
	c := &Child{t: t, truth: t.TempDir() + "/truth"}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c.cmd = exec.Command(exe, w.Args...)
	c.cmd.Env = w.Env(c.truth)
	c.cmd.Stderr = os.Stderr
	stdin, err := c.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range prepare {
		p(c.cmd)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c.start = func() { stdin.Close() }
	t.Cleanup(func() {
		if c.cmd.ProcessState == nil {
			c.cmd.Process.Kill()
			c.cmd.Wait()
		}
	})
	return c
}

// PID is the process id.
func (c *Child) PID() uint32 { return uint32(c.cmd.Process.Pid) }

// Go lets the workload begin.
func (c *Child) Go() { c.start() }

// Kill ends the workload.
func (c *Child) Kill() { c.cmd.Process.Kill() }

// End ends the workload, if it still runs, and waits for that.
func (c *Child) End() {
	c.cmd.Process.Kill()
	c.cmd.Wait()
}

// CPU is what the process has used of CPUs to its very end, by the kernel's account.
func (c *Child) CPU() time.Duration {
	return c.cmd.ProcessState.UserTime() + c.cmd.ProcessState.SystemTime()
}

// Wait waits for its end and gives its truth.
func (c *Child) Wait() Truth {
	c.t.Helper()
	if err := c.cmd.Wait(); err != nil {
		c.t.Fatalf("workload %v: %v", c.cmd.Args[1:], err)
	}
	return ReadTruth(c.t, c.truth)
}

// ReadTruth reads what a workload wrote.
func ReadTruth(t testing.TB, file string) Truth {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var truth Truth
	if err := json.Unmarshal(b, &truth); err != nil {
		t.Fatal(err)
	}
	return truth
}
