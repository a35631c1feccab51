// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/iowitness/iowitness/kernel"
)

// TestWhoIsCalledAtAnAddress: functions, also by their padding or past their mark, but no place within.
func TestWhoIsCalledAtAnAddress(t *testing.T) {
	symbols, err := kernel.ParseSymbols(strings.NewReader("ffffffff81000100 T vm_mmap\nffffffff81000130 T __pfx_vm_mmap_pgoff\nffffffff81000140 T vm_mmap_pgoff.isra.0\n"))
	if err != nil {
		t.Fatal(err)
	}
	names := &errorsNames{symbols: symbols}
	for address, want := range map[uint64]string{
		0xffffffff81000100: "vm_mmap",
		0xffffffff81000104: "vm_mmap",
		0xffffffff810000f0: "vm_mmap",
		0xffffffff81000105: "",
		0xffffffff81000120: "",
		0xffffffff81000130: "vm_mmap_pgoff",
		0xffffffff81000136: "vm_mmap_pgoff",
		0xffffffff81000140: "vm_mmap_pgoff",
		0xffffffff810000ef: "",
		0xffffffff81000150: "",
		0:                  "",
		^uint64(0):         "",
	} {
		if got := names.Begins(address); got != want {
			t.Errorf("%#x: %q, not %q", address, got, want)
		}
	}
	if got := (&errorsNames{}).Begins(0xffffffff81000100); got != "" {
		t.Errorf("%q without symbols", got)
	}
}
