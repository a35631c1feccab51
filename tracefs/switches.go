// SPDX-License-Identifier: Apache-2.0

package tracefs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/iowitness/iowitness/kernel"
)

// ErrSwitchedOff tells that someone has switched off, for all of the machine,
// what probes need.
var ErrSwitchedOff = errors.New("probes are switched off on this machine")

// CheckSwitches looks at the machine's switches that silence every probe while
// they can still be made and enabled. They are never touched. Other tracers'
// tracing_on does not matter: an instance has its own.
func (t *FS) CheckSwitches() error {
	lockdown := kernel.Read(t.system).Lockdown
	for _, s := range []struct{ file, remedy string }{
		// Probes at the begin of a function hang on ftrace where the kernel can do that.
		{"proc/sys/kernel/ftrace_enabled", "sysctl kernel.ftrace_enabled=1"},
		{"sys/kernel/debug/kprobes/enabled", "echo 1 > /sys/kernel/debug/kprobes/enabled"},
	} {
		if strings.Contains(s.file, "/debug/") && (lockdown == "integrity" || lockdown == "confidentiality") {
			continue // debugfs is closed then, and each try is a line in the kernel's log
		}
		text, err := os.ReadFile(filepath.Join(t.system, s.file))
		if err == nil && strings.TrimSpace(string(text)) == "0" {
			return fmt.Errorf("%w: /%s is 0, so none would ever be hit; switch it on with: %s", ErrSwitchedOff, s.file, s.remedy)
		}
	}
	return nil
}

// Others says, in sentences, what other tracers do that is worth knowing: nothing of it
// keeps an instance from working.
func (t *FS) Others() (notes []string) {
	if text, err := t.read("current_tracer"); err == nil {
		if tracer := strings.TrimSpace(text); tracer != "" && tracer != "nop" {
			notes = append(notes, fmt.Sprintf("another program traces this machine with the tracer %q, which costs time of its own", tracer))
		}
	}
	return notes
}
