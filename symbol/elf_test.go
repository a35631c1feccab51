// SPDX-License-Identifier: Apache-2.0

package symbol_test

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/iowitness/iowitness/symbol"
)

const goSource = `package main

import ("fmt"; "os"; "time")

type ring[T any] struct{ of []T }

//go:noinline
func (r *ring[T]) push(v T) { r.of = append(r.of, v) }

//go:noinline
func spin(until time.Time) (n int) {
	for time.Now().Before(until) { n++ }
	return n
}

func main() {
	var r ring[int]
	r.push(spin(time.Now()))
	fmt.Println(len(os.Args), r)
}
`

// buildGo builds the source with the flags, and gives the program's path.
func buildGo(t testing.TB, source string, flags ...string) string {
	t.Helper()
	tool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("needs the go command")
	}
	folder := t.TempDir()
	write(t, filepath.Join(folder, "main.go"), source)
	program := filepath.Join(folder, "program")
	build := exec.Command(tool, append(append([]string{"build", "-o", program}, flags...), "main.go")...)
	build.Dir = folder
	build.Env = append(os.Environ(), "GOFLAGS=", "GO111MODULE=off", "CGO_ENABLED=1") // for -linkmode=external
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", build, err, out)
	}
	return program
}

// buildC compiles C.
func buildC(t testing.TB, source string, flags ...string) string {
	t.Helper()
	compiler := needs(t, "gcc")
	folder := t.TempDir()
	write(t, filepath.Join(folder, "main.c"), source)
	program := filepath.Join(folder, "program")
	build := exec.Command(compiler, append(append([]string{"-o", program}, flags...), "main.c")...)
	build.Dir = folder
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", build, err, out)
	}
	return program
}

