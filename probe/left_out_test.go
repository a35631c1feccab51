// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// TestFunctionsLeftOutAreToldByTheReason (case E13): one sentence for all of which it is the same.
func TestFunctionsLeftOutAreToldByTheReason(t *testing.T) {
	var l leftOut
	if len(l.notes()) > 0 {
		t.Error(l.notes())
	}
	for _, name := range []string{"a", "b"} {
		l.refused(name, fmt.Errorf("creating perf_kprobe PMU (arch-specific fallback for %q): token __x64_%s: not found: %w", name, name, os.ErrNotExist))
	}
	l.refused("c", fmt.Errorf("its types are not known, which fexit needs: %w", os.ErrNotExist))
	l.refused("d", errors.New("invalid argument"))
	l.add("e", "invalid argument")
	l.refused("f", fmt.Errorf("creating perf_kprobe PMU (arch-specific fallback for \"f\"): token f: opening perf event: %w", unix.EADDRNOTAVAIL))
	want := []string{
		"2 functions are not witnessed: the kernel finds nothing to probe by that name: it is freed after boot, or no function: a, b",
		"c is not witnessed: its types are not known, which fexit needs",
		"2 functions are not witnessed: invalid argument: d, e",
		"f is not witnessed: several functions have that name, and the kernel cannot tell which is meant",
	}
	if got := l.notes(); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
