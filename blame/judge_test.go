// SPDX-License-Identifier: Apache-2.0

package blame

import (
	"testing"

	"github.com/iowitness/iowitness/event"
)

// namesOf gives each address the name at its place in the list.
type namesOf []string

func (n namesOf) Stack(addresses []uint64) []string {
	stack := make([]string, len(addresses))
	for i, a := range addresses {
		stack[i] = n[a]
	}
	return stack
}

func (namesOf) Syscall(int32) string { return "getdents64" }

// TestAStackThatHasLeftTheScheduler: a thread that ran again before its stack was read shows what it slept for, not in what.
func TestAStackThatHasLeftTheScheduler(t *testing.T) {
	names := namesOf{"__schedule", "schedule", "io_schedule", "bit_wait_io", "__wait_on_bit", "out_of_line_wait_on_bit", "ext4_read_bh", "ext4_bread", "ext4_readdir", "iterate_dir"}
	whole := []uint64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}
	for _, stack := range [][]uint64{whole, whole[6:]} {
		if v := newJudge(names).verdict(&event.Site{Stack: stack}, event.Flagged|event.Joined); v.cause != MetadataRead || len(v.stack) != len(stack) {
			t.Errorf("%v: %v", v.stack, v.cause)
		}
	}
}

// TestAStackOfAFunctionIsReadAsItIs: what is witnessed by the return of a function that sleeps shows that
// function, and not the scheduler's.
func TestAStackOfAFunctionIsReadAsItIs(t *testing.T) {
	for _, stack := range [][]string{
		{"wb_wait_for_completion", "sync_inodes_sb", "iterate_supers", "ksys_sync"},
		{"rwsem_down_read_slowpath", "ext4_file_read_iter", "vfs_read"},
		{"some_new_function", "vfs_read"},
	} {
		names := namesOf(stack)
		site := event.Site{Stack: []uint64{0, 1, 2, 3}[:len(stack)]}
		want := Classify(Evidence{Stack: stack, Syscall: "getdents64"})
		if v := newJudge(names).verdict(&site, 0); v.cause != want {
			t.Errorf("%v: %v, not %v", stack, v.cause, want)
		}
	}
}
