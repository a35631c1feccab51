// SPDX-License-Identifier: Apache-2.0

package kernel_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/iowitness/iowitness/kernel"
)

func loadFixture(t *testing.T) *kernel.Symbols {
	t.Helper()
	f, err := os.Open("testdata/kallsyms")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s, err := kernel.ParseSymbols(f)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestLookup(t *testing.T) {
	s := loadFixture(t)
	for _, c := range []struct {
		address uint64
		name    string
		offset  uint64
		ok      bool
	}{
		{0xffffffff81000000, "srso_alias_untrain_ret", 0, true}, // the first of three names
		{0xffffffff81000010, "srso_alias_untrain_ret", 0x10, true},
		{0xffffffff81e5a330, "io_schedule", 0, true}, // not __pfx_io_schedule before it
		{0xffffffff81e5a350, "io_schedule", 0x20, true},
		{0xffffffff81e5a3a4, "io_schedule_timeout", 4, true},
		{0xffffffffc0201010, "ext4_readpage.isra.0", 0x10, true}, // a module, listed after higher ones
		{0xffffffffc0300001, "bpf_prog_be9203e0f2047d61_sw", 1, true},
		{0xffffffff80ffffff, "", 0, false},
		{0xffffffffe0000000, "", 0, false}, // far beyond the last
		{0, "", 0, false},
	} {
		name, offset, ok := s.Lookup(c.address)
		if name != c.name || offset != c.offset || ok != c.ok {
			t.Errorf("%#x is %q+%#x (%v), want %q+%#x (%v)", c.address, name, offset, ok, c.name, c.offset, c.ok)
		}
	}
}

func TestAddressIsTheInverseOfLookup(t *testing.T) {
	s := loadFixture(t)
	if at, ok := s.Address("io_schedule"); !ok || at != 0xffffffff81e5a330 {
		t.Errorf("io_schedule at %#x, %v", at, ok)
	}
	for _, absent := range []string{"jiffies", "__pfx_io_schedule", "__cfi_io_schedule", "io_sched", ""} {
		if at, ok := s.Address(absent); ok {
			t.Errorf("%q at %#x", absent, at)
		}
	}
}

func TestSymbolsWithoutAddresses(t *testing.T) {
	hidden := "0000000000000000 T _stext\n0000000000000000 t io_schedule\n"
	if _, err := kernel.ParseSymbols(strings.NewReader(hidden)); !errors.Is(err, kernel.ErrRestricted) {
		t.Errorf("hidden: %v", err)
	}
	if _, err := kernel.ParseSymbols(strings.NewReader("")); !errors.Is(err, kernel.ErrNoSymbols) {
		t.Errorf("empty: %v", err)
	}
	if _, err := kernel.LoadSymbols(t.TempDir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	if !strings.Contains(kernel.ErrRestricted.Error(), "kernel.kptr_restrict") {
		t.Error("the way out is not named")
	}
}

func TestBaseName(t *testing.T) {
	for name, want := range map[string]string{
		"io_schedule":                  "io_schedule",
		"f.isra.0":                     "f",
		"f.constprop.12":               "f",
		"f.part.3":                     "f",
		"f.cold":                       "f",
		"f.cold.7":                     "f",
		"f.part.0.isra.0.cold":         "f",
		"f.constprop.0.isra.0":         "f",
		"f.llvm.1234567890":            "f",
		"f.isra":                       "f.isra",
		"f.0":                          "f.0",
		"bpf_prog_be9203e0f2047d61_sw": "bpf_prog_be9203e0f2047d61_sw",
		".cold":                        ".cold",
		"":                             "",
	} {
		if got := kernel.BaseName(name); got != want {
			t.Errorf("%q is of %q, want %q", name, got, want)
		}
	}
}

func TestSymbolsOfThisKernel(t *testing.T) {
	s, err := kernel.LoadSymbols("/")
	if errors.Is(err, kernel.ErrRestricted) || errors.Is(err, os.ErrNotExist) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	at, ok := s.Address("io_schedule")
	if !ok {
		t.Fatal("io_schedule has no address")
	}
	if name, offset, ok := s.Lookup(at + 1); name != "io_schedule" || offset != 1 || !ok {
		t.Errorf("%#x is %q+%d, %v", at+1, name, offset, ok)
	}
}

func FuzzParseSymbols(f *testing.F) {
	fixture, err := os.ReadFile("testdata/kallsyms")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(fixture), uint64(0xffffffff81e5a331))
	f.Add("1 t a\n1 t b\n0 T c", uint64(1))
	f.Add("10000000000000000 t x\n1 t \x00\n1 t\n", uint64(5))
	f.Fuzz(func(t *testing.T, text string, address uint64) {
		s, err := kernel.ParseSymbols(strings.NewReader(text))
		if err != nil {
			return
		}
		name, offset, ok := s.Lookup(address)
		if !ok {
			return
		}
		again, zero, ok := s.Lookup(address - offset)
		if again != name || zero != 0 || !ok {
			t.Errorf("%#x is %q+%d, but %#x is %q+%d", address, name, offset, address-offset, again, zero)
		}
		if _, ok := s.Address(name); !ok {
			t.Errorf("%q has no address", name)
		}
	})
}

func BenchmarkLoadSymbols(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := kernel.LoadSymbols("/"); err != nil {
			b.Skip(err)
		}
	}
}

func BenchmarkParseSymbols(b *testing.B) {
	text, err := os.ReadFile("/proc/kallsyms")
	if err != nil {
		b.Skip(err)
	}
	for b.Loop() {
		if _, err := kernel.ParseSymbols(strings.NewReader(string(text))); err != nil {
			b.Skip(err)
		}
	}
}

func BenchmarkLookup(b *testing.B) {
	s, err := kernel.LoadSymbols("/")
	if err != nil {
		b.Skip(err)
	}
	at, _ := s.Address("io_schedule")
	b.ReportAllocs()
	for b.Loop() {
		s.Lookup(at + 7)
	}
}
