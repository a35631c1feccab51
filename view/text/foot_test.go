// SPDX-License-Identifier: Apache-2.0

package text

import (
	"testing"
	"time"

	"github.com/iowitness/iowitness/snapshot"
)

// TestTheCostOfAShortRunIsATime: as a share of a CPU it would be one of next to nothing.
func TestTheCostOfAShortRunIsATime(t *testing.T) {
	for _, c := range []struct {
		cost snapshot.Cost
		want string
	}{
		{snapshot.Cost{CPUPercent: 108, Wall: 20 * time.Millisecond, RSSBytes: 30 << 20}, "cost: 21.6 ms of CPU time, 30.0 MiB, probes not measured"},
		{
			snapshot.Cost{CPUPercent: 50, Wall: 900 * time.Millisecond, RSSBytes: 30 << 20, ProbeNS: 4e6, ProbeRuns: 1000, ProbeWall: 400 * time.Millisecond},
			"cost: 450 ms of CPU time, 30.0 MiB, probes 9.00 ms of CPU time (4.00 µs a run)",
		},
		{
			snapshot.Cost{CPUPercent: 1.5, Wall: time.Second, RSSBytes: 30 << 20, ProbeNS: 4e6, ProbeRuns: 1000, ProbeWall: time.Second},
			"cost: 1.5% of a CPU, 30.0 MiB, probes 0.4% of a CPU (4.00 µs a run)",
		},
		{snapshot.Cost{CPUPercent: 1.5, RSSBytes: 30 << 20}, "cost: 1.5% of a CPU, 30.0 MiB, probes not measured"},
	} {
		if got := costLine(&snapshot.Snapshot{Cost: c.cost}); got != c.want {
			t.Errorf("%q, not %q", got, c.want)
		}
	}
}
