// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const recording = "../../blktrace/testdata/perf-dd_direct.txt"

// TestCtrlCEndsAnImport from a pipe whose other end says nothing more: what was read is told, and it is done.
func TestCtrlCEndsAnImport(t *testing.T) {
	text, err := os.ReadFile(recording)
	if err != nil {
		t.Skip(err)
	}
	for _, args := range [][]string{nil, {"--summary"}} {
		cmd := exec.Command(binary, append([]string{"block", "--import", "-"}, args...)...)
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Second, func() { cmd.Process.Signal(os.Interrupt) })
		go in.Write(text[:len(text)*2/3])
		r := runCmd(t, cmd)
		in.Close()
		if r.status != exitOK || !strings.Contains(r.out+r.err, " events of the block layer, ") || strings.Count(r.out, "\n") < 5 {
			t.Errorf("%q: %+v", args, r)
		}
	}
}

// TestACutRecordingIsToldUpToTheCut: the place is named, and the requests before it are those of the whole.
func TestACutRecordingIsToldUpToTheCut(t *testing.T) {
	text, err := os.ReadFile(recording)
	if err != nil {
		t.Skip(err)
	}
	line := bytes.Index(text[len(text)/2:], []byte(": block_rq_")) + len(text)/2
	if line < len(text)/2 {
		line = bytes.Index(text[len(text)/2:], []byte("block:block_")) + len(text)/2
	}
	cut := filepath.Join(t.TempDir(), "cut")
	if err := os.WriteFile(cut, text[:line+len("block:bl")], 0o600); err != nil {
		t.Fatal(err)
	}
	whole := runIt(t, "block", "--import", recording, "--csv")
	whole.expect(t, exitOK, "")
	r := runIt(t, "block", "--import", cut, "--csv")
	r.expect(t, exitError, cut+": line ")
	rows := strings.Split(strings.TrimSpace(r.out), "\n")
	unfinished := slices.Index(strings.Split(rows[0], ","), "unfinished")
	ended := 0
	for _, row := range rows[1:] {
		if strings.Split(row, ",")[unfinished] == "true" {
			continue
		}
		if ended++; !strings.Contains(whole.out, row+"\n") {
			t.Errorf("%s is no request of the whole recording", row)
		}
	}
	if ended < 5 {
		t.Errorf("%d requests that ended before the cut", ended)
	}
	if r = runIt(t, "block", "--import", cut, "--summary"); r.status != exitError || !strings.Contains(r.out, "DEVICES") || !strings.Contains(r.err, ": line ") {
		t.Errorf("%+v", r)
	}
}

// TestAForeignFileIsRefusedBeforeAnythingIsTold, in one sentence.
func TestAForeignFileIsRefusedBeforeAnythingIsTold(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for file, says := range map[string]string{"../../README.md": "none of its", empty: "", binary: "", filepath.Dir(empty): ""} {
		for _, form := range [][]string{nil, {"--csv"}, {"--json"}, {"--summary"}, {"--summary", "--json"}} {
			r := runIt(t, append([]string{"block", "--import", file}, form...)...)
			if r.status != exitError || r.out != "" || strings.Count(r.err, "\n") != 1 || !strings.Contains(r.err, file) || !strings.Contains(r.err, says) {
				t.Errorf("%s %v: %+v", file, form, r)
			}
		}
	}
}

// TestEachVerbGivesItsSchema, and not another's.
func TestEachVerbGivesItsSchema(t *testing.T) {
	for args, title := range map[string]string{
		"--schema":                            "waits",
		"block --schema":                      "A block request",
		"block --summary --schema":            "Block requests of a span of time",
		"fs --schema":                         "Calls to file systems",
		"cpu --schema":                        "What runs",
		"offcpu --schema":                     "Time off the CPU",
		"runq --schema":                       "Waits for a CPU",
		"errors --schema":                     "What failed",
		"func --schema":                       "Calls of kernel functions",
		"func vfs_read --slower 1ms --schema": "A call of a kernel function",
		"calls --schema":                      "A call of a kernel function",
		"doctor --schema":                     "What this host can do",
		"list --schema":                       "What can be probed",
	} {
		r := runIt(t, strings.Fields(args)...)
		if r.expect(t, exitOK, ""); !strings.Contains(r.out, `"$schema"`) || !strings.Contains(r.out, title) {
			t.Errorf("%s: %.300s", args, r.out)
		}
	}
}
