// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/iowitness/iowitness/kernel"
	"github.com/iowitness/iowitness/probe"
)

// TestSwitchingThreadsIsNoFunctionToProbe (case D4): where all threads sleep at once returns go missing. It is
// refused, and said what tells of it.
func TestSwitchingThreadsIsNoFunctionToProbe(t *testing.T) {
	for _, args := range [][]string{
		{"func", "schedule"},
		{"func", "vfs_read", "schedule"},
		{"calls", "schedule"},
		{"calls", "vfs_read", "--inside", "schedule"},
		{"func", "schedule_timeout"},
		{"func", "try_to_wake_up"},
		{"func", "__schedule"},
	} {
		r := runIt(t, append(args, "--for", "1s")...)
		for _, tells := range []string{args[len(args)-1] + " cannot be witnessed", "iowitness offcpu or runq", "sched:sched_switch"} {
			r.expect(t, exitUsage, tells)
		}
	}
}

// TestResultsAreReadAtTheReturn (case D6): the arguments are those of the entry, and an error is told by its name,
// of results of 64 bits and of 32, by each means and wherever a result shows.
func TestResultsAreReadAtTheReturn(t *testing.T) {
	needProbes(t)
	const calls = 7
	// Nobody has memory at 0: a read there fails with EIO. Nobody has such a file either: its path is looked up in vain.
	read := []string{"dd", "if=/proc/self/mem", "of=/dev/null", "bs=4099", "count=1"}
	stat := []string{"stat", "/no/such/file/there/is"}
	for _, via := range []string{"fexit", "kretprobe", "tracefs"} {
		for _, c := range []struct {
			function, where, argument, value, result string
			command                                  []string
		}{
			{"vfs_read", `count == 4099 && ret == -EIO`, "count", "4099", "-EIO", read},
			{"filename_lookup", `ret == -ENOENT && comm == "stat"`, "", "", "-ENOENT", stat},
		} {
			t.Run(via+" "+c.function, func(t *testing.T) {
				script := fmt.Sprintf(`for i in $(seq %d); do "$@"; done; true`, calls)
				command := append([]string{"--", "sh", "-c", script, "sh"}, c.command...)
				by := "ret"
				if c.argument != "" {
					by += "," + c.argument
				}
				d := funcDocument(t, append([]string{c.function, "--where", c.where, "--by", by, "--via", via}, command...)...)
				if len(d.Rows) != 1 || d.Rows[0].Count != calls || d.Rows[0].Errors != calls || d.Rows[0].Keys["ret"] != c.result || d.Rows[0].Keys[c.argument] != c.value {
					t.Errorf("%+v", d)
				}
				file := t.TempDir() + "/lines"
				args := []string{"func", c.function, "--where", c.where, "--via", via, "--json", "-o", file, "--print", "ret"}
				if c.argument != "" {
					args = append(args, "--print", c.argument)
				}
				if r := runIt(t, append(args, command...)...); r.status != exitOK {
					t.Fatal(r.err)
				}
				n := 0
				for line := range strings.Lines(readFile(t, file)) {
					var one struct {
						Result, Error string
						Fields        map[string]string
					}
					if err := json.Unmarshal([]byte(line), &one); err != nil {
						t.Fatal(err)
					}
					if n++; one.Result != c.result || "-"+one.Error != c.result || one.Fields["ret"] != c.result || one.Fields[c.argument] != c.value {
						t.Errorf("%s", line)
					}
				}
				if n != calls {
					t.Errorf("%d lines of %d calls", n, calls)
				}
			})
		}
	}
}

// untraceable is a function that the kernel has, and that ftrace cannot witness.
func untraceable(t *testing.T) string {
	t.Helper()
	var names []string
	if _, err := kernel.ListFunctions("/", func(f kernel.FunctionSymbol) bool {
		if _, denied := probe.Denied(f.Name); !denied && f.Module == "" && kernel.BaseName(f.Name) == f.Name {
			names = append(names, f.Name)
		}
		return false
	}); err != nil {
		t.Fatal(err)
	}
	mounts := kernel.TracefsMounts("/", "")
	if len(mounts) == 0 {
		t.Skip("tracefs is not mounted")
	}
	listing := kernel.ReadTraceable(os.DirFS(mounts[0]), names)
	for _, name := range names {
		if listing.Known && listing.Has(name) == kernel.Off && !strings.HasPrefix(name, "__") {
			return name
		}
	}
	t.Skip("no function of this kernel is beyond ftrace")
	return ""
}

