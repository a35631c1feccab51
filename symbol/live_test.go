// SPDX-License-Identifier: Apache-2.0

package symbol_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/iowitness/iowitness/symbol"
)

// running is a program that has told addresses of its functions, and waits until it is ended.
type running struct {
	*exec.Cmd
	pid       uint32
	addresses []uint64
	in        io.Closer
}

// start runs a program that prints addresses on one line and waits for the end of its input.
func start(t *testing.T, name string, args ...string) *running {
	t.Helper()
	cmd := exec.Command(name, args...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &running{Cmd: cmd, pid: uint32(cmd.Process.Pid), in: in}
	t.Cleanup(p.end)
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range strings.Fields(line) {
		var a uint64
		if _, err := fmt.Sscanf(field, "0x%x", &a); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		p.addresses = append(p.addresses, a)
	}
	return p
}

// end lets the program end, and waits for that.
func (p *running) end() {
	p.in.Close()
	_ = p.Wait()
}

const telling = `#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <time.h>
#include <sys/mman.h>
#include <sys/auxv.h>
__attribute__((noinline)) int leaf(int n) { return n * n + 1; }
static __attribute__((noinline)) int hidden(int n) { return leaf(n) + n; }
int main(int argc, char **argv) {
	char *made = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char path[64], b;
	snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
	if (argc > 1) {
		FILE *f = fopen(path, "w");
		fprintf(f, "%lx 40 first\n%lx 20 Lazy:*second /a b.js:1\n0x%lx 0x10 third\n", (long)made, (long)made + 16, (long)made + 2048);
		fclose(f);
	}
	printf("%p %p %p %p %p\n", (void *)leaf, (void *)hidden, (void *)puts, (void *)made, (void *)getauxval(AT_SYSINFO_EHDR));
	fflush(stdout);
	while (read(0, &b, 1) > 0)
		if (b == 'x') execl(argv[2], argv[2], (char *)0);
	unlink(path);
	return hidden(argc) == 0;
}
`

func learned(t *testing.T, r *symbol.Resolver, pid uint32, now uint64) {
	t.Helper()
	if err := r.Learn(pid, now); err != nil {
		t.Fatal(err)
	}
}

func resolver(t *testing.T, o symbol.Options) *symbol.Resolver {
	t.Helper()
	r := symbol.New("/", o)
	t.Cleanup(func() { r.Close() })
	return r
}

// TestLive: a process's frames are named while it runs, and, though its file was deleted, after its end.
func TestLive(t *testing.T) {
	for name, flags := range map[string][]string{"pie": {"-pie", "-fPIE"}, "fixed": {"-no-pie"}} {
		t.Run(name, func(t *testing.T) {
			program := buildC(t, telling, flags...)
			p := start(t, program, "jit")
			if err := os.Remove(program); err != nil {
				t.Fatal(err)
			}
			r, late := resolver(t, symbol.Options{}), resolver(t, symbol.Options{})
			learned(t, r, p.pid, 100)
			learned(t, late, p.pid, 100)
			check := func(r *symbol.Resolver, when string) {
				t.Helper()
				for i, want := range []struct {
					name, module string
					kind         symbol.Kind
				}{
					{"leaf", "program", symbol.User},
					{"hidden", "program", symbol.User},
					{"puts", "libc.so.6", symbol.User},
					{"first", "[jit]", symbol.JIT},
				} {
					f := r.Resolve(p.pid, 150, p.addresses[i]+3)
					if f.Name != want.name || f.Module != want.module || f.Kind != want.kind || f.Offset != 3 || f.Address != p.addresses[i]+3 {
						t.Errorf("%s: %s is %+v", when, want.name, f)
					}
					if f.Kind == symbol.User && (f.BuildID == "" || f.Virtual == 0 || filepath.Base(f.Path) != want.module) {
						t.Errorf("%s: %s is of %+v", when, want.name, f)
					}
				}
				made := p.addresses[3]
				for offset, want := range map[uint64]string{15: "first", 16: "Lazy:*second /a b.js:1", 47: "Lazy:*second /a b.js:1", 48: "first", 63: "first", 64: "", 2048: "third", 2064: ""} {
					if f := r.Resolve(p.pid, 150, made+offset); f.Name != want || want == "" && (f.Kind != symbol.User || f.Module != "[anon]") {
						t.Errorf("%s: made+%d is %+v", when, offset, f)
					}
				}
			}
			check(r, "live")
			vdso(t, r, p)
			p.end()
			check(r, "ended")
			check(late, "ended before it was asked")
			if f := r.Resolve(p.pid, 150, 8); f.Kind != symbol.Unknown || f.Name != "" || f.Module != "" {
				t.Errorf("address 8 is %+v", f)
			}
			if err := r.Learn(p.pid, 200); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("an ended process is learned: %v", err)
			}
		})
	}
}

