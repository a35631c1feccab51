// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/iowitness/iowitness/lab"
)

// profileDoc is what tests read of the documents of cpu, offcpu and runq.
type profileDoc struct {
	Profile   string
	Count     uint64
	TotalNS   uint64 `json:"total_ns"`
	Functions []struct {
		Function  string
		Module    string
		SelfCount uint64 `json:"self_count"`
		SelfNS    uint64 `json:"self_ns"`
		TotalNS   uint64 `json:"total_ns"`
	}
	Processes []struct {
		PID   uint32
		NSPID *uint32
		Comm  string
		NS    uint64
	}
	Stacks []struct {
		PID          uint32
		Thread       string
		State, Waker string
		NS           uint64
		Kernel, User []string
	}
	Lost    map[string]lossDoc
	Notes   []string
	Command *struct {
		ExitCode int `json:"exit_code"`
	}
}

func readProfile(t *testing.T, b []byte) (doc profileDoc) {
	t.Helper()
	if err := json.Unmarshal(b, &doc); err != nil {
		t.Fatalf("%v: %s", err, b)
	}
	return doc
}

// profileOf profiles a workload from its begin to its end.
func profileOf(t *testing.T, w lab.Workload, args ...string) (profileDoc, lab.Truth) {
	t.Helper()
	cmd, truthFile := command(t, w)
	out := filepath.Join(t.TempDir(), "out.json")
	run := exec.Command(binary, append(append(args, "--json", "-o", out, "--"), cmd.Args...)...)
	run.Env, run.Stderr = cmd.Env, os.Stderr
	if err := run.Run(); err != nil {
		t.Fatalf("iowitness %v: %v", args, err)
	}
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return readProfile(t, b), lab.ReadTruth(t, truthFile)
}

func TestProfilesRefuseBadInputInOneSentence(t *testing.T) {
	for _, test := range []struct {
		args   string
		status int
		says   string
	}{
		{"cpu --frequency 0", exitUsage, "1 to 1000"},
		{"cpu --frequency 100000", exitUsage, "1 to 1000"},
		{"cpu --flame out.png", exitUsage, ".svg"},
		{"cpu --event branches", exitUsage, "--event"},
		{"cpu --for=-1s", exitUsage, "negative"},
		{"cpu --json --folded", exitUsage, "choose one"},
		{"cpu --", exitUsage, "no command after --"},
		{"cpu surplus", exitUsage, "surplus"},
		{"offcpu --state drowsy", exitUsage, "sleeping"},
		{"offcpu --via ptrace", exitUsage, "tp_btf"},
		{"runq --slower 0s", exitUsage, "more than 0"},
		{"runq --interval 1ms", exitUsage, "at least"},
	} {
		runIt(t, strings.Fields(test.args)...).expect(t, test.status, test.says)
	}
}

func TestProfilesOfWhatIsNotThere(t *testing.T) {
	lab.NeedRoot(t)
	for _, verb := range []string{"cpu", "offcpu", "runq"} {
		runIt(t, verb, "--pid", "4194303", "--for", "1s").expect(t, exitError, "no process with pid 4194303")
		runIt(t, verb, "--cgroup", "/no/such", "--for", "1s").expect(t, exitUsage, "no cgroup")
		runIt(t, verb, "--for", "1s", "-o", "/nonexistent/file").expect(t, exitError, "/nonexistent/file")
	}
	for _, verb := range []string{"offcpu", "runq"} {
		runIt(t, verb, "--via", "fexit", "--for", "1s").expect(t, exitUnsupported, "tp_btf")
	}
	if _, err := os.Stat("/sys/bus/event_source/devices/cpu"); err != nil {
		runIt(t, "cpu", "--event", "cycles", "--for", "1s").expect(t, exitUnsupported, "no performance counters")
	}
}

// TestAShortCommandsFunctionsAreNamed, though it has ended when they are told.
func TestAShortCommandsFunctionsAreNamed(t *testing.T) {
	lab.NeedRoot(t)
	doc, truth := profileOf(t, lab.Workload{Name: "spin", Args: []string{"400"}}, "cpu", "--frequency", "499")
	var spun, all uint64
	for _, p := range doc.Processes {
		if p.PID == uint32(truth.PID) {
			all = p.NS
		}
	}
	for _, f := range doc.Functions {
		if strings.HasSuffix(f.Function, "lab.spinFor") {
			spun = f.TotalNS
		}
	}
	if all < uint64(truth.CPU)*8/10 || spun < all*8/10 {
		t.Errorf("of %v on the CPU %v are told, %v of them in spinFor: %+v", truth.CPU, time.Duration(all), time.Duration(spun), doc.Functions)
	}
	if doc.Command == nil || doc.Command.ExitCode != 0 {
		t.Errorf("command: %+v", doc.Command)
	}
}

