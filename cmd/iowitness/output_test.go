// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/iowitness/iowitness/lab"
)

// TestAFullDiskLosesNoReport: it goes to standard output instead, beside the sentence.
func TestAFullDiskLosesNoReport(t *testing.T) {
	eachWitness(t, func(t *testing.T, commands bool, with func(...string) []string) {
		if slices.Equal(with(), []string{"block"}) || slices.Contains(with(), "calls") {
			return // lists, of which each line is written as it comes
		}
		r := runIt(t, with("--for", "300ms", "-o", "/dev/full")...)
		r.expect(t, exitError, "no space left on device")
		if !strings.HasPrefix(r.out, "iowitness") || strings.Count(r.err, "no space") != 1 {
			t.Errorf("%+v", r)
		}
		if commands {
			r = runIt(t, with("-o", "/dev/full", "--", "echo", "mine")...)
			r.expect(t, exitOK, "no space left on device")
			if r.out != "mine\n" || len(r.err) < 200 {
				t.Errorf("%+v", r)
			}
		}
	})
}

// TestOneFullFileLeavesTheOthers: a flame graph that does not fit hinders neither profile nor report.
func TestOneFullFileLeavesTheOthers(t *testing.T) {
	lab.NeedRoot(t)
	dir := t.TempDir()
	full, profile := filepath.Join(dir, "full.svg"), filepath.Join(dir, "pprof")
	if err := os.Symlink("/dev/full", full); err != nil {
		t.Fatal(err)
	}
	r := runIt(t, "cpu", "--for", "300ms", "--flame", full, "--pprof", profile)
	r.expect(t, exitError, "full.svg: no space left on device")
	if info, err := os.Stat(profile); err != nil || info.Size() == 0 || !strings.Contains(r.out, "samples of") {
		t.Errorf("%v, %+v", err, r)
	}
	runIt(t, "cpu", "--for", "300ms", "--pprof", "/dev/full").expect(t, exitError, "/dev/full: no space left on device")
}

// TestEachIntervalIsPrintedWithoutATerminal, where intervals are asked for, and all of them together at the end.
func TestEachIntervalIsPrintedWithoutATerminal(t *testing.T) {
	eachWitness(t, func(t *testing.T, _ bool, with func(...string) []string) {
		if slices.Contains([]string{"block", "errors", "calls"}, strings.Join(with()[:min(1, len(with()))], "")) {
			return // which have no intervals of their own
		}
		r := runIt(t, with("--interval", "200ms", "--for", "2s", "--max-cost", "0")...)
		r.expect(t, exitOK, "")
		if heads := strings.Count("\n"+r.out, "\niowitness"); heads < 3 {
			t.Errorf("%d reports: %s", heads, r.out)
		}
		if r := runIt(t, with("--for", "300ms")...); strings.Count("\n"+r.out, "\niowitness") != 1 {
			t.Errorf("not one report: %s", r.out)
		}
	})
}

// TestAReaderWhoGoesEndsQuietly, whichever the verb.
func TestAReaderWhoGoesEndsQuietly(t *testing.T) {
	eachWitness(t, func(t *testing.T, _ bool, with func(...string) []string) {
		var errs strings.Builder
		cmd := exec.Command(binary, with()...)
		cmd.Stderr = &errs
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		out.Close()
		if err := cmd.Wait(); err != nil || strings.Contains(errs.String(), "pipe") {
			t.Errorf("%v, %q", err, errs.String())
		}
	})
}
