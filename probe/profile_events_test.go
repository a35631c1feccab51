// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestParseCPUList(t *testing.T) {
	for text, want := range map[string][]int{
		"0\n": {0}, "0-3,8\n": {0, 1, 2, 3, 8}, "1,3-4": {1, 3, 4}, "": nil, "3-1": nil, "a": nil, "0-": nil, "-1": nil, "0-99999999": nil,
	} {
		got, ok := parseCPUList(text)
		if !slices.Equal(got, want) || ok != (want != nil) {
			t.Errorf("%q: %v, %v", text, got, ok)
		}
	}
}

func FuzzParseCPUList(f *testing.F) {
	f.Add("0-3,8")
	f.Fuzz(func(t *testing.T, text string) {
		if cpus, ok := parseCPUList(text); ok && (len(cpus) == 0 || len(cpus) > 2*maxCPUs) {
			t.Fatalf("%d CPUs", len(cpus))
		}
	})
}

func TestWhyThereAreNoCountersIsSaid(t *testing.T) {
	for err, says := range map[error]string{
		unix.ENOENT: "no performance counters", unix.EOPNOTSUPP: "no performance counters", unix.EACCES: "perf_event_paranoid",
		unix.EBUSY: "somebody else", unix.EINVAL: "invalid argument",
	} {
		if got := noCounter(err); !strings.Contains(got.Error(), says) || !errors.Is(got, err) {
			t.Errorf("%v: %v", err, got)
		}
	}
}
