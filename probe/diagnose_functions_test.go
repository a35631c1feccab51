// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/iowitness/iowitness/diagnosis"
	"github.com/iowitness/iowitness/kernel"
)

// odd is a host whose symbols are as compilers and modules leave them.
func odd() *host {
	h := usual().with("proc/kallsyms", `ffffffff81000010 T io_schedule
ffffffff81000020 T io_schedule
ffffffff81000030 t io_schedule_timeout.cold
ffffffff81000040 t inode_dio_wait.isra.0
ffffffff81000050 t inode_dio_wait.part.1
ffffffff81000060 T mutex_lock_io
ffffffff81000070 t mutex_lock_io.constprop.0
ffffffff81000080 T reclaim_throttle
ffffffff81000090 T blk_queue_enter
ffffffff810000a0 T wb_wait_for_completion
ffffffffc0000000 t request_wait_answer	[fuse]
`).with("sys/kernel/debug/kprobes/blacklist", "0x1-0x2\treclaim_throttle\n").with("sys/module/fuse/x", "")
	names := "io_schedule\ninode_dio_wait.isra.0\ninode_dio_wait.part.1\nmutex_lock_io\nreclaim_throttle\nwb_wait_for_completion\nrequest_wait_answer [fuse]\n"
	h.traceable = kernel.ReadTraceable(fstest.MapFS{"available_filter_functions": {Data: []byte(names)}},
		[]string{"io_schedule", "inode_dio_wait.isra.0", "inode_dio_wait.part.1", "mutex_lock_io", "reclaim_throttle", "blk_queue_enter", "wb_wait_for_completion", "request_wait_answer"})
	return h
}

func functionOf(t *testing.T, r *diagnosis.Report, name string) *diagnosis.Function {
	t.Helper()
	i := slices.IndexFunc(r.Functions, func(f diagnosis.Function) bool { return f.Name == name })
	if i < 0 {
		t.Fatalf("%s is missing", name)
	}
	return &r.Functions[i]
}

func reasonOf(f *diagnosis.Function, m Means) string {
	for _, fm := range f.Means {
		if fm.ID == string(m) {
			return fm.Reason
		}
	}
	return "no such means"
}

func TestFunctionsThatAreOddlyThere(t *testing.T) {
	h := odd()
	h.symbols["io_schedule"] = fmt.Errorf("creating: %w", unix.EADDRNOTAVAIL)
	h.symbols["request_wait_answer"] = ebpf.ErrNotSupported
	r := h.diagnose(t)
	for _, c := range []struct {
		name   string
		usable string
		means  Means  // one that does not work
		says   string // why it does not
		note   string
	}{
		{"io_schedule", "tracefs kmod", Kretprobe, "2 functions have that name", "2 functions are called io_schedule"},
		{"io_schedule_timeout", "", Kretprobe, "no such function", "inlined"},
		{"inode_dio_wait", "kretprobe tracefs kmod", Fexit, "by its own name", "its arguments may be changed"},
		{"mutex_lock_io", "fexit kretprobe tracefs kmod", Fexit, "", "what runs by mutex_lock_io.constprop.0 is not seen"},
		{"reclaim_throttle", "fexit", Kretprobe, "blacklist", ""},
		{"blk_queue_enter", "kretprobe tracefs kmod", Fexit, "notrace", ""},
		{"wb_wait_for_completion", "fexit kretprobe tracefs kmod", Fexit, "", ""},
		{"request_wait_answer", "tracefs kmod", Fexit, "no type information of module fuse", "in module fuse"},
		{"xfs_buf_iowait", "", Fexit, "module xfs is not loaded", "module xfs is not loaded"},
	} {
		f := functionOf(t, r, c.name)
		if got := strings.Join(f.Usable(), " "); got != c.usable {
			t.Errorf("%s by %q, want %q: %+v", c.name, got, c.usable, f)
		}
		if got := reasonOf(f, c.means); !strings.Contains(got, c.says) || c.says == "" && got != "" {
			t.Errorf("%s: not %s because %q, want %q", c.name, c.means, got, c.says)
		}
		if !strings.Contains(f.Note, c.note) || c.note == "" && f.Note != "" {
			t.Errorf("%s: note %q, want %q", c.name, f.Note, c.note)
		}
	}
	if f := functionOf(t, r, "inode_dio_wait"); !f.ArgumentsChanged || len(f.Symbols) != 2 {
		t.Errorf("%+v", f)
	}
	if f := functionOf(t, r, "io_schedule"); f.Copies != 2 {
		t.Errorf("%+v", f)
	}
}

// TestTrialsOfFunctionsAreFewAndSafe: nothing that is known to fail is tried, and
// a trampoline is attached only where ftrace does not tell.
func TestTrialsOfFunctionsAreFewAndSafe(t *testing.T) {
	h := odd()
	h.symbols["wb_wait_for_completion"] = errors.New("no") // so that not all go together
	h.diagnose(t)
	for _, asked := range []string{"fexit mutex_lock_io false", "kretprobe mutex_lock_io true", "kretprobe inode_dio_wait.part.1 true"} {
		if !slices.Contains(h.asked, asked) {
			t.Errorf("%q was not tried: %q", asked, h.asked)
		}
	}
	for _, asked := range h.asked {
		if strings.Contains(asked, "cold") || strings.Contains(asked, "kretprobe reclaim_throttle") || strings.Contains(asked, "fexit blk_queue_enter") || strings.Contains(asked, "fexit inode_dio_wait") {
			t.Errorf("%q was tried", asked)
		}
	}
	h = odd()
	h.traceable = kernel.Listing{Why: "not permitted"}
	r := h.diagnose(t)
	if !slices.Contains(h.asked, "fexit mutex_lock_io true") {
		t.Errorf("%q", h.asked)
	}
	for _, asked := range h.asked {
		if strings.HasPrefix(asked, "kretprobe ") && asked != "kretprobe io_schedule true" {
			t.Errorf("%q though all went together", asked)
		}
	}
	if f := functionOf(t, r, "mutex_lock_io"); f.Traceable != "unknown" {
		t.Errorf("%+v", f)
	}
}

func TestFunctionsWhereTheMeansDoesNotWork(t *testing.T) {
	h := odd()
	h.fails[Fexit], h.fails[Kretprobe] = unix.EPERM, unix.EPERM
	r := h.diagnose(t)
	f := functionOf(t, r, "mutex_lock_io")
	if got := strings.Join(f.Usable(), " "); got != "tracefs kmod" || reasonOf(f, Fexit) != "fexit is not usable here" {
		t.Errorf("%+v", f)
	}
	for _, asked := range h.asked {
		if strings.Contains(asked, " ") {
			t.Errorf("%q was tried", asked)
		}
	}
}

func TestFunctionsWithoutSymbols(t *testing.T) {
	r := usual().without("proc/kallsyms").diagnose(t)
	for _, f := range r.Functions {
		if len(f.Usable()) > 0 || f.Note == "" || f.Copies != 0 {
			t.Errorf("%+v", f)
		}
	}
	if !strings.Contains(strings.Join(r.Notes, "\n"), "cannot be looked up") {
		t.Errorf("%q", r.Notes)
	}
}