func needs(t testing.TB, tool string) string {
	t.Helper()
	path, err := exec.LookPath(tool)
	if err != nil {
		t.Skipf("needs %s", tool)
	}
	return path
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func run(t testing.TB, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(needs(t, name), args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// truth are the functions of a file as the standard library reads them: names by address.
type truth map[uint64]function

type function struct {
	size  uint64
	names []string
}

func truthOf(t testing.TB, path string, wanted func(name string) bool) truth {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	all := truth{}
	for _, s := range symbols {
		if code := elf.ST_TYPE(s.Info); (code == elf.STT_FUNC || code == elf.STT_GNU_IFUNC) && s.Size > 0 && s.Section != elf.SHN_UNDEF && wanted(s.Name) {
			f := all[s.Value]
			f.size = max(f.size, s.Size)
			name, _, _ := strings.Cut(s.Name, "@")
			f.names = append(f.names, name)
			all[s.Value] = f
		}
	}
	if len(all) < 3 {
		t.Fatalf("only %d functions in %s", len(all), path)
	}
	return all
}

// generic makes a name that has a type as argument that of the function for all types, and takes
// off what the linker adds, as Go's table has it.
func generic(name string) string {
	name = strings.TrimSuffix(name, ".abi0")
	open, end := strings.IndexByte(name, '['), strings.LastIndexByte(name, ']')
	if open < 0 || end < open {
		return name
	}
	return name[:open] + "[...]" + name[end+1:]
}

func any(string) bool { return true }

// ofGo are functions that Go's table has too; the linker adds some of its own.
func ofGo(name string) bool {
	return strings.HasPrefix(name, "main.") || strings.HasPrefix(name, "runtime.") || strings.HasPrefix(name, "fmt.") || strings.HasPrefix(name, "os.")
}

// check holds a table against the truth: at each function's first and last byte.
func (all truth) check(t *testing.T, table symbol.Table) {
	t.Helper()
	wrong := 0
	for start, f := range all {
		for _, at := range []uint64{start, start + f.size - 1} {
			name, offset, ok := table.Name(at)
			right := ok && offset == at-start
			named := false
			for _, n := range f.names {
				named = named || n == name || generic(n) == name
			}
			if (!right || !named) && !all.inner(at, name, offset) {
				if wrong++; wrong < 10 {
					t.Errorf("%#x is %q+%d (%v), want %q+%d", at, name, offset, ok, f.names, at-start)
				}
			}
		}
	}
	if wrong > 0 {
		t.Errorf("%d of %d are wrong", wrong, 2*len(all))
	}
}

// inner tells whether the name is that of another function around the address.
func (all truth) inner(at uint64, name string, offset uint64) bool {
	f, ok := all[at-offset]
	if !ok || offset >= f.size {
		return false
	}
	for _, n := range f.names {
		if n == name || generic(n) == name {
			return true
		}
	}
	return false
}

func TestGoPrograms(t *testing.T) {
	for name, flags := range map[string][]string{
		"static": {},
		"pie":    {"-buildmode=pie"},
		"cgo":    {"-ldflags=-linkmode=external"},
		"cgopie": {"-buildmode=pie", "-ldflags=-linkmode=external"},
	} {
		t.Run(name, func(t *testing.T) {
			if strings.HasPrefix(name, "cgo") {
				needs(t, "gcc")
			}
			program := buildGo(t, goSource, flags...)
			table, id, err := symbol.TableOf(program, "")
			if err != nil {
				t.Fatal(err)
			}
			if id == "" {
				t.Error("no build id")
			}
			truthOf(t, program, any).check(t, table)

			stripped := program + ".stripped"
			run(t, "strip", "-o", stripped, program)
			table, again, err := symbol.TableOf(stripped, "")
			if err != nil {
				t.Fatal(err)
			}
			if again != id {
				t.Errorf("build id %s was %s", again, id)
			}
			truthOf(t, program, ofGo).check(t, table)
			if name, _, ok := table.Name(1); ok {
				t.Errorf("address 1 is in %s", name)
			}
		})
	}
}

const cSource = `#include <stdio.h>
#include <unistd.h>
__attribute__((noinline)) int leaf(int n) { return n * n + 1; }
static __attribute__((noinline)) int hidden(int n) { return leaf(n) + n; }
__asm__(".text\n.globl bare\nbare:\n nop\n nop\n ret\n.type sized,@function\n.globl sized\nsized:\n nop\n ret\n.size sized,.-sized\n nop\n nop\n");
int a(int n) { return n + 1; } int b(int n) { return n + 2; } int c(int n) { return n + 3; } int d(int n) { return n + 4; }
int main(int argc, char **argv) { printf("%p %p\n", (void *)leaf, (void *)hidden); fflush(stdout); if (argc > 1) pause(); return hidden(argc) == 0; }
`

func TestCPrograms(t *testing.T) {
	for name, flags := range map[string][]string{"pie": {"-pie", "-fPIE"}, "fixed": {"-no-pie"}, "static": {"-static"}} {
		t.Run(name, func(t *testing.T) {
			program := buildC(t, cSource, flags...)
			table, id, err := symbol.TableOf(program, "")
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(run(t, "readelf", "-n", program), id) {
				t.Errorf("build id %q is not what readelf says", id)
			}
			all := truthOf(t, program, any)
			all.check(t, table)
			for start, f := range all {
				if f.names[0] == "sized" {
					if name, _, ok := table.Name(start + f.size); ok {
						t.Errorf("what follows sized is named %s", name)
					}
					if name, offset, ok := table.Name(start - 1); name != "bare" || offset != 2 || !ok {
						t.Errorf("before sized is %q+%d, %v", name, offset, ok)
					}
				}
			}
		})
	}
}

func TestDebugFiles(t *testing.T) {
	program := buildC(t, cSource, "-Wl,--build-id=0x1234567890abcdef")
	want := truthOf(t, program, any)
	without := buildC(t, cSource, "-Wl,--build-id=none")
	for name, c := range map[string]struct {
		program, place string
		broken         bool
	}{
		"build id":    {program: program, place: "usr/lib/debug/.build-id/12/34567890abcdef.debug"},
		"beside":      {program: without, place: "opt/stripped.debug"},
		"folder":      {program: without, place: "opt/.debug/stripped.debug"},
		"global":      {program: without, place: "usr/lib/debug/opt/stripped.debug"},
		"another one": {program: without, place: "opt/stripped.debug", broken: true},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			file, debug := filepath.Join(root, "opt/stripped"), filepath.Join(root, c.place)
			for _, path := range []string{file, debug} {
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			linked := filepath.Join(t.TempDir(), "stripped.debug")
			run(t, "objcopy", "--only-keep-debug", c.program, linked)
			run(t, "objcopy", "-S", "--add-gnu-debuglink="+linked, c.program, file)
			content, err := os.ReadFile(linked)
			if err != nil {
				t.Fatal(err)
			}
			if c.broken {
				content = append(content, 0)
			}
			write(t, debug, string(content))
			table, err := symbol.TableBeneath(root, "/opt/stripped")
			if err != nil {
				t.Fatal(err)
			}
			if !c.broken {
				want.check(t, table)
			} else if _, _, ok := table.Name(leafOf(want)); ok {
				t.Error("the wrong debug file was believed")
			}
		})
	}
}

func leafOf(all truth) uint64 {
	for start, f := range all {
		if f.names[0] == "leaf" {
			return start
		}
	}
	return 0
}

func TestMiniDebugInfo(t *testing.T) {
	program := buildC(t, cSource)
	want := truthOf(t, program, any)
	folder := t.TempDir()
	mini, stripped := filepath.Join(folder, "mini"), filepath.Join(folder, "stripped")
	run(t, "objcopy", "--only-keep-debug", program, mini)
	for _, how := range [][]string{{"-9"}, {"-T2", "--block-size=4096"}, {"--check=sha256"}, {"--check=none", "-1"}} {
		run(t, "xz", append(how, "-fk", mini)...)
		run(t, "objcopy", "-S", "--add-section=.gnu_debugdata="+mini+".xz", program, stripped)
		table, _, err := symbol.TableOf(stripped, "")
		if err != nil {
			t.Fatal(err)
		}
		want.check(t, table)
	}
}

// TestKeptSymbols: a file that was stripped of all but a few symbols has its dynamic ones too.
func TestKeptSymbols(t *testing.T) {
	program := buildC(t, cSource, "-rdynamic")
	want := truthOf(t, program, any)
	few := program + ".few"
	run(t, "strip", "--keep-symbol=main", "-o", few, program)
	table, _, err := symbol.TableOf(few, "")
	if err != nil {
		t.Fatal(err)
	}
	if name, _, ok := table.Name(leafOf(want)); name != "leaf" || !ok {
		t.Errorf("leaf is %q, %v", name, ok)
	}
}
