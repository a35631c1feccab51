// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/iowitness/iowitness/lab"
)

// doctorDoc is what tests read of a diagnosis.
type doctorDoc struct {
	Kernel string   `json:"kernel"`
	Usable []string `json:"usable"`
	Used   *string  `json:"used"`
	Means  []struct {
		ID      string  `json:"id"`
		Verdict string  `json:"verdict"`
		Reason  *string `json:"reason"`
	} `json:"means"`
	Verbs []struct {
		ID      string  `json:"id"`
		Verdict string  `json:"verdict"`
		Means   *string `json:"means"`
		Reason  *string `json:"reason"`
	} `json:"verbs"`
	Facts map[string]struct {
		Value any `json:"value"`
	} `json:"facts"`
}

func (d *doctorDoc) of(t *testing.T, id string) (verdict, reason string) {
	t.Helper()
	for _, m := range d.Means {
		if m.ID == id && m.Reason != nil {
			return m.Verdict, *m.Reason
		} else if m.ID == id {
			return m.Verdict, ""
		}
	}
	t.Fatalf("no means %s", id)
	return "", ""
}

func parseDoctor(t *testing.T, r ran) *doctorDoc {
	t.Helper()
	var d doctorDoc
	if err := json.Unmarshal([]byte(r.out), &d); err != nil {
		t.Fatalf("%v in %+v", err, r)
	}
	return &d
}

func TestDoctor(t *testing.T) {
	lab.NeedRoot(t)
	r := runIt(t, "doctor", "--json")
	d := parseDoctor(t, r)
	if (r.status == exitOK) != (len(d.Usable) > 0) || r.err != "" {
		t.Errorf("status %d with %v, %q", r.status, d.Usable, r.err)
	}
	if len(d.Means) != 8 || len(d.Facts) < 30 || d.Kernel == "" {
		t.Errorf("%+v", d)
	}
	for i, id := range []string{"block", "fs", "cpu", "offcpu", "runq"} {
		v := d.Verbs[i]
		if v.ID != id || (v.Verdict == "usable") != (v.Means != nil && v.Reason == nil) {
			t.Errorf("%+v", v)
		}
		if run := runIt(t, id, "--for", "100ms", "--json"); (run.status == exitOK) != (v.Verdict == "usable") {
			t.Errorf("%s is said to be %s, and ends with %d: %s", id, v.Verdict, run.status, run.err)
		}
	}
	if d.Used == nil {
		t.Skip("no means that iowitness takes works here")
	}
	file := filepath.Join(t.TempDir(), "doctor")
	runIt(t, "doctor", "-o", file).expect(t, exitOK, "")
	text := runIt(t, "doctor")
	for _, part := range []string{*d.Used + " (used)", "lockdown", "means, best first", "besides waits", d.Kernel} {
		if !strings.Contains(text.out, part) {
			t.Errorf("%q is not in %s", part, text.out)
		}
	}
	means := witness(t, nil, "--for", "100ms").Means
	if means["wait"] != *d.Used {
		t.Errorf("%s is said to be used, and %s is", *d.Used, means["wait"])
	}
}

func TestDoctorWithoutPrivileges(t *testing.T) {
	lab.NeedRoot(t)
	r := runCmd(t, asNobody(t, nil, "doctor", "--json"))
	d := parseDoctor(t, r)
	if verdict, reason := d.of(t, "tp_btf"); verdict != "untried" || !strings.Contains(reason, "CAP_BPF and CAP_PERFMON") || strings.Contains(reason, "MEMLOCK") {
		t.Errorf("%s, %s", verdict, reason)
	}
	d = parseDoctor(t, runCmd(t, asNobody(t, []uintptr{unix.CAP_PERFMON}, "doctor", "--json")))
	if _, reason := d.of(t, "raw_tp"); !strings.Contains(reason, "lacks CAP_BPF:") {
		t.Errorf("%s", reason)
	}
}

// TestDoctorWithoutBTF (case E8).
func TestDoctorWithoutBTF(t *testing.T) {
	lab.NeedRoot(t)
	saved := filepath.Join(t.TempDir(), "btf")
	lab.Run(t, "cp", "/sys/kernel/btf/vmlinux", saved)
	hidden := func(args string) *doctorDoc {
		return parseDoctor(t, runIn(t, fmt.Sprintf("mount -t tmpfs none /sys/kernel/btf && exec %s doctor --json %s", binary, args)))
	}
	d := hidden("")
	for id, says := range map[string]string{"tp_btf": "no type information of its own", "raw_tp": "--btf", "tp": "--btf"} {
		if verdict, reason := d.of(t, id); verdict != "unusable" || !strings.Contains(reason, says) {
			t.Errorf("%s: %s, %s", id, verdict, reason)
		}
	}
	if verdict, reason := hidden("--btf "+saved).of(t, "raw_tp"); verdict != "usable" && strings.Contains(reason, "--btf") {
		t.Errorf("%s, %s", verdict, reason)
	}
	runIt(t, "doctor", "--btf", "/nonexistent").expect(t, exitError, "/nonexistent")
}

// TestDoctorWithoutTracefs (case F1): hidden or not, it is found or mounted for oneself.
func TestDoctorWithoutTracefs(t *testing.T) {
	lab.NeedRoot(t)
	r := runIn(t, fmt.Sprintf("umount -R /sys/kernel/tracing /sys/kernel/debug 2>/dev/null; mount -t tmpfs none /sys/kernel/debug; exec %s doctor --json", binary))
	d := parseDoctor(t, r)
	if d.Facts["tracefs"].Value == nil {
		t.Errorf("tracefs: %v", d.Facts["tracefs"])
	}
}

func TestDoctorDescribesItself(t *testing.T) {
	if r := runIt(t, "doctor", "--schema"); r.status != exitOK || !json.Valid([]byte(r.out)) {
		t.Errorf("%+v", r)
	}
	if r := runIt(t, "doctor", "--markdown"); r.status != exitOK || !strings.Contains(r.out, "| `task_delayacct` |") || !strings.Contains(r.out, "_raw_spin_") {
		t.Errorf("%+v", r)
	}
	runIt(t, "doctor", "--schema", "--json").expect(t, exitUsage, "--schema")
}
