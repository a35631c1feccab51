// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	iofs "io/fs"
	"os"
	"strings"
	"testing"

	"github.com/iowitness/iowitness/lab"
	"github.com/iowitness/iowitness/tracefs"
)

// needProbes skips where no kernel function can be probed.
func needProbes(t *testing.T) {
	t.Helper()
	if !lab.Guest() {
		t.Skip("functions are probed in the lab's guests: hosts may forbid it")
	}
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

type callsDocument struct {
	Means     string
	Functions int
	Rows      []struct {
		Function      string
		Keys          map[string]string
		Count, Errors uint64
		TotalNS       uint64 `json:"total_ns"`
		OwnNS         uint64 `json:"own_ns"`
		MaxNS         uint64 `json:"max_ns"`
		MedianNS      uint64 `json:"p50_ns"`
		Histogram     []struct{ Count uint64 }
		Peaks         []struct {
			NS      uint64
			Percent float64
		}
	}
	UnderWay uint64 `json:"under_way"`
	Lost     map[string]struct{ Count uint64 }
	Notes    []string
}

func funcDocument(t *testing.T, args ...string) callsDocument {
	t.Helper()
	file := t.TempDir() + "/report"
	split := len(args)
	for i, a := range args {
		if a == "--" {
			split = i
		}
	}
	full := append(append([]string{"func", "--json", "-o", file}, args[:split]...), args[split:]...)
	if r := runIt(t, full...); r.status != exitOK {
		t.Fatalf("status %d: %s", r.status, r.err)
	}
	var d callsDocument
	if err := json.Unmarshal([]byte(readFile(t, file)), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// TestFuncCountsWhatTheFilterWants: writes of a size that only the command makes,
// each once, by each means, with what they returned.
func TestFuncCountsWhatTheFilterWants(t *testing.T) {
	needProbes(t)
	for _, via := range []string{"fexit", "kretprobe", "tracefs"} {
		t.Run(via, func(t *testing.T) {
			d := funcDocument(t, "vfs_write", "--where", `count == 777 && comm == "dd"`, "--by", "comm,count,ret", "--via", via,
				"--", "dd", "if=/dev/zero", "of=/dev/null", "bs=777", "count=1000")
			if len(d.Rows) != 1 || d.Rows[0].Count != 1000 || d.Rows[0].Keys["ret"] != "777" || d.Rows[0].Keys["count"] != "777" || d.Rows[0].Keys["comm"] != "dd" {
				t.Fatalf("%+v", d)
			}
			var slots uint64
			for _, s := range d.Rows[0].Histogram {
				slots += s.Count
			}
			if row := d.Rows[0]; slots != 1000 || row.TotalNS < row.MaxNS || row.MaxNS == 0 || row.OwnNS != row.TotalNS || row.Errors != 0 {
				t.Errorf("%+v", row)
			}
			if d.Means != via {
				t.Errorf("by %s", d.Means)
			}
		})
	}
}

// TestFuncListsCalls: arguments, fields through pointers, strings and results of single calls.
func TestFuncListsCalls(t *testing.T) {
	needProbes(t)
	file := t.TempDir() + "/lines"
	r := runIt(t, "func", "vfs_write", "--where", "count == 778", "--print", "file->f_path.dentry->d_name.name", "--print", "count", "--print", "ret", "--json",
		"-o", file, "--", "dd", "if=/dev/zero", "of=/dev/null", "bs=778", "count=3")
	lines := strings.Split(strings.TrimSpace(readFile(t, file)), "\n")
	if len(lines) != 3 || !strings.Contains(lines[0], `"file->f_path.dentry->d_name.name":"null"`) && !strings.Contains(lines[0], `d_name.name":"null"`) || !strings.Contains(lines[2], `"result":"778"`) {
		t.Errorf("status %d: %s\n%q", r.status, r.err, lines)
	}
}

// TestFuncSaysWhatIsWrong: in one sentence, and exits with 2.
func TestFuncSaysWhatIsWrong(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"*"}, "all functions of the kernel"},
		{[]string{"_raw_spin_lock"}, "spin lock"},
		{[]string{"vfs_raed"}, "vfs_read"},
		{[]string{"no_such_thing_*"}, "no function here is called no_such_thing_*"},
		{[]string{"no_such_thing:*"}, "no module that is called no_such_thing is loaded"},
		{[]string{"sched:*"}, "no module that is called sched is loaded: functions of the kernel itself go by their names, such as 'sched_*'; iowitness list 'sched:*' shows tracepoints"},
		{[]string{"vfs:vfs_read"}, "such as 'vfs_read'"},
		{[]string{"schedule"}, "sched_switch"},
		{[]string{"vfs_read", "--where", "count >"}, "character"},
		{[]string{"vfs_read", "--where", "file->f_pasition == 1"}, "f_pos"},
		{[]string{"vfs_read", "--sample", "0"}, "--sample"},
		{nil, "name a function"},
	} {
		runIt(t, append([]string{"func"}, c.args...)...).expect(t, exitUsage, c.want)
	}
}

