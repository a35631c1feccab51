// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"slices"
	"testing"
)

// TestSyscallArguments: the table has only system calls that there are, at most six
// arguments of each, and at most two of them are paths.
func TestSyscallArguments(t *testing.T) {
	if SyscallName(0) == "" {
		t.Skip("this architecture has no table of system calls")
	}
	for name, args := range syscallArgs {
		numbers := SyscallNumbers(name)
		if len(numbers) != 1 || len(args) == 0 || len(args) > 6 {
			t.Errorf("%s: %v %v", name, numbers, args)
		}
	}
	for _, c := range []struct {
		call          string
		names         []string
		first, second int
	}{
		{"openat", []string{"dirfd", "path", "flags", "mode"}, 2, 0},
		{"renameat2", []string{"olddirfd", "oldpath", "newdirfd", "newpath", "flags"}, 2, 4},
		{"execve", []string{"path", "argv", "envp"}, 1, 0},
		{"close", []string{"fd"}, 0, 0},
	} {
		number := int32(SyscallNumbers(c.call)[0])
		names, known := SyscallArguments(number)
		first, second := PathArguments(number)
		if !known || !slices.Equal(names, c.names) || first != c.first || second != c.second {
			t.Errorf("%s: %v, paths %d and %d", c.call, names, first, second)
		}
	}
	if names, known := SyscallArguments(-1); known || len(names) != 6 {
		t.Errorf("%v", names)
	}
	if first, second := PathArguments(100000); first != 0 || second != 0 {
		t.Errorf("%d %d", first, second)
	}
}
