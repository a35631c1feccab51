// SPDX-License-Identifier: Apache-2.0

package expr

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
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
			t.Errorf("%s: %d, want %d\n%v\n%v\n%v", test.filter, got, test.want, program.Filter, program.Entry, program.Return)
		}
	}
}

// TestCurrentTask: fields of the running thread's task_struct, whose truth is elsewhere.
func TestCurrentTask(t *testing.T) {
	r := newRunner(t)
	scope := &Scope{Types: kernelTypes(t)}
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err != nil {
		t.Fatal(err)
	}
	directory, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	comm, err := os.ReadFile("/proc/self/comm")
	if err != nil {
		t.Fatal(err)
	}
	const task = "(struct task_struct *)arg1->"
	for _, test := range []struct{ field, want string }{
		{task + "tgid", fmt.Sprint(os.Getpid())},
		{task + "real_parent->tgid", fmt.Sprint(os.Getppid())},
		{task + "group_leader->comm", strings.TrimSpace(string(comm))},
		{task + "cred->uid.val", fmt.Sprint(os.Getuid())},
		{task + "cred->uid", fmt.Sprintf("{val = %d}", os.Getuid())},
		{task + "signal->rlim[7]", fmt.Sprintf("{rlim_cur = %d, rlim_max = %d}", files.Cur, files.Max)},
		{task + "signal->rlim[7].rlim_max", fmt.Sprint(files.Max)},
		{task + "fs->pwd.dentry->d_name.name", filepath.Base(directory)},
		{task + "in_iowait", "0"},
		{task + "mm->owner == (struct task_struct *)arg1->group_leader", "true"},
		{task + "group_leader->group_leader->tgid == " + task + "tgid && PIDTYPE_TGID == 1", "true"},
		{task + "signal->pids[PIDTYPE_TGID]->numbers[0].nr", fmt.Sprint(os.Getpid())},
		{"(int)arg2", "-7"},
	} {
		field, err := scope.Field(test.field)
		if err != nil {
			t.Error(err)
			continue
		}
		program, err := Compile(nil, []*Field{field})
		if err != nil {
			t.Fatal(err)
		}
		_, output := r.both(t, program, &call{Args: [6]uint64{0, 0xffff_fff9}}, true)
		raw, ok := program.Slots[0].Raw(output)
		if got := field.Render(raw); !ok || got != test.want {
			t.Errorf("%s: %q %v, want %q", test.field, got, ok, test.want)
		}
	}
	program := mustCompile(t, scope, fmt.Sprintf("%sfs->pwd.dentry->d_name.name == %q && %sgroup_leader->comm ~ %q", task, filepath.Base(directory), task, string(comm[:2])+"*"))
	if got, _ := r.both(t, program, &call{}, true); got != Wanted {
		t.Error(got)
	}
}

// TestCapturedMemory: strings and structs as they lie in memory, and what is left of those that cannot be read.
func TestCapturedMemory(t *testing.T) {
	r := newRunner(t)
	memory := newArena(t)
	copy(memory.raw[16:32], "0123456789abcdef")
	binary.NativeEndian.PutUint64(memory.raw[48:], memory.base+200)
	copy(memory.raw[200:], strings.Repeat("long ", 40))
	copy(memory.raw[500:], "short\x00after")
	binary.NativeEndian.PutUint64(memory.raw[40:], 77)
	junk := bytes.Repeat([]byte{0xee}, MaxOutput)
	for _, test := range []struct {
		field   string
		address uint64
		want    string
		fails   bool
	}{
		{field: "p->name", want: "0123456789abcdef"},
		{field: "p->text", want: strings.Repeat("long ", 13)[:63]},
		{field: "(char *)arg2", want: "short"},
		{field: "p->table", want: "[0, 0, 0, 0]"},
		{field: "uid", want: "{val = 9}"},
		{field: "uid.val + 1", want: "10"},
		{field: "p->size", want: "77"},
		{field: "p->next", want: "NULL"},
		{field: "p->next->n", want: "0", fails: true},
		{field: "p->next->table", want: "[0, 0, 0, 0]", fails: true},
		{field: "p->next->text", want: "", fails: true},
		{field: "*p->next->next", want: "", fails: true},
		{field: "*p", address: memory.base + arenaSize - 40, want: "", fails: true},
		{field: "comm", want: "dd"},
	} {
		if test.address == 0 {
			test.address = memory.base
		}
		program := mustCompile(t, made(cInt), "", test.field)
		entry := r.load(t, program.Entry, false)
		defer entry.Close()
		c := &call{Args: [6]uint64{test.address, memory.base + 500, 0, 0, 9}, Comm: [16]byte{'d', 'd'}}
		got, output := r.run(t, entry, c, junk)
		slot := program.Slots[0]
		if _, ok := slot.Raw(output); got != Wanted || ok == test.fails {
			t.Errorf("%s: returned %d, readable %v", test.field, got, ok)
		}
		raw := output[slot.Offset:][:slot.Field.Size]
		if got := slot.Field.Render(raw); test.want != "" && got != test.want {
			t.Errorf("%s: %q, want %q", test.field, got, test.want)
		}
		if test.fails && bytes.Trim(raw, "\x00") != nil {
			t.Errorf("%s: an unreadable field has bytes: %x", test.field, raw)
		}
		if slot.Field.Kind == String && bytes.Contains(raw, []byte{0xee}) {
			t.Errorf("%s: what was in the buffer is part of the key: %x", test.field, raw)
		}
		if rest := output[program.Size:]; !bytes.Equal(rest, junk[program.Size:]) {
			t.Errorf("%s: wrote beyond its %d bytes", test.field, program.Size)
		}
	}
}

// TestVerifierIsNotTired: many fields and long filters pass it.
func TestVerifierIsNotTired(t *testing.T) {
	r := newRunner(t)
	var fields []string
	for i := range 40 {
		fields = append(fields, fmt.Sprintf("p->next->n + %d", i))
	}
	for _, filter := range []string{
		strings.Repeat("p->next->n == 5 && ", 60) + "size",
		strings.Repeat("p->n == 5 || ", 100) + "ret == p->n",
		strings.Repeat("(p->n == 5) * 2 ^ ", 20) + "size",
		strings.Repeat("(ret == p->n || p->n == tiny) && ", 20) + "size",
		strings.Repeat("s == \"0123456789abcdef\" || ", 50) + "size",
	} {
		program := mustCompile(t, made(cInt), filter, fields...)
		start := time.Now()
		r.all(t, program, false).close()
		t.Logf("%d, %d and %d instructions: %v", len(program.Filter), len(program.Entry), len(program.Return), time.Since(start))
	}
}
