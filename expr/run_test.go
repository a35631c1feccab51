// SPDX-License-Identifier: Apache-2.0

package expr

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/rlimit"
)

// call is what struct call_input tells of one.
type call struct {
	Args                [6]uint64
	Ret, Latency        uint64
	Tgid, Tid, CPU, Pad uint32
	Comm                [16]byte
}

func (c *call) bytes() []byte {
	var out bytes.Buffer
	if err := binary.Write(&out, binary.NativeEndian, c); err != nil {
		panic(err)
	}
	return out.Bytes()
}

// runner runs bodies in the kernel on calls that a test makes up.
type runner struct {
	output *ebpf.Map
}

func newRunner(t testing.TB) *runner {
	t.Helper()
	if err := rlimit.RemoveMemlock(); err != nil {
		t.Skip("needs the rights to load BPF programs: ", err)
	}
	output, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: MaxOutput, MaxEntries: 1})
	if errors.Is(err, ebpf.ErrNotSupported) || err != nil {
		t.Skip("needs the rights to load BPF programs: ", err)
	}
	t.Cleanup(func() { output.Close() })
	return &runner{output}
}

// spec is a program that gives its context, as struct call_input, to a body.
// arg1 is exchanged for the running thread's task_struct, if that is asked.
func (r *runner) spec(body asm.Instructions, current bool) *ebpf.ProgramSpec {
	const input, key = -InputSize, -InputSize - 8
	ins := asm.Instructions{asm.Mov.Reg(asm.R6, asm.R1)}
	for at := int16(0); at < InputSize; at += 8 {
		ins = append(ins,
			asm.LoadMem(asm.R0, asm.R6, at, asm.DWord),
			asm.StoreMem(asm.RFP, input+at, asm.R0, asm.DWord))
	}
	if current {
		ins = append(ins, asm.FnGetCurrentTask.Call(), asm.StoreMem(asm.RFP, input, asm.R0, asm.DWord))
	}
	ins = append(ins,
		asm.StoreImm(asm.RFP, key, 0, asm.Word),
		asm.LoadMapPtr(asm.R1, r.output.FD()),
		asm.Mov.Reg(asm.R2, asm.RFP), asm.Add.Imm(asm.R2, key),
		asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, "exit"),
		asm.Mov.Reg(asm.R2, asm.R0),
		asm.Mov.Reg(asm.R1, asm.RFP), asm.Add.Imm(asm.R1, input),
		asm.Call.Label("body"),
		asm.Return().WithSymbol("exit"),
	)
	first := body[0].WithSymbol("body")
	ins = append(append(ins, first), body[1:]...)
	return &ebpf.ProgramSpec{Type: ebpf.RawTracepoint, License: "GPL", Instructions: ins}
}

func (r *runner) load(t testing.TB, body asm.Instructions, current bool) *ebpf.Program {
	t.Helper()
	program, err := ebpf.NewProgram(r.spec(body, current))
	if err != nil {
		t.Fatalf("load: %+v\n%v", err, body)
	}
	return program
}

// run gives what a body returns and leaves; before is the output buffer as it finds it.
func (r *runner) run(t testing.TB, program *ebpf.Program, c *call, before []byte) (uint32, []byte) {
	t.Helper()
	buffer := make([]byte, MaxOutput)
	copy(buffer, before)
	if err := r.output.Put(uint32(0), buffer); err != nil {
		t.Fatal(err)
	}
	got, err := program.Run(&ebpf.RunOptions{Context: c.bytes()})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.output.Lookup(uint32(0), buffer); err != nil {
		t.Fatal(err)
	}
	return got, buffer
}

// loaded are a program's bodies in the kernel.
type loaded struct{ filter, entry, exit *ebpf.Program }

func (r *runner) all(t testing.TB, program *Program, current bool) *loaded {
	t.Helper()
	return &loaded{r.load(t, program.Filter, current), r.load(t, program.Entry, current), r.load(t, program.Return, current)}
}

func (l *loaded) close() {
	l.filter.Close()
	l.entry.Close()
	l.exit.Close()
}

// call runs what a call runs: the filter and, if that wants it, the entry and the return.
func (r *runner) call(t testing.TB, l *loaded, c *call) (uint32, []byte) {
	t.Helper()
	at := withoutResult(c)
	if got, output := r.run(t, l.filter, at, nil); got != Wanted {
		return got, output
	}
	got, output := r.run(t, l.entry, at, nil)
	if got != Wanted {
		t.Errorf("an entry that only captures returned %d", got)
	}
	return r.run(t, l.exit, c, output)
}

// both runs a program's bodies once.
func (r *runner) both(t testing.TB, program *Program, c *call, current bool) (uint32, []byte) {
	t.Helper()
	l := r.all(t, program, current)
	defer l.close()
	return r.call(t, l, c)
}

func kernelTypes(t testing.TB) *btf.Spec {
	t.Helper()
	types, err := btf.LoadKernelSpec()
	if err != nil {
		t.Skip("this kernel has no BTF: ", err)
	}
	return types
}

func mustCompile(t testing.TB, scope *Scope, filter string, fields ...string) *Program {
	t.Helper()
	var checked *Filter
	var err error
	if filter != "" {
		if checked, err = scope.Filter(filter); err != nil {
			t.Fatal(err)
		}
	}
	var all []*Field
	for _, text := range fields {
		field, err := scope.Field(text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, field)
	}
	program, err := Compile(checked, all)
	if err != nil {
		t.Fatal(err)
	}
	return program
}
