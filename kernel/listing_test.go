// SPDX-License-Identifier: Apache-2.0

package kernel_test

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/iowitness/iowitness/kernel"
)

const blacklistText = "0xffffffff81000000-0xffffffff81000010\tasm_exc_debug\n" +
	"0xffffffff81000020-0xffffffff81000030\tperf_event_nmi_handler\n0xffffffffc0000000-0xffffffffc0000010\tx [mod]\nbroken\n"

func TestKprobeBlacklist(t *testing.T) {
	root := tree(t, map[string]string{"sys/kernel/debug/kprobes/blacklist": blacklistText})
	list := kernel.ReadKprobeBlacklist(root, "none", []string{"perf_event_nmi_handler", "io_schedule", "x"})
	for name, want := range map[string]kernel.Setting{"perf_event_nmi_handler": kernel.On, "io_schedule": kernel.Off, "x": kernel.On} {
		if got := list.Has(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// TestLockdownKeepsAwayFromDebugfs (case E4): the list is there, and yet not read.
func TestLockdownKeepsAwayFromDebugfs(t *testing.T) {
	root := tree(t, map[string]string{
		"sys/kernel/debug/kprobes/blacklist": blacklistText,
		"sys/kernel/debug/kprobes/enabled":   "1\n",
		"sys/kernel/debug/tracing/events/x":  "",
		"proc/self/mounts":                   "tracefs /sys/kernel/debug/tracing tracefs rw 0 0\n",
	})
	for level, closed := range map[string]bool{"none": false, "unknown": false, "integrity": true, "confidentiality": true} {
		list := kernel.ReadKprobeBlacklist(root, level, []string{"asm_exc_debug"})
		tracing := kernel.ReadTracing(root, level)
		if list.Known == closed || (tracing.Kprobes == kernel.Unknown) != closed || (len(tracing.Mounts) == 0) != closed {
			t.Errorf("%s: %+v %+v", level, list, tracing)
		}
		if closed && (!strings.Contains(list.Why, level) || list.Has("asm_exc_debug") != kernel.Unknown) {
			t.Errorf("%s: %q", level, list.Why)
		}
	}
}

func TestListsThatCannotBeReadAreUnknown(t *testing.T) {
	list := kernel.ReadKprobeBlacklist(t.TempDir(), "none", []string{"x"})
	if list.Known || !strings.Contains(list.Why, "/sys/kernel/debug/kprobes/blacklist: no such file") {
		t.Errorf("%+v", list)
	}
	empty := kernel.ReadTraceable(fstest.MapFS{"available_filter_functions": {}}, []string{"x"})
	if empty.Known || empty.Has("x") != kernel.Unknown || !strings.Contains(empty.Why, "empty") {
		t.Errorf("%+v", empty)
	}
	refused := kernel.ReadTraceable(os.DirFS(t.TempDir()), nil)
	if refused.Known || refused.Why == "" {
		t.Errorf("%+v", refused)
	}
}

func TestTraceable(t *testing.T) {
	list := kernel.ReadTraceable(fstest.MapFS{"available_filter_functions": {
		Data: []byte("io_schedule\nxfs_buf_iowait [xfs]\nf.isra.0\n"),
	}}, []string{"io_schedule", "xfs_buf_iowait", "f", "f.isra.0", "__schedule"})
	for name, want := range map[string]kernel.Setting{
		"io_schedule": kernel.On, "xfs_buf_iowait": kernel.On, "f": kernel.Off, "f.isra.0": kernel.On, "__schedule": kernel.Off,
	} {
		if got := list.Has(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
