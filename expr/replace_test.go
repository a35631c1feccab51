// SPDX-License-Identifier: Apache-2.0

package expr

import (
	"encoding/binary"
	"errors"
	"os"
	"slices"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
)

const stubs = "testdata/stub.bpf.o"

func loadStubs(t *testing.T) *ebpf.CollectionSpec {
	t.Helper()
	spec, err := ebpf.LoadCollectionSpec(stubs)
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

// TestReplaceInACObject: the stubs of an object that a C compiler made, run in the kernel.
func TestReplaceInACObject(t *testing.T) {
	newRunner(t)
	spec := loadStubs(t)
	program := mustCompile(t, &Scope{}, "arg1 > 5 && (int)ret != -EIO && latency < arg2", "arg1", "comm", "pid", "ret", "latency - arg2")
	if err := errors.Join(Replace(spec.Programs["enter"], "call_filter", program.Filter), Replace(spec.Programs["enter"], "call_entry", program.Entry),
		Replace(spec.Programs["leave"], "call_return", program.Return)); err != nil {
		t.Fatal(err)
	}
	collection, err := ebpf.NewCollection(spec)
	if err != nil {
		t.Fatalf("%+v", err)
	}
	defer collection.Close()
	run := func(name string, args ...uint64) uint32 {
		t.Helper()
		context := make([]byte, InputSize)
		for i, arg := range args {
			binary.NativeEndian.PutUint64(context[8*i:], arg)
		}
		got, err := collection.Programs[name].Run(&ebpf.RunOptions{Context: context})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got := run("enter", 5); got != 10 {
		t.Errorf("an unwanted call: %d", got)
	}
	if got := run("enter", 6, 100); got != 11 {
		t.Errorf("a wanted call: %d", got)
	}
	for _, test := range []struct {
		ret, latency uint64
		want         uint32
	}{{0, 100, 20}, {^uint64(4), 1, 20}, {7, 99, 21}} {
		if got := run("leave", 0, 0, 0, 0, 0, 0, test.ret, test.latency); got != test.want {
			t.Errorf("returned %d after %d: %d", test.ret, test.latency, got)
		}
	}
	output := make([]byte, MaxOutput)
	if err := collection.Maps["output"].Lookup(uint32(0), output); err != nil {
		t.Fatal(err)
	}
	comm, _ := os.ReadFile("/proc/thread-self/comm")
	for i, want := range []string{"6", string(cut(append(comm[:len(comm)-1:len(comm)-1], 0))), "", "7", ""} {
		raw, ok := program.Slots[i].Raw(output)
		if got := program.Slots[i].Field.Render(raw); !ok || want != "" && got != want {
			t.Errorf("%s: %q %v, want %q", program.Slots[i].Field.Text, got, ok, want)
		}
	}
}

// TestReplaceKeepsTheRest: all but the stub is as it was, and the stub's name and type are.
func TestReplaceKeepsTheRest(t *testing.T) {
	before, after := loadStubs(t).Programs["enter"], loadStubs(t).Programs["enter"]
	body := asm.Instructions{asm.Mov.Imm(asm.R0, 1), asm.Return()}
	if err := Replace(after, "call_entry", body); err != nil {
		t.Fatal(err)
	}
	names := func(all asm.Instructions) (out []string) {
		for i := range all {
			if function := btf.FuncMetadata(&all[i]); function != nil {
				out = append(out, function.Name+" "+all[i].Symbol())
				if all[i].Source() == nil {
					t.Errorf("%s has no source line", function.Name)
				}
			}
		}
		return out
	}
	was, is := names(before.Instructions), names(after.Instructions)
	if len(was) != 4 || !slices.Equal(was, is) {
		t.Errorf("subprograms %q, were %q", is, was)
	}
	if body[0].Symbol() != "" {
		t.Error("the caller's body was changed")
	}
	if err := Replace(after, "call_entry", body); err != nil {
		t.Error("a body cannot be replaced again: ", err)
	}
	for _, wrong := range []struct {
		name string
		body asm.Instructions
	}{{"call_return", body}, {"enter", body}, {"call_entry", nil}} {
		if err := Replace(after, wrong.name, wrong.body); err == nil {
			t.Errorf("%s was replaced", wrong.name)
		} else {
			t.Log(err)
		}
	}
}
