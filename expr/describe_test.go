// SPDX-License-Identifier: Apache-2.0

package expr

import (
	"testing"

	"github.com/cilium/ebpf/btf"
)

func TestSignature(t *testing.T) {
	number := &btf.Int{Name: "int", Size: 4, Encoding: btf.Signed}
	char := &btf.Int{Name: "char", Size: 1, Encoding: btf.Signed}
	file := &btf.Pointer{Target: &btf.Struct{Name: "file"}}
	for want, f := range map[string]*btf.Func{
		"int f(void)": {Name: "f", Type: &btf.FuncProto{Return: number}},
		"struct file *open(const char *name, int)": {Name: "open", Type: &btf.FuncProto{
			Return: file, Params: []btf.FuncParam{{Name: "name", Type: &btf.Pointer{Target: &btf.Const{Type: char}}}, {Type: number}},
		}},
		"void print(char text[16], ...)": {Name: "print", Type: &btf.FuncProto{
			Return: &btf.Void{}, Params: []btf.FuncParam{{Name: "text", Type: &btf.Array{Type: char, Nelems: 16}}, {Type: &btf.Void{}}},
		}},
	} {
		if got := Signature(f); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestMembersAreThoseOfExpressions: each has a path that the language takes.
func TestMembersAreThoseOfExpressions(t *testing.T) {
	number := &btf.Int{Name: "int", Size: 4, Encoding: btf.Signed}
	inner := &btf.Union{Size: 4, Members: []btf.Member{{Name: "a", Type: number}, {Name: "b", Type: number}}}
	outer := &btf.Struct{Name: "outer", Size: 12, Members: []btf.Member{
		{Name: "first", Type: number},
		{Type: inner, Offset: 32},
		{Name: "flag", Type: number, Offset: 64 + 9, BitfieldSize: 3},
	}}
	pointer := &btf.Pointer{Target: &btf.Const{Type: outer}}
	got := Members(pointer)
	want := []Member{
		{Name: "first", Type: number},
		{Name: "a", Type: number, Offset: 4},
		{Name: "b", Type: number, Offset: 4},
		{Name: "flag", Type: number, Offset: 9, Bit: 1, Bits: 3},
	}
	if len(got) != len(want) {
		t.Fatalf("%+v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%+v, want %+v", got[i], want[i])
		}
		scope := &Scope{Function: &btf.Func{Name: "f", Type: &btf.FuncProto{Return: &btf.Void{}, Params: []btf.FuncParam{{Name: "o", Type: pointer}}}}}
		if _, err := scope.Field("o" + Joint(pointer) + got[i].Name); err != nil {
			t.Errorf("%s: %v", got[i].Name, err)
		}
	}
	if Members(number) != nil || Joint(outer) != "." {
		t.Error("a number has members, or a struct is a pointer")
	}
}