// TestASleepIsToldByItsStack, with what ends it.
func TestASleepIsToldByItsStack(t *testing.T) {
	lab.NeedRoot(t)
	doc, truth := profileOf(t, lab.Workload{Name: "sleeper", Args: []string{"10", "50"}}, "offcpu")
	var slept uint64
	for _, s := range doc.Stacks {
		if s.PID != uint32(truth.PID) || s.Thread != "sleeper" || s.State != "sleeping" || !strings.Contains(strings.Join(s.Kernel, " "), "nanosleep") {
			continue
		}
		slept += s.NS
		if s.Waker == "thread" || s.Waker == "unseen" || !strings.Contains(strings.Join(s.User, " "), "lab.sleeper") {
			t.Errorf("%+v", s)
		}
	}
	if slept < uint64(truth.Total)*8/10 || slept > uint64(truth.Total)*102/100 {
		t.Errorf("slept %v, told %v", truth.Total, time.Duration(slept))
	}
}

// TestProfilesAsFiles: each form of a profile has what was seen.
func TestProfilesAsFiles(t *testing.T) {
	lab.NeedRoot(t)
	dir := t.TempDir()
	cmd, _ := command(t, lab.Workload{Name: "spin", Args: []string{"300"}})
	for _, verb := range []string{"cpu", "offcpu", "runq"} {
		html, svg, pb, folded := filepath.Join(dir, verb+".html"), filepath.Join(dir, verb+".svg"), filepath.Join(dir, verb+".pb.gz"), filepath.Join(dir, verb+".txt")
		for _, args := range [][]string{{"--flame", html, "--pprof", pb}, {"--flame", svg, "--folded", "-o", folded}} {
			run := exec.Command(binary, append(append(append([]string{verb}, args...), "--"), cmd.Args...)...)
			run.Env = cmd.Env
			if out, err := run.CombinedOutput(); err != nil {
				t.Fatalf("%s %v: %v: %s", verb, args, err, out)
			}
		}
		for file, has := range map[string]string{html: "</html>", svg: "</svg>", folded: "lab.spinFor"} {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if verb != "cpu" && file == folded {
				has = "\n"
			}
			if !strings.Contains(string(b), has) {
				t.Errorf("%s has no %q", filepath.Base(file), has)
			}
		}
		if info, err := os.Stat(pb); err != nil || info.Size() < 100 {
			t.Errorf("%s: %v, %v", pb, info, err)
		}
	}
}

// TestHostileNamesBreakNoProfile (case J3).
func TestHostileNamesBreakNoProfile(t *testing.T) {
	lab.NeedRoot(t)
	dir := t.TempDir()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range hostile {
		file := filepath.Join(dir, name)
		lab.Run(t, "cp", exe, file)
		works := []lab.Workload{{Name: "sleeper", Args: []string{"100000", "1"}}}
		if i == 0 {
			works = append(works, lab.Workload{Name: "spin", Args: []string{"60000"}})
		}
		for _, work := range works {
			c := work.Start(t, func(cmd *exec.Cmd) { cmd.Path = file })
			c.Go()
			defer c.End()
		}
	}
	time.Sleep(300 * time.Millisecond)
	for _, verb := range []string{"cpu", "offcpu", "runq"} {
		for _, form := range [][]string{{}, {"--json"}, {"--folded"}} {
			r := runIt(t, append([]string{verb, "--for", "500ms", "--top", "0"}, form...)...)
			if r.status != exitOK || !utf8.ValidString(r.out) || strings.ContainsAny(r.out, "\x1b\r\t") {
				t.Errorf("%s %v: status %d, %.300q", verb, form, r.status, r.out)
			}
		}
	}
}

