// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/iowitness/iowitness/lab"
)

type stepDoc struct{ Function, Error string }

type failedDoc struct {
	Call, Error, Comm string
	PID               uint32
	Arguments         map[string]string
	Steps, Before     []stepDoc
	Callers           []string
	Cut               uint32
}

// path are the functions from the first that returned the error to the system call.
func (f *failedDoc) path() (names []string) {
	for _, s := range f.Steps {
		names = append(names, s.Function)
	}
	return append(names, f.Callers...)
}

type errorsDocument struct {
	Means     string
	Functions int
	AttachNS  int64 `json:"attach_ns"`
	Failed    uint64
	Deaths    []struct {
		Comm, Signal string
		PID          uint32
		Sender       *struct {
			Kernel     bool
			Code, Comm string
			PID        uint32
			Stack      []string
		}
		During *failedDoc
	}
	Rows []struct {
		Call, Error string
		Count, Told uint64
		Origins     []struct {
			Function *string
			Count    uint64
			Example  failedDoc
		}
	}
	Lost  map[string]struct{ Count uint64 }
	Notes []string
}

// lost is what went missing, where it is not nothing.
func (d *errorsDocument) lost() map[string]uint64 {
	lost := map[string]uint64{}
	for id, l := range d.Lost {
		if l.Count > 0 {
			lost[id] = l.Count
		}
	}
	return lost
}

// example is the first failed call of a name and error.
func (d *errorsDocument) example(t *testing.T, call, name string) *failedDoc {
	t.Helper()
	for i := range d.Rows {
		if r := &d.Rows[i]; r.Call == call && r.Error == name && len(r.Origins) > 0 {
			return &r.Origins[0].Example
		}
	}
	t.Fatalf("no %s failed with %s: %+v", call, name, d.Rows)
	return nil
}

func runErrors(t *testing.T, status int, args ...string) *errorsDocument {
	t.Helper()
	file := t.TempDir() + "/report"
	if r := runIt(t, append([]string{"errors", "--json", "-o", file}, args...)...); r.status != status {
		if r.status == exitUnsupported && !lab.Guest() {
			t.Skip(r.err)
		}
		t.Fatalf("status %d, not %d: %s", r.status, status, r.err)
	}
	var d errorsDocument
	if err := json.Unmarshal([]byte(readFile(t, file)), &d); err != nil {
		t.Fatal(err)
	}
	return &d
}

// TestErrorsTellsWhoSentASignal, and which calls failed with which arguments.
func TestErrorsTellsWhoSentASignal(t *testing.T) {
	const killed = exitSignal + 9
	d := runErrors(t, killed, "--via", "none", "--", "sh", "-c", "cat /no/such/file; cat '/no/\x1bsuch'; kill -9 $$")
	if len(d.Deaths) != 1 || d.Deaths[0].Signal != "SIGKILL" || d.Deaths[0].Sender == nil {
		t.Fatalf("%+v", d.Deaths)
	}
	if s := d.Deaths[0].Sender; s.Kernel || s.PID != d.Deaths[0].PID || s.Code != "SI_USER" {
		t.Errorf("%+v", s)
	}
	var sum uint64
	for _, r := range d.Rows {
		sum += r.Count
	}
	if sum != d.Failed || d.Failed < 2 {
		t.Errorf("%d failed, %d in rows", d.Failed, sum)
	}
	file := t.TempDir() + "/text"
	runIt(t, "errors", "--via", "none", "-o", file, "--", "cat", "/no/\x1bsuch")
	if text := readFile(t, file); strings.Contains(text, "\x1b") || !strings.Contains(text, `/no/\x1bsuch`) || !strings.Contains(text, "ENOENT") {
		t.Errorf("%s", text)
	}
}

// TestTheWayOutOfAHandlerIsNoFailure: it gives back what the call that was interrupted has returned, once.
func TestTheWayOutOfAHandlerIsNoFailure(t *testing.T) {
	d := runErrors(t, exitOK, "--via", "none", "--", "sh", "-c", "trap : USR1; (sleep 0.3; kill -USR1 $$) & wait; true")
	interrupted := uint64(0)
	for _, r := range d.Rows {
		switch r.Call {
		case "rt_sigreturn":
			t.Errorf("%+v", r)
		case "rt_sigsuspend", "wait4":
			if r.Error != "ECHILD" {
				interrupted += r.Count
			}
		}
	}
	if interrupted != 1 {
		t.Errorf("%d calls were interrupted, not 1: %+v", interrupted, d.Rows)
	}
}

// TestErrorsTellsOfACommandThatCannotRun: its execve is a system call that failed.
func TestErrorsTellsOfACommandThatCannotRun(t *testing.T) {
	file := t.TempDir() + "/noexec"
	if err := os.WriteFile(file, []byte("\x7fELF, not quite"), 0o755); err != nil {
		t.Fatal(err)
	}
	d := runErrors(t, exitCannotRun, "--via", "none", "--", file)
	if got := d.example(t, "execve", "ENOEXEC").Arguments["path"]; got != file {
		t.Errorf("execve of %q", got)
	}
}

