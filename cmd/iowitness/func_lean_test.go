// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestLeanPlansReadNoMemory: only unasked arguments go, and what goes is named.
func TestLeanPlansReadNoMemory(t *testing.T) {
	if _, err := os.Stat("/sys/kernel/btf/vmlinux"); err != nil {
		t.Skip(err)
	}
	p, flags := &callPlan{patterns: []string{"vfs_write", "vfs_read"}, lists: true}, &callFlags{}
	if err := p.resolve(flags); err != nil {
		t.Fatal(err)
	}
	reads := func() (texts []string) {
		for _, target := range p.targets {
			if text := target.Program.Reads(); text != "" {
				texts = append(texts, text)
			}
		}
		return texts
	}
	if len(p.left) > 0 || len(reads()) == 0 {
		t.Fatalf("left out %q, reads %q: nothing to leave out", p.left, reads())
	}
	if err := p.leaner(flags); err != nil {
		t.Fatal(err)
	}
	if len(p.left) == 0 || len(reads()) > 0 || len(p.all) != 2 || p.all[0].Fields == nil {
		t.Errorf("left out %q, reads %q", p.left, reads())
	}
	asked := &callPlan{patterns: []string{"vfs_write"}, lists: true, prints: []string{"file->f_pos"}}
	if err := errors.Join(asked.resolve(flags), asked.leaner(flags)); err != nil || asked.targets[0].Program.Reads() == "" {
		t.Errorf("%v: what was asked for is gone", err)
	}
}

// runWithoutBPF runs the program as a root who may not load BPF programs, as on hosts that forbid it.
func runWithoutBPF(t *testing.T, args ...string) (r ran) {
	t.Helper()
	done := make(chan struct{})
	go func() { // the thread ends with the goroutine, as it stays locked
		defer close(done)
		runtime.LockOSThread()
		for _, capability := range []uintptr{unix.CAP_BPF, unix.CAP_PERFMON, unix.CAP_SYS_ADMIN} {
			if err := unix.Prctl(unix.PR_CAPBSET_DROP, capability, 0, 0, 0); err != nil {
				t.Error(err)
			}
		}
		r = runCmd(t, exec.Command(binary, args...))
	}()
	<-done
	return r
}

// TestWithoutBPFArgumentsThatAreTextsAreLeftOut, and told to be; numbers and the rest are there, without any flag.
func TestWithoutBPFArgumentsThatAreTextsAreLeftOut(t *testing.T) {
	needProbes(t)
	file := filepath.Join(t.TempDir(), "lines")
	r := runWithoutBPF(t, "func", "do_sys_openat2", "--print", "dfd", "--json", "-o", file, "--", "true")
	r.expect(t, exitOK, "calls told, by tracefs")
	r = runWithoutBPF(t, "func", "vfs_write", "--slower", "1ns", "--json", "-o", file, "--", "sh", "-c", "echo hello")
	r.expect(t, exitOK, "by tracefs")
	if !strings.Contains(r.err, "which reads no memory of the kernel: ") {
		t.Errorf("%+v", r)
	}
	told := false
	for line := range strings.Lines(readFile(t, file)) {
		var call struct{ Fields map[string]string }
		if err := json.Unmarshal([]byte(line), &call); err != nil {
			t.Fatal(err)
		}
		told = told || call.Fields["count"] == "6"
	}
	if !told {
		t.Errorf("no write of 6 bytes in %s", readFile(t, file))
	}
	r = runWithoutBPF(t, "calls", "ksys_write", "--inside", "vfs_write", "--json", "-o", file, "--", "sh", "-c", "echo hello")
	r.expect(t, exitOK, "by tracefs")
	if text := readFile(t, file); !strings.Contains(text, "vfs_write") {
		t.Errorf("%s", text)
	}
	// What was asked for is refused all the same.
	runWithoutBPF(t, "func", "vfs_write", "--print", "file->f_pos", "--for", "1s").expect(t, exitUnsupported, "")
}