// vdso checks that the functions that the kernel lends are named.
func vdso(t *testing.T, r *symbol.Resolver, p *running) {
	t.Helper()
	base, names := p.addresses[4], map[string]bool{}
	for at := base; at < base+0x2000; at += 16 {
		if f := r.Resolve(p.pid, 150, at); f.Module == "[vdso]" && f.Path == "" && f.Name != "" {
			names[f.Name] = true
		}
	}
	for name := range names {
		if strings.Contains(name, "clock_gettime") {
			return
		}
	}
	t.Errorf("functions of the vdso: %v", names)
}

// TestStrippedIsNotGuessed: functions without a symbol have their module's address and build id.
func TestStrippedIsNotGuessed(t *testing.T) {
	program := buildC(t, telling)
	all := truthOf(t, program, any)
	run(t, "strip", program)
	p := start(t, program)
	r := resolver(t, symbol.Options{})
	learned(t, r, p.pid, 1)
	f := r.Resolve(p.pid, 1, p.addresses[1]+5)
	if f.Name != "" || f.Kind != symbol.User || f.Module != "program" || f.BuildID == "" {
		t.Errorf("%+v", f)
	}
	if at := all[f.Virtual-5]; at.names == nil || at.names[0] != "hidden" {
		t.Errorf("%#x in the file is %v", f.Virtual, at.names)
	}
	if want := fmt.Sprintf("program+%#x", f.Virtual); f.Label() != want {
		t.Errorf("labelled %s, not %s", f.Label(), want)
	}
}

// TestGoProgramLive: a stripped program of Go is named by its own table.
func TestGoProgramLive(t *testing.T) {
	program := buildGo(t, `package main

import ("fmt"; "os"; "reflect")

//go:noinline
func leaf(n int) int { return n*n + 1 }

func main() {
	fmt.Printf("%#x\n", reflect.ValueOf(leaf).Pointer())
	os.Stdin.Read(make([]byte, 1))
}
`, "-ldflags=-s -w", "-buildmode=pie")
	p := start(t, program)
	r := resolver(t, symbol.Options{})
	learned(t, r, p.pid, 1)
	p.end()
	if f := r.Resolve(p.pid, 1, p.addresses[0]+1); f.Name != "main.leaf" || f.Offset != 1 || f.BuildID == "" {
		t.Errorf("%+v", f)
	}
}

// TestExec: what was before an exec is named by the program that was before.
func TestExec(t *testing.T) {
	// Both are where their linker put them, so that addresses of one mean something in the other.
	before := buildC(t, telling, "-no-pie")
	after := buildC(t, "void spread(void) { __asm__(\".skip 8192\"); }\n"+telling, "-no-pie")
	for _, told := range []bool{true, false} {
		p := start(t, before, "jit", after)
		r := resolver(t, symbol.Options{})
		learned(t, r, p.pid, 100)
		executed(t, p, after)
		if told {
			r.Executed(p.pid, 200)
		}
		learned(t, r, p.pid, 300)
		leaf := p.addresses[0]
		in := func(at uint64) string {
			f := r.Resolve(p.pid, at, leaf)
			return f.Name
		}
		old, now := in(100), in(300)
		if old != "leaf" || now != "spread" {
			t.Errorf("told %v: it was %q, is %q", told, old, now)
		}
		if told && (in(199) != "leaf" || in(200) != "spread") {
			t.Errorf("it was %q, is %q", in(199), in(200))
		}
		if !told && (in(150) != "" || in(250) != "" || r.Losses().Ambiguous != 2) {
			t.Errorf("between it is %q, %q, %+v", in(150), in(250), r.Losses())
		}
		// The exec is told late: after what it began was looked at.
		if !told {
			r.Executed(p.pid, 200)
			if in(199) != "leaf" || in(200) != "spread" {
				t.Errorf("told late, it was %q, is %q", in(199), in(200))
			}
		}
	}
}

// executed lets a program begin another, and waits until it has.
func executed(t *testing.T, p *running, program string) {
	t.Helper()
	if _, err := p.in.(io.Writer).Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	for range 1_000_000 {
		if exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", p.pid)); err == nil && exe == program {
			if maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", p.pid)); err == nil && strings.Contains(string(maps), "libc.so") {
				return
			}
		}
	}
	t.Fatal("no exec")
}