// TestErrorsAreNotWitnessedByTracefs: what is offered instead is all there is.
func TestErrorsAreNotWitnessedByTracefs(t *testing.T) {
	for _, via := range []string{"tracefs", "nosuch"} {
		runIt(t, "errors", "--via", via, "--for", "1s").expect(t, exitUsage, "choose from fexit, kprobe_multi, kretprobe, none")
	}
}

// TestErrorsSaysWhatIsWrong with a call, in one sentence.
func TestErrorsSaysWhatIsWrong(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--families", "excc"}, "exec"},
		{[]string{"--families", "exec", "--functions", "vfs_read"}, "exclude each other"},
		{[]string{"--functions", "vfs_raed"}, "vfs_read"},
		{[]string{"--via", "magic"}, "--via"},
		{[]string{"--attach-for=-1s"}, "negative"},
		{[]string{"--buffer", "5"}, "power of two"},
	} {
		runIt(t, append([]string{"errors"}, c.args...)...).expect(t, exitUsage, c.want)
	}
}

// refusals are what the kernel does about a flaw. Where the loader maps a segment, kernels
// have divided the work in different ways: one of first has returned the error first.
var refusals = map[lab.Flaw]struct {
	error  string
	killed bool
	status int
	first  []string
}{
	lab.FileOverMemory: {error: "EINVAL", killed: true, status: exitSignal + 11, first: []string{"load_elf_binary"}},
	lab.Misaligned:     {error: "EINVAL", killed: true, status: exitSignal + 11, first: []string{"vm_mmap", "vm_mmap_pgoff", "elf_map", "elf_load"}},
	lab.BeyondMemory:   {error: "ENOMEM", killed: true, status: exitSignal + 11, first: []string{"get_unmapped_area", "__get_unmapped_area", "do_mmap", "vm_mmap_pgoff", "elf_map"}},
	lab.HeaderSize:     {error: "ENOEXEC", status: exitCannotRun, first: []string{"load_elf_binary"}},
	lab.NoInterpreter:  {error: "ENOENT", status: exitNotFound},
}

// interpreterOpeners open a program's interpreter: the second from 7.x on.
var interpreterOpeners = []string{"open_exec", "bprm_open_interpreter"}

// TestErrorsNamesWhoRefusesAProgram: the function in the loader of ELF files, how the error
// came out of execve, and who sent the signal where it was too late for an error.
func TestErrorsNamesWhoRefusesAProgram(t *testing.T) {
	needProbes(t)
	for i, flaw := range lab.Flaws {
		t.Run(string(flaw), func(t *testing.T) {
			want := refusals[flaw]
			file := fmt.Sprintf("%s/bad%d", t.TempDir(), i)
			if err := lab.BadELF(file, flaw); err != nil {
				t.Fatal(err)
			}
			families := "exec"
			if flaw == lab.NoInterpreter {
				families = "exec,path"
			}
			d := runErrors(t, want.status, "--families", families, "--attach-for", "60s", "--", file)
			t.Logf("%d functions by %s in %d ms; %v; lost %v; deaths %+v", d.Functions, d.Means, d.AttachNS/1e6, d.Notes, d.lost(), d.Deaths)
			f := d.example(t, "execve", want.error)
			t.Logf("%+v", *f)
			path := f.path()
			if f.Arguments["path"] != file || f.Cut != 0 || len(f.Steps) == 0 {
				t.Fatalf("%+v", f)
			}
			if want.first != nil && !slices.Contains(want.first, f.Steps[0].Function) {
				t.Errorf("first returned by %s, not by one of %v", f.Steps[0].Function, want.first)
			}
			for _, s := range f.Steps {
				if s.Error != want.error {
					t.Errorf("%s returned %s", s.Function, s.Error)
				}
			}
			if !slices.Contains(path, "load_elf_binary") || !slices.Contains(path, "bprm_execve") {
				t.Errorf("not through the loader: %v", path)
			}
			opens := func(name string) bool { return slices.Contains(interpreterOpeners, name) }
			if flaw == lab.NoInterpreter && !slices.ContainsFunc(path, opens) {
				t.Errorf("not by opening the interpreter: %v", path)
			}
			if !want.killed {
				if len(d.Deaths) != 0 {
					t.Errorf("%+v", d.Deaths)
				}
				return
			}
			if len(d.Deaths) != 1 || d.Deaths[0].Signal != "SIGSEGV" || d.Deaths[0].Sender == nil || d.Deaths[0].During == nil {
				t.Fatalf("%+v", d.Deaths)
			}
			death := d.Deaths[0]
			if !death.Sender.Kernel || death.Sender.Code != "SI_KERNEL" || !slices.Contains(death.Sender.Stack, "bprm_execve") {
				t.Errorf("%+v", death.Sender)
			}
			if death.During.Error != want.error || death.During.Steps[0] != f.Steps[0] {
				t.Errorf("%+v", death.During)
			}
		})
	}
}
