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
		{[]string{"--fields", "--tracepoints"}, "fields anyway"},
		{[]string{"vfs_raed"}, "vfs_read"},
		{[]string{"no_such:*"}, "no function"},
	} {
		runIt(t, append([]string{"list"}, c.args...)...).expect(t, exitUsage, c.want)
	}
	if _, err := os.Stat("/sys/kernel/btf/vmlinux"); err == nil {
		runIt(t, "list", "vfs_read", "--of", "file->f_pasition").expect(t, exitUsage, "f_pos")
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