// TestTheCommandsStatusIsPassedOnByProfiles, and its own output stays its own.
func TestTheCommandsStatusIsPassedOnByProfiles(t *testing.T) {
	lab.NeedRoot(t)
	for _, verb := range []string{"cpu", "offcpu", "runq"} {
		r := runIt(t, verb, "--", "sh", "-c", "echo mine; exit 7")
		if r.status != 7 || r.out != "mine\n" || !strings.Contains(r.err, "iowitness "+verb) {
			t.Errorf("%s: %+v", verb, r)
		}
		if r := runIt(t, verb, "--", "/no/such/command"); r.status != exitNotFound {
			t.Errorf("%s: %+v", verb, r)
		}
	}
}

// TestProfilesKeepTheirBounds: they detach at --max-cost and at --max-time, and say so.
func TestProfilesKeepTheirBounds(t *testing.T) {
	lab.NeedRoot(t)
	for _, verb := range []string{"cpu", "offcpu", "runq"} {
		r := runIt(t, verb, "--max-cost", "0.0001", "--for", "60s")
		if r.status != exitError || !strings.Contains(r.out, "without stacks, more than the 0.0% that it may: detached") || !strings.Contains(r.err, "max-cost") {
			t.Errorf("%s: %+v", verb, r)
		}
		began := time.Now()
		r = runIt(t, verb, "--max-time", "1s", "--", "sh", "-c", "sleep 2; exit 3")
		if took := time.Since(began); r.status != 3 || took < 2*time.Second || !strings.Contains(r.err, "longer than --for or --max-time") {
			t.Errorf("%s: after %v %+v", verb, took, r)
		}
	}
}

// TestProfilesLeaveThemselvesOut (case F7), unless they are asked not to.
func TestProfilesLeaveThemselvesOut(t *testing.T) {
	lab.NeedRoot(t)
	for _, test := range []struct {
		args []string
		seen bool
	}{{nil, false}, {[]string{"--include-self"}, true}} {
		cmd := exec.Command(binary, append([]string{"offcpu", "--json", "--for", "700ms"}, test.args...)...)
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		seen := false
		for _, p := range readProfile(t, out).Processes {
			seen = seen || p.PID == uint32(cmd.Process.Pid)
		}
		if seen != test.seen {
			t.Errorf("%v: its own process is seen: %v", test.args, seen)
		}
	}
}

// TestSharesAreThoseOfPerf: the ten functions that have most of a load by perf record, which samples at
// the same time, have as much of it by us.
func TestSharesAreThoseOfPerf(t *testing.T) {
	lab.NeedRoot(t)
	if _, err := exec.LookPath("perf"); err != nil || lab.Guest() || testing.Short() {
		t.Skip("needs perf, and half a minute")
	}
	// Ahead of all others on a busy machine: shares of few samples are worth little.
	work := exec.Command("nice", "-n", "-20", "dd", "if=/dev/zero", "of=/dev/null", "bs=4k")
	if err := work.Start(); err != nil {
		t.Fatal(err)
	}
	defer work.Wait()
	defer work.Process.Kill()
	time.Sleep(300 * time.Millisecond)
	pid := fmt.Sprint(work.Process.Pid)
	data := filepath.Join(t.TempDir(), "perf.data")
	perf := exec.Command("perf", "record", "-q", "-F", "997", "-e", "cpu-clock", "-a", "-o", data, "--", "sleep", "12")
	if err := perf.Start(); err != nil {
		t.Fatal(err)
	}
	r := runIt(t, "cpu", "--json", "--event", "cpu-clock", "--frequency", "997", "--for", "12s", "--pid", pid, "--max-cost", "0")
	if err := perf.Wait(); err != nil || r.status != exitOK {
		t.Fatalf("%v, %+v", err, r)
	}
	theirs, n := map[string]float64{}, 0.0
	for line := range strings.Lines(lab.Run(t, "perf", "script", "-i", data, "--pid", pid, "-F", "ip,sym")) {
		if fields := strings.Fields(line); len(fields) == 2 {
			theirs[plainName(fields[1])]++
			n++
		}
	}
	ours, total := map[string]float64{}, 0.0
	for _, f := range readProfile(t, []byte(r.out)).Functions {
		ours[plainName(f.Function)] += float64(f.SelfCount)
		total += float64(f.SelfCount)
	}
	if n < 3000 || total < 3000 {
		t.Skipf("the machine is too busy: %v and %v samples", n, total)
	}
	names := slices.SortedFunc(maps.Keys(theirs), func(a, b string) int { return cmp.Compare(theirs[b], theirs[a]) })
	for _, name := range names[:min(10, len(names))] {
		perf, own := 100*theirs[name]/n, 100*ours[name]/total
		t.Logf("%s: %.2f%% by perf, %.2f%% by us", name, perf, own)
		if perf-own > 2 || own-perf > 2 {
			t.Errorf("%s has %.2f%% by perf, %.2f%% by us", name, perf, own)
		}
	}
}

