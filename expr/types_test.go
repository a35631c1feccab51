// SPDX-License-Identifier: Apache-2.0

package expr

import (
	"errors"
	"slices"
	"testing"

	"github.com/cilium/ebpf/btf"
)

func TestTypeName(t *testing.T) {
	node := &btf.Struct{Name: "node"}
	loop := &btf.Pointer{}
	loop.Target = loop
	for want, each := range map[string]btf.Type{
		"struct node **":         &btf.Pointer{Target: &btf.Pointer{Target: node}},
		"const char *":           &btf.Pointer{Target: &btf.Const{Type: char}},
		"volatile unsigned long": &btf.Volatile{Type: &btf.Restrict{Type: cU64}},
		"char __user *":          &btf.Pointer{Target: &btf.TypeTag{Type: char, Value: "user"}},
		"function *":             &btf.Pointer{Target: &btf.FuncProto{}},
		"union":                  &btf.Union{},
		"enum colour[3]":         &btf.Array{Type: colour, Nelems: 3},
		"struct x":               &btf.Fwd{Name: "x"},
		"void *":                 &btf.Pointer{Target: &btf.Void{}},
		"u8":                     cU8,
	} {
		if got := TypeName(each); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := TypeName(loop); len(got) > 64 {
		t.Errorf("%q", got)
	}
}

// TestKernelTypes: what is looked for in the kernel's types is found, or its absence told.
func TestKernelTypes(t *testing.T) {
	scope := &Scope{Types: kernelTypes(t)}
	for text, want := range map[string]string{
		"(struct task_struct *)arg1":                         "struct task_struct *",
		"((union nf_inet_addr *)arg1)->ip":                   "__be32",
		"(enum pid_type)arg1":                                "enum pid_type",
		"(gfp_t)arg1":                                        "gfp_t",
		"(struct task_struct *)arg1->comm":                   "char[16]",
		"(struct cpumask *)((struct page *)arg1)->lru":       "",
		"*(struct task_struct *)arg1":                        "",
		"(struct nosuch *)arg1":                              "",
		"(nosuch *)arg1":                                     "",
		"(struct task_struct)arg1":                           "",
		"\"text\"":                                           "",
		"(void *)arg1":                                       "void *",
		"(struct list_head *)(struct page *)arg1->lru":       "",
		"(u64)(struct task_struct *)arg1":                    "u64",
		"(long)(struct task_struct *)arg1->cpus_mask":        "",
		"(struct kernfs_node *)((struct kobject *)arg1)->sd": "struct kernfs_node *",
	} {
		field, err := scope.Field(text)
		var wrong *Error
		switch {
		case err != nil && (want != "" || !errors.As(err, &wrong)):
			t.Errorf("%s: %v", text, err)
		case err == nil && want == "":
			t.Errorf("%s was taken, as %s", text, field.TypeName)
		case err == nil && field.TypeName != want:
			t.Errorf("%s is %s, want %s", text, field.TypeName, want)
		case err != nil:
			t.Log(err)
		}
	}
}

// TestForwardDeclaration: a struct of which only the name was declared is found by it.
func TestForwardDeclaration(t *testing.T) {
	types := kernelTypes(t)
	task := &btf.Pointer{Target: &btf.Fwd{Name: "task_struct"}}
	lost := &btf.Pointer{Target: &btf.Fwd{Name: "nosuch"}}
	proto := &btf.FuncProto{Return: cInt, Params: []btf.FuncParam{{Name: "task", Type: task}, {Name: "lost", Type: lost}}}
	scope := &Scope{Function: &btf.Func{Name: "f", Type: proto}, Types: types}
	field, err := scope.Field("task->tgid")
	if err != nil || field.TypeName != "pid_t" {
		t.Error(field, err)
	}
	if _, err := scope.Field("lost->x"); err == nil {
		t.Error("an unknown struct has a field")
	} else {
		t.Log(err)
	}
}

// TestAmbiguousConstants: a name with two values is refused.
func TestAmbiguousConstants(t *testing.T) {
	constants := (&Scope{Types: kernelTypes(t)}).constants()
	var one, two string
	for name, values := range constants {
		if _, isErrno := errnoNumber(name); isErrno || slices.Contains(builtins, name) {
			continue
		}
		if len(values) == 1 {
			one = name
		} else {
			two = name
		}
	}
	scope := &Scope{Types: kernelTypes(t)}
	if _, err := scope.Filter(one); err != nil {
		t.Error(err)
	}
	if two == "" {
		t.Skip("this kernel has none")
	}
	if _, err := scope.Filter(two); err == nil {
		t.Errorf("%s was taken", two)
	} else {
		t.Log(err)
	}
}
