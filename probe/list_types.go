// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/cilium/ebpf/btf"

	"github.com/iowitness/iowitness/diagnosis"
	"github.com/iowitness/iowitness/expr"
	"github.com/iowitness/iowitness/kernel"
)

// btfNames are the names that type information has, of the kernel and its modules.
type btfNames struct {
	known  bool
	dir    string // of the kernel's own; "": it is from a file
	kernel *kernel.BTF
	have   map[string]map[string]bool // functions, by module
}

const btfDir = "sys/kernel/btf"

func (n *btfNames) load(root, file string) {
	n.have = map[string]map[string]bool{}
	if file == "" {
		n.dir = filepath.Join(root, btfDir)
		file = filepath.Join(n.dir, "vmlinux")
	}
	var err error
	n.kernel, err = kernel.ReadBTF(file, nil)
	n.known = err == nil
}

// module reads that of a module; "" is the kernel. nil: it has none.
func (n *btfNames) module(name string) *kernel.BTF {
	if name == "" || !n.known {
		return n.kernel
	}
	if n.dir == "" {
		return nil
	}
	b, err := kernel.ReadBTF(filepath.Join(n.dir, name), n.kernel)
	if err != nil {
		return nil
	}
	return b
}

// modules are those that have type information, the kernel first.
func (n *btfNames) modules() []string {
	names := []string{""}
	if n.dir == "" {
		return names
	}
	entries, _ := os.ReadDir(n.dir)
	for _, e := range entries {
		if e.Name() != "vmlinux" {
			names = append(names, e.Name())
		}
	}
	return names
}

// has says whether a function's types are known. The kernel's modules have some in its own.
func (n *btfNames) has(module, function string) bool {
	set := n.have[module]
	if set == nil {
		set = map[string]bool{}
		if b := n.module(module); b != nil {
			_ = b.Names(kernel.BTFFunction, "", func(name []byte) { set[string(name)] = true })
		}
		n.have[module] = set
	}
	return set[function]
}

// describeFunction tells a function's types.
func (c *catalog) describeFunction(p *diagnosis.Probeable, f *listed) {
	c.describe(&f.CallTarget)
	if f.Func == nil {
		return
	}
	proto := f.Func.Type.(*btf.FuncProto)
	p.Signature, p.Returns = expr.Signature(f.Func), expr.TypeName(proto.Return)
	p.Arguments = typed(proto.Params)
}

func typed(params []btf.FuncParam) []diagnosis.Typed {
	all := make([]diagnosis.Typed, 0, len(params))
	for _, a := range params {
		all = append(all, diagnosis.Typed{Name: a.Name, Type: expr.TypeName(a.Type)})
	}
	return all
}

// mostDescribed is of how many functions the structs are told.
const mostDescribed = 20

// listStructs tells the fields of what functions get and return, or of single values.
func (c *catalog) listStructs(functions []*listed) error {
	if len(functions) > mostDescribed {
		return fmt.Errorf("--fields tells of %d functions at most, and the patterns mean %d: %w; write a narrower pattern", mostDescribed, len(functions), ErrNoFunction)
	}
	for _, f := range functions {
		if f.Func == nil {
			c.out.Notes = append(c.out.Notes, "the types of "+f.Name+" are not known, so its arguments are arg1 to arg6, and their fields cannot be told")
			continue
		}
		values, err := c.values(f)
		if err != nil {
			return err
		}
		for _, v := range values {
			if s := structOf(f.Name, v.Name, v.Type); len(s.Members) > 0 {
				c.out.Structs = append(c.out.Structs, s)
			}
		}
	}
	return nil
}

// values are the expressions whose structs are told: those asked for, or all
// arguments and the result.
func (c *catalog) values(f *listed) (values []btf.FuncParam, err error) {
	for _, text := range c.options.Of {
		scope := &expr.Scope{Function: f.Func, Types: f.Types}
		field, err := scope.Field(text)
		if err != nil {
			return nil, fmt.Errorf("--of, of %s: %w", f.Name, err)
		}
		values = append(values, btf.FuncParam{Name: text, Type: field.Type})
		if len(expr.Members(field.Type)) == 0 {
			c.out.Notes = append(c.out.Notes, fmt.Sprintf("%s is %s, which has no fields", text, expr.TypeName(field.Type)))
		}
	}
	if len(c.options.Of) > 0 {
		return values, nil
	}
	proto := f.Func.Type.(*btf.FuncProto)
	for _, p := range proto.Params {
		if p.Name != "" {
			values = append(values, btf.FuncParam{Name: expr.ArgumentPath(p.Name), Type: p.Type})
		}
	}
	return append(values, btf.FuncParam{Name: "ret", Type: proto.Return}), nil
}

func structOf(function, value string, t btf.Type) diagnosis.Struct {
	s := diagnosis.Struct{Function: function, Value: value, Type: expr.TypeName(t)}
	for _, m := range expr.Members(t) {
		s.Members = append(s.Members, diagnosis.StructMember{
			Path: value + expr.Joint(t) + m.Name, Type: expr.TypeName(m.Type), Offset: int(m.Offset), Bits: int(m.Bits),
		})
	}
	return s
}
