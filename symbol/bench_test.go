// SPDX-License-Identifier: Apache-2.0

package symbol_test

import (
	"os"
	"os/exec"
	"reflect"
	"testing"

	"github.com/iowitness/iowitness/symbol"
)

// BenchmarkResolve names an address of this process, whose symbols are known.
func BenchmarkResolve(b *testing.B) {
	r := symbol.New("/", symbol.Options{})
	defer r.Close()
	pid := uint32(os.Getpid())
	if err := r.Learn(pid, 1); err != nil {
		b.Fatal(err)
	}
	address := uint64(reflect.ValueOf(BenchmarkResolve).Pointer()) + 1
	if f := r.Resolve(pid, 1, address); f.Name == "" {
		b.Fatalf("%+v", f)
	}
	b.ReportAllocs()
	for b.Loop() {
		r.Resolve(pid, 1, address)
	}
}

func BenchmarkLearn(b *testing.B) {
	r := symbol.New("/", symbol.Options{})
	defer r.Close()
	now := uint64(0)
	b.ReportAllocs()
	for b.Loop() {
		now++
		if err := r.Learn(uint32(os.Getpid()), now); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLoad reads the symbols of large programs: ours with all, and stripped; and the go command.
func BenchmarkLoad(b *testing.B) {
	exe, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	load := func(path string) func(b *testing.B) {
		return func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				t, _, err := symbol.TableOf(path, "")
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(t.Len()), "symbols")
				b.ReportMetric(float64(t.Bytes()), "table-bytes")
			}
		}
	}
	b.Run("symtab", load(exe))
	b.Run("pclntab", func(b *testing.B) {
		stripped := b.TempDir() + "/stripped"
		run(b, "strip", "-o", stripped, exe)
		load(stripped)(b)
	})
	if tool, err := exec.LookPath("go"); err == nil {
		b.Run("go", load(tool))
	}
}
