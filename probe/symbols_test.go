// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/iowitness/iowitness/kernel"
)

// TestFunctionSymbols (case E1): all variants, never a cold part, and nothing that must not be probed.
func TestFunctionSymbols(t *testing.T) {
	targets, err := kernel.ParseTargets(strings.NewReader(`1 T io_schedule
2 t io_schedule.cold
3 t inode_dio_wait.isra.0
4 t inode_dio_wait.part.0
5 t blk_queue_enter.cold
6 T schedule
`), []string{"io_schedule", "inode_dio_wait", "blk_queue_enter", "schedule"})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{"io_schedule": {"io_schedule"}, "inode_dio_wait": {"inode_dio_wait.isra.0", "inode_dio_wait.part.0"}}
	if diff := cmp.Diff(want, functionSymbols(targets)); diff != "" {
		t.Error(diff)
	}
}
