// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/iowitness/iowitness/lab"
)

func TestListSaysWhatIsWrong(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--fields"}, "name the function"},
		{[]string{"--of", "file", "--tracepoints", "sched:*"}, "of functions' arguments"},
		{[]string{"vfs_raed"}, "vfs_read"},
		{[]string{"no_such:*"}, "there is no module and no group of tracepoints that is called no_such"},
		{[]string{"no_such_*"}, "no function here is called no_such_*"},
		{[]string{"vfs_read", "no/such"}, "\"no/such\" is no name or pattern"},
		{[]string{"--tracepoints", "no_such:*"}, "no group of tracepoints that is called no_such"},
		{[]string{"--tracepoints", "sched_swich"}, "no tracepoint is called sched_swich (near: sched_switch)"},
	} {
		runIt(t, append([]string{"list"}, c.args...)...).expect(t, exitUsage, c.want)
	}
	if _, err := os.Stat("/sys/kernel/btf/vmlinux"); err == nil {
		runIt(t, "list", "vfs_read", "--of", "file->f_pasition").expect(t, exitUsage, "f_pos")
	}
}

// TestListTellsTracepointsWithTheirFields, and says where a group is no module.
func TestListTellsTracepointsWithTheirFields(t *testing.T) {
	lab.NeedRoot(t)
	for _, args := range [][]string{{"sched:sched_sw*"}, {"--tracepoints", "--fields", "sched:sched_sw*"}, {"--tracepoints", "--fields"}} {
		r := runIt(t, append([]string{"list"}, args...)...)
		if r.status != exitOK || !strings.Contains(r.out, "sched:sched_switch(") || !strings.Contains(r.out, "prev_pid") {
			t.Errorf("%v: %+v", args, r)
		}
	}
	runIt(t, "list", "sched:sched_swich").expect(t, exitUsage, "no tracepoint of the group sched is called sched_swich (near: sched_switch)")
	runIt(t, "list", "sched:sched_clock").expect(t, exitUsage, "no module of that name is loaded: functions of the kernel itself go by their names, such as 'sched_clock'")
	if r := runIt(t, "list", "sched:*"); !strings.Contains(r.out, "such as 'sched_*'") {
		t.Errorf("%+v", r)
	}
}

// TestListTellsTheMeans: what list says can be probed, func probes.
func TestListTellsTheMeans(t *testing.T) {
	needProbes(t)
	r := runIt(t, "list", "vfs_write", "schedule", "--json")
	var d struct {
		Functions []struct {
			Name, Signature, Denied string
			Means                   []struct{ ID, Verdict, Reason string }
		}
	}
	if err := json.Unmarshal([]byte(r.out), &d); err != nil || len(d.Functions) != 2 || d.Functions[1].Name != "vfs_write" {
		t.Fatalf("%v of %+v", err, r)
	}
	if !strings.Contains(d.Functions[0].Denied, "sched_switch") || !strings.Contains(d.Functions[1].Signature, "size_t count") {
		t.Errorf("%+v", d.Functions)
	}
	usable := 0
	for i, m := range d.Functions[1].Means {
		if d.Functions[0].Means[i].Verdict == "usable" {
			t.Errorf("schedule by %s", m.ID)
		}
		if m.Verdict != "usable" {
			t.Logf("%s: %s", m.ID, m.Reason)
			continue
		}
		usable++
		if got := funcDocument(t, "vfs_write", "--via", m.ID, "--", "true"); got.Means != m.ID {
			t.Errorf("%s was said to work, and %s did", m.ID, got.Means)
		}
	}
	if usable == 0 && lab.Guest() {
		t.Error("nothing can be probed in a guest")
	}
}