// TestOneFunctionThatCannotBeProbedEndsNothing (case E13): the others are witnessed, and it is named with the
// reason, by each means and whether a few functions are asked for or many.
func TestOneFunctionThatCannotBeProbedEndsNothing(t *testing.T) {
	needProbes(t)
	left := untraceable(t)
	for _, c := range []struct {
		patterns []string
		via      []string
	}{
		{[]string{"vfs_write", "vfs_read"}, []string{"--via", "fexit"}},
		{[]string{"vfs_write", "vfs_read"}, []string{"--via", "kretprobe"}},
		{[]string{"vfs_*"}, nil},
	} {
		t.Run(fmt.Sprint(c.patterns, c.via), func(t *testing.T) {
			args := slices.Concat(c.patterns, []string{left}, c.via, []string{"--where", "arg3 == 777", "--", "dd", "if=/dev/zero", "of=/dev/null", "bs=777", "count=100"})
			d := funcDocument(t, args...)
			t.Logf("%d functions by %s; %v", d.Functions, d.Means, d.Notes)
			if d.Functions < len(c.patterns) || len(c.patterns) == 1 && d.Functions < 25 {
				t.Errorf("%d functions are witnessed", d.Functions)
			}
			if !slices.ContainsFunc(d.Notes, func(n string) bool { return strings.Contains(n, left) && strings.Contains(n, "not witnessed: ") }) {
				t.Errorf("%s is not named in %q", left, d.Notes)
			}
			counted := map[string]uint64{}
			for _, row := range d.Rows {
				counted[row.Function] = row.Count
			}
			if counted["vfs_write"] != 100 || counted["vfs_read"] != 100 || counted[left] != 0 {
				t.Errorf("%v", counted)
			}
		})
	}
}

// attaching runs a tree of calls of many functions, which takes its time to attach.
func attaching(t *testing.T, via ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	errs := &bytes.Buffer{}
	cmd := exec.Command(binary, append([]string{"calls", "vfs_read", "--inside", "tcp_*", "--json"}, via...)...)
	cmd.Stderr = errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return cmd, errs
}

// linksOf waits until a process has attached so much, and tells how much; -1: it has ended.
func linksOf(t *testing.T, cmd *exec.Cmd, least int) int {
	t.Helper()
	dir := fmt.Sprintf("/proc/%d/fd", cmd.Process.Pid)
	for range 2400 {
		all, err := os.ReadDir(dir)
		if err != nil || len(all) == 0 {
			return -1
		}
		n := 0
		for _, fd := range all {
			to, _ := os.Readlink(dir + "/" + fd.Name())
			if strings.Contains(to, "bpf_link") || strings.Contains(to, "bpf-link") || strings.Contains(to, "perf_event") {
				n++
			}
		}
		if n >= least {
			return n
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("it does not attach")
	return 0
}

// ended is when a process ends after a signal or two, and how.
func ended(t *testing.T, cmd *exec.Cmd, signals int) (time.Duration, syscall.WaitStatus) {
	t.Helper()
	began := time.Now()
	for range signals {
		if err := cmd.Process.Signal(unix.SIGINT); err != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond)
	}
	var failed *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	return time.Since(began), cmd.ProcessState.Sys().(syscall.WaitStatus)
}

// TestAnInterruptEndsAttaching (case F6): hundreds of functions are attached to one by one, which takes long.
// A signal ends that soon, also where as many must be detached from, and a second one at once.
func TestAnInterruptEndsAttaching(t *testing.T) {
	needProbes(t)
	for _, c := range []struct {
		via     string
		signals int
	}{{"fexit", 1}, {"fexit", 2}, {"kretprobe", 1}} {
		t.Run(fmt.Sprintf("%s, %d", c.via, c.signals), func(t *testing.T) {
			cmd, errs := attaching(t, "--via", c.via)
			before := linksOf(t, cmd, 24)
			took, status := ended(t, cmd, c.signals)
			t.Logf("of %d links it ended after %v: %v %s", before, took, status, errs)
			if before < 0 || took > 30*time.Second { // the kernel waits for each: to attach to all would take minutes
				t.Errorf("it ended %v after the signal, of %d links", took, before)
			}
			if status.ExitStatus() != 128+int(unix.SIGINT) && status.Signal() != unix.SIGINT {
				t.Errorf("it ended with %v: %s", status, errs)
			}
		})
	}
	// What is attached by one probe for all takes no time worth a word.
	t.Run("as it chooses", func(t *testing.T) {
		if !strings.Contains(readFile(t, "/proc/kallsyms"), " register_fprobe_ips\n") {
			t.Skip("this kernel has no kprobe.multi")
		}
		began := time.Now()
		r := runIt(t, "calls", "vfs_read", "--inside", "tcp_*", "--json", "-o", os.DevNull, "--for", "1s")
		t.Logf("attached, witnessed for a second and detached in %v: %s", time.Since(began), r.err)
		if took := time.Since(began); took > time.Minute || r.status != exitOK || strings.Contains(r.err, "one by one") {
			t.Errorf("%v, status %d: %s", took, r.status, r.err)
		}
	})
}