// plainName is one name of the several that libc has for a function; of none perf says [unknown].
func plainName(name string) string {
	return strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(name, "[unknown]"), "__GI_"), "__libc_")
}

// TestProfilesTellPIDsOfTheCallersNamespace (case I1): those that they take, and those that they print.
func TestProfilesTellPIDsOfTheCallersNamespace(t *testing.T) {
	lab.NeedRoot(t)
	for _, verb := range []string{"cpu", "offcpu", "runq"} {
		r := inPIDNamespace(t, verb+" --json --for 1s --pid $work; echo $work; cat /proc/$work/comm")
		var doc profileDoc
		d := json.NewDecoder(strings.NewReader(r.out))
		if err := d.Decode(&doc); r.status != exitOK || err != nil {
			t.Fatalf("%s: %v, %+v", verb, err, r)
		}
		text, want := r.out[:d.InputOffset()], strings.Fields(r.out[d.InputOffset():])
		if len(doc.Processes) != 1 || len(want) != 2 || fmt.Sprint(doc.Processes[0].PID) != want[0] || doc.Processes[0].Comm != want[1] {
			t.Errorf("%s: %+v, not %q", verb, doc.Processes, want)
		}
		if verb != "runq" && !strings.Contains(text, "direct") {
			t.Errorf("%s: no function of the program is named: %s", verb, text)
		}
	}
	// Those outside have no number here, and are told all the same.
	r := inPIDNamespace(t, "cpu --json --for 1s")
	if doc := readProfile(t, []byte(r.out)); r.status != exitOK || doc.Count == 0 {
		t.Errorf("%+v", r)
	}
}

// TestAProcessOfAContainerHasItsOwnNumberToo.
func TestAProcessOfAContainerHasItsOwnNumberToo(t *testing.T) {
	lab.NeedRoot(t)
	c := lab.Workload{Name: "compete", Args: []string{"60000", "60000"}}.Start(t, func(cmd *exec.Cmd) {
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
	})
	c.Go()
	defer c.End()
	for _, verb := range []string{"cpu", "runq"} {
		r := runIt(t, verb, "--json", "--for", "1s", "--pid", fmt.Sprint(c.PID()))
		r.expect(t, exitOK, "")
		doc := readProfile(t, []byte(r.out))
		if len(doc.Processes) != 1 || doc.Processes[0].PID != c.PID() || doc.Processes[0].NSPID == nil || *doc.Processes[0].NSPID != 1 {
			t.Errorf("%s: %+v", verb, doc.Processes)
		}
	}
}

// TestACommandIsCalledByItsNameFromItsFirstInstant, however short it is, and nothing is told of processes
// that are made only to start it.
func TestACommandIsCalledByItsNameFromItsFirstInstant(t *testing.T) {
	lab.NeedRoot(t)
	for _, verb := range []string{"offcpu", "runq"} {
		out := filepath.Join(t.TempDir(), "out.json")
		runIt(t, verb, "--json", "--max-cost", "0", "-o", out, "--", "true").expect(t, exitOK, "")
		b, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		var pairs struct {
			Pairs []struct {
				Woken string `json:"woken_comm"`
			}
		}
		if err := json.Unmarshal(b, &pairs); err != nil {
			t.Fatal(err)
		}
		doc := readProfile(t, b)
		if len(doc.Processes) > 1 || verb == "runq" && (len(doc.Processes) == 0 || len(pairs.Pairs) == 0) {
			t.Errorf("%s: %s", verb, b)
		}
		for _, p := range doc.Processes {
			if p.Comm != "true" {
				t.Errorf("%s: %+v", verb, p)
			}
		}
		for _, s := range doc.Stacks {
			if s.Thread != "true" {
				t.Errorf("%s: %+v", verb, s)
			}
		}
		for _, p := range pairs.Pairs {
			if p.Woken != "true" {
				t.Errorf("%s: %+v", verb, p)
			}
		}
	}
}
