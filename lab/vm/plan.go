// SPDX-License-Identifier: Apache-2.0

// Package vm runs test binaries in virtual machines: on a kernel of choice, with
// an initial file system that holds them, the tools they call and the modules of
// that kernel. The program in lab/guest is the machine's only process 1.
package vm

import (
	"encoding/json"
	"os"
)

// Where things are in the guest.
const (
	PlanPath   = "/lab/plan.json"
	SourceRoot = "/src" // of the packages' directories: a test runs in its own
)

// Plan is what a guest does from boot to power off.
type Plan struct {
	Line    string   // of its kernel
	Modules []string // to load first
	Tests   []Test
}

// Test is one test binary to run.
type Test struct {
	Package string // its directory below the module's root, such as "probe"
	Binary  string // path in the guest
	Args    []string
	Env     []string
}

// The environment of tests in a guest.
const (
	EnvLine   = "IOWITNESS_GUEST" // the kernel's line: tests that need one skip elsewhere
	EnvModule = "IOWITNESS_KMOD"  // file of the kernel module that was built for the guest, which is where the program looks for it
)

// Result lines are told on the guest's second serial port, beside the tests' output.
const resultMark = "\x1eiowitness-lab "

// Report is one result line.
type Report struct {
	Package string // empty: the guest as a whole
	Status  int    // exit status of the test binary
	Seconds float64
	Error   string // why it could not be run
}

// Line writes a report as one line.
func (r *Report) Line() string {
	text, err := json.Marshal(r)
	if err != nil {
		panic(err) // it is plain strings and numbers
	}
	return resultMark + string(text) + "\n"
}

// ReadPlan reads the plan within the guest.
func ReadPlan() (*Plan, error) {
	text, err := os.ReadFile(PlanPath)
	if err != nil {
		return nil, err
	}
	var plan Plan
	return &plan, json.Unmarshal(text, &plan)
}