// TestForked: a child is named by what its parent had.
func TestForked(t *testing.T) {
	p := start(t, buildC(t, telling), "jit")
	r := resolver(t, symbol.Options{})
	learned(t, r, p.pid, 100)
	const child = 4_000_000_000 // no such process
	r.Forked(p.pid, child, 150)
	if f := r.Resolve(child, 151, p.addresses[0]); f.Name != "leaf" {
		t.Errorf("%+v", f)
	}
	if f := r.Resolve(child, 151, p.addresses[3]); f.Name != "first" {
		t.Errorf("%+v", f)
	}
	if f := r.Resolve(child, 149, p.addresses[0]); f.Kind != symbol.Unknown {
		t.Errorf("before its birth: %+v", f)
	}
	r.Forked(1, child, 200) // the number is used again, of a parent that is not known
	if f := r.Resolve(child, 201, p.addresses[0]); f.Kind != symbol.Unknown {
		t.Errorf("after its end: %+v", f)
	}
	if f := r.Resolve(child, 199, p.addresses[0]); f.Name != "leaf" {
		t.Errorf("%+v", f)
	}
}

// TestLimits: whatever is held is bounded, and what is lost is counted; nothing stays open.
func TestLimits(t *testing.T) {
	before := openFiles(t)
	p, q := start(t, buildC(t, telling), "jit"), start(t, buildC(t, telling))
	opened := openFiles(t)
	r := symbol.New("/", symbol.Options{Limits: symbol.Limits{Files: 1, Tables: 1}})
	learned(t, r, p.pid, 1)
	if n := openFiles(t) - opened; n > 4 { // two roots at most, a file, one more in passing
		t.Errorf("%d files are open", n)
	}
	for range 3 {
		for i, want := range []string{"leaf", "hidden", "puts"} {
			if f := r.Resolve(p.pid, 1, p.addresses[i]); f.Name != want {
				t.Errorf("%+v is not %s", f, want)
			}
		}
	}
	if n := r.Losses().Tables; n < 5 {
		t.Errorf("%d tables were thrown out", n)
	}
	r.Close()

	r = symbol.New("/", symbol.Options{Limits: symbol.Limits{Processes: 1}})
	learned(t, r, p.pid, 1)
	learned(t, r, q.pid, 1)
	if f := r.Resolve(p.pid, 1, p.addresses[0]); f.Kind != symbol.Unknown || r.Losses().Processes != 1 {
		t.Errorf("%+v, %+v", f, r.Losses())
	}
	r.Close()

	r = symbol.New("/", symbol.Options{Limits: symbol.Limits{Bytes: 1000}})
	learned(t, r, p.pid, 1)
	r.Resolve(p.pid, 1, p.addresses[2]) // reads the table, and finds it too large to be kept
	if f := r.Resolve(p.pid, 1, p.addresses[2]); f.Name != "" || f.Module != "libc.so.6" || f.Virtual == 0 || f.BuildID == "" || r.Losses().Tables == 0 {
		t.Errorf("without memory for it: %+v, %+v", f, r.Losses())
	}
	r.Close()

	r = symbol.New("/", symbol.Options{Limits: symbol.Limits{Mappings: 1}})
	learned(t, r, p.pid, 1)
	if r.Losses().Mappings == 0 {
		t.Error("mappings left out are not counted")
	}
	r.Close()
	p.end()
	q.end()
	for range 1000 { // files are closed beside
		if openFiles(t) <= before {
			return
		}
	}
	t.Errorf("%d files are open, %d were", openFiles(t), before)
}

func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// TestPerfMapOfAnother: a map that another user has put there is not believed.
func TestPerfMapOfAnother(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs to be root")
	}
	p := start(t, buildC(t, telling), "jit")
	if err := os.Chown(fmt.Sprintf("/tmp/perf-%d.map", p.pid), 12345, 12345); err != nil {
		t.Fatal(err)
	}
	r := resolver(t, symbol.Options{})
	learned(t, r, p.pid, 1)
	if f := r.Resolve(p.pid, 1, p.addresses[3]); f.Name != "" || f.Module != "[anon]" {
		t.Errorf("%+v", f)
	}
}

func TestNoSuchProcess(t *testing.T) {
	r := resolver(t, symbol.Options{})
	if err := r.Learn(4_000_000_000, 1); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if f := r.Resolve(4_000_000_000, 1, 0x1234); f.Label() != "0x1234" || f.Kind != symbol.Unknown {
		t.Errorf("%+v", f)
	}
	if err := r.Learn(2, 1); err != nil { // a kernel thread, or in a container nothing
		t.Log(err)
	}
}

func TestKernelFrame(t *testing.T) {
	for name, want := range map[string]string{"vfs_read": "[kernel]", "ext4_sync_file\t[ext4]": "[ext4]", "": "[kernel]"} {
		f := symbol.KernelFrame(name, 4, 8)
		if f.Module != want || strings.Contains(f.Name, "\t") || f.Kind != symbol.Kernel || f.Offset != 4 || f.Address != 8 {
			t.Errorf("%+v", f)
		}
	}
}
