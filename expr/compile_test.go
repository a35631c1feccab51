// SPDX-License-Identifier: Apache-2.0

package expr

import (
	"encoding/binary"
	"os"
	"testing"
)

// TestFiltersInTheKernel: filters on registers, decided at entry and at return.
func TestFiltersInTheKernel(t *testing.T) {
	r := newRunner(t)
	minus := func(n uint64) uint64 { return -n }
	c := &call{
		Args: [6]uint64{1000, 0x30, 1 << 63, minus(3), 0xffff_ffff_0000_0005, 0},
		Ret:  minus(5), Latency: 10_500_000, Tgid: 77, Tid: 78, CPU: 3,
	}
	copy(c.Comm[:], "dd")
	for _, test := range []struct {
		filter string
		want   uint32
	}{
		{"arg1 > 999", Wanted},
		{"arg1 > 1000", Unwanted},
		{"arg1 >= 1K || arg1 == 0x3e8", Wanted},
		{"(arg2 & 0x10) != 0 && (arg2 & 0x40) == 0", Wanted},
		{"arg2 & 0x10", Wanted},
		{"!(arg2 & 0x10)", Unwanted},
		{"not (arg2 & 0x10) or arg1 == 1000 and cpu == 3", Wanted},
		{"arg3 > 5", Wanted},
		{"(long)arg3 < 5", Wanted},
		{"(int)arg4 == -3 && (long)arg4 < arg1", Wanted},
		{"arg1 > (long)arg4 && arg3 > (long)arg4", Wanted},
		{"(int)arg5 == 5 && (u32)arg5 == 5 && arg5 != 5", Wanted},
		{"arg5 == 5", Unwanted},
		{"comm == \"dd\"", Wanted},
		{"comm == \"d\" || comm == \"ddd\"", Unwanted},
		{"comm ~ \"d*\" && comm != \"cp\"", Wanted},
		{"pid == 77 && tid == 78", Wanted},
		{"latency > 10ms", Wanted},
		{"latency > 11ms", Unwanted},
		{"(long)ret < 0 && (int)ret == -EIO", Wanted},
		{"(int)ret == -ENOENT", Unwanted},
		{"(int)ret == -EIO && arg1 == 1000", Wanted},
		{"(int)ret == -EIO && arg1 == 1001", Unwanted},
		{"latency > arg1 && (latency > 11ms || comm == \"dd\")", Wanted},
		{"!(latency > 11ms && comm == \"dd\")", Wanted},
		{"!(latency < 11ms && comm == \"dd\")", Unwanted},
		{"arg1 == 'a' || arg1 - 903 == 'a'", Wanted},
		{"arg1 << 2 == 4000 && arg1 >> 3 == 125 && arg1 * 2 == 2000", Wanted},
		{"1", Wanted},
		{"0", Unwanted},
		{"~arg6 == (u64)-1", Wanted},
		{"(char *)arg6 == NULL", Wanted},
		{"*(int *)arg6 == 0", Unreadable},
		{"*(int *)arg6 == 0 || arg1 == 1000", Wanted},
		{"!(*(int *)arg6 == 0)", Unreadable},
		{"(int)ret == -EIO && *(int *)arg6 == 0", Unreadable},
		{"latency == *(int *)arg6", Unreadable},
		{"latency == *(int *)arg6 || arg1 == 1000", Wanted},
		{"(char *)arg6 == \"x\"", Unreadable},
	} {
		program := mustCompile(t, &Scope{}, test.filter)
		if got, _ := r.both(t, program, c, false); got != test.want {
			t.Errorf("%s: %d, want %d\n%v\n%v", test.filter, got, test.want, program.Entry, program.Return)
		}
	}
}

// TestCurrentTask: fields of a real task_struct, whose truth is in /proc.
func TestCurrentTask(t *testing.T) {
	r := newRunner(t)
	scope := &Scope{Types: kernelTypes(t)}
	program := mustCompile(t, scope, "((struct task_struct *)arg1)->tgid > 0",
		"(struct task_struct *)arg1->tgid",
		"(struct task_struct *)arg1->comm",
		"(struct task_struct *)arg1->real_parent->tgid",
		"(struct task_struct *)arg1->group_leader->comm",
	)
	got, output := r.both(t, program, &call{}, true)
	if got != Wanted {
		t.Fatal(got)
	}
	for i, want := range []uint64{uint64(os.Getpid()), 0, uint64(os.Getppid())} {
		raw, ok := program.Slots[i].Raw(output)
		if want != 0 && (!ok || binary.NativeEndian.Uint64(raw) != want) {
			t.Errorf("%s: %x, %v", program.Slots[i].Field.Text, raw, ok)
		}
	}
	comm, _ := os.ReadFile("/proc/self/comm")
	raw, ok := program.Slots[3].Raw(output)
	if !ok || string(cut(raw))+"\n" != string(comm) {
		t.Errorf("%q, want %q", raw, comm)
	}
}
