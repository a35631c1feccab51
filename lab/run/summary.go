// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/iowitness/iowitness/lab/kernels"
	"github.com/iowitness/iowitness/lab/vm"
)

// outcome is how the tests went on one line of kernels.
type outcome struct {
	line    kernels.Line
	kernel  *kernels.Kernel // nil: not served
	outcome *vm.Outcome
	seconds float64
	err     error
	skipped bool
}

func (r *outcome) ok() bool {
	if r.err != nil {
		return r.skipped
	}
	for _, report := range r.outcome.Reports {
		if report.Status != 0 {
			return false
		}
	}
	return r.outcome.Ended && len(r.outcome.Trouble()) == 0
}

// summary prints what was run and what was not.
func summary(w io.Writer, outcomes []outcome, accel string) {
	fmt.Fprintf(w, "\nlab: what was run (%s)\n", accel)
	for _, r := range outcomes {
		if r.kernel == nil {
			fmt.Fprintf(w, "  %-5s NOT RUN: %v\n", r.line, r.err)
			continue
		}
		verdict := "ok"
		if !r.ok() {
			verdict = "FAILED"
		}
		pin := "pinned"
		if !r.kernel.Pinned {
			pin = "newest served, the pinned one is not"
		}
		fmt.Fprintf(w, "  %-5s %-6s %s (%s), %.0f s\n", r.line, verdict, r.kernel.Release, pin, r.seconds)
		if r.err != nil {
			fmt.Fprintf(w, "        %v\n", r.err)
		}
		if r.outcome == nil {
			continue
		}
		for _, report := range r.outcome.Reports {
			if report.Status != 0 || report.Error != "" {
				fmt.Fprintf(w, "        %s: exit status %d %s\n", report.Package, report.Status, report.Error)
			}
		}
		for _, line := range r.outcome.Trouble() {
			fmt.Fprintf(w, "        kernel: %s\n", line)
		}
	}
}

// prefixed puts a kernel's line before each line of output, or holds all back.
type prefixed struct {
	line string
	to   io.Writer
	hold bool
	held bytes.Buffer
}

func (p *prefixed) Write(b []byte) (int, error) {
	to := p.to
	if p.hold {
		to = &p.held
	}
	for line := range strings.Lines(string(b)) {
		if _, err := fmt.Fprintf(to, "%-5s %s", p.line, line); err != nil {
			return 0, err
		}
	}
	return len(b), nil
}

func (p *prefixed) release() {
	_, _ = p.held.WriteTo(p.to)
}