// TestCallsShowsTrees: what a read does within, with its own time.
func TestCallsShowsTrees(t *testing.T) {
	needProbes(t)
	for _, via := range []string{"kretprobe", "tracefs"} {
		t.Run(via, func(t *testing.T) { showsTrees(t, via) })
	}
}

func showsTrees(t *testing.T, via string) {
	file := t.TempDir() + "/trees"
	if r := runIt(t, "calls", "ksys_read", "--inside", "vfs_read,rw_verify_area", "--where", "count == 779", "--json", "--via", via, "-o", file,
		"--", "dd", "if=/dev/zero", "of=/dev/null", "bs=779", "count=5"); r.status != exitOK {
		t.Fatal(r.err)
	}
	type node struct {
		Function  string
		LatencyNS uint64 `json:"latency_ns"`
		OwnNS     uint64 `json:"own_ns"`
		Fields    map[string]*string
		Result    string
		Calls     []node
	}
	n := 0
	for line := range strings.Lines(readFile(t, file)) {
		var root node
		if err := json.Unmarshal([]byte(line), &root); err != nil {
			t.Fatal(err)
		}
		n++
		if root.Function != "ksys_read" || root.Result != "779" || len(root.Calls) != 1 || root.Calls[0].Function != "vfs_read" || root.Calls[0].Result != "779" {
			t.Fatalf("%s", line)
		}
		if inner := root.Calls[0]; inner.LatencyNS > root.LatencyNS || root.OwnNS != root.LatencyNS-inner.LatencyNS {
			t.Errorf("%s", line)
		}
	}
	if n != 5 {
		t.Errorf("%d trees of 5 reads", n)
	}
}

// TestFuncByTracefsDies: after kill -9 the kernel records nothing more, and the next run
// takes away what is left.
func TestFuncByTracefsDies(t *testing.T) {
	needProbes(t)
	fs, err := tracefs.Open("/")
	if err != nil {
		t.Fatal(err)
	}
	defer fs.Close()
	left := func() (instances []string, probes int) {
		entries, err := iofs.ReadDir(fs.Files(), "instances")
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), "iowitness") {
				instances = append(instances, e.Name())
			}
		}
		all, err := fs.Probes()
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range all {
			if strings.HasPrefix(p.Group, "iowitness") {
				probes++
			}
		}
		return instances, probes
	}
	s := startIt(t, "func", "vfs_write", "--via", "tracefs")
	if instances, probes := left(); len(instances) != 2 || probes != 2 {
		t.Fatalf("%v, %d probes", instances, probes)
	}
	s.cmd.Process.Kill()
	s.cmd.Wait()
	instances, _ := left()
	for _, i := range instances {
		on, err := iofs.ReadFile(fs.Files(), "instances/"+i+"/tracing_on")
		if err != nil || strings.TrimSpace(string(on)) != "0" {
			t.Errorf("%s is on after the program's death: %q, %v", i, on, err)
		}
	}
	if len(instances) == 0 {
		t.Error("nothing is left after kill -9: this is no test")
	}
	if d := funcDocument(t, "vfs_write", "--via", "tracefs", "--", "true"); d.Means != "tracefs" {
		t.Errorf("%+v", d)
	}
	if instances, probes := left(); len(instances) > 0 || probes > 0 {
		t.Errorf("left behind: %v, %d probes", instances, probes)
	}
}

// TestFuncByTracefsSaysWhatItCannot: memory of the kernel is not read.
func TestFuncByTracefsSaysWhatItCannot(t *testing.T) {
	needProbes(t)
	runIt(t, "func", "vfs_write", "--where", "file->f_pos == 1", "--via", "tracefs", "--for", "1s").expect(t, exitUnsupported, "reads memory")
	runIt(t, "func", "vfs_write", "--by", "cgroup", "--via", "tracefs", "--for", "1s").expect(t, exitUnsupported, "cgroup")
}
