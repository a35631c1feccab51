// SPDX-License-Identifier: Apache-2.0

package expr

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unsafe"

	"github.com/cilium/ebpf/btf"
	"golang.org/x/sys/unix"
)

// made is a function of made-up types that has some of everything.
func made(returns btf.Type) *Scope {
	node := &btf.Struct{Name: "node", Size: 80}
	pointer := &btf.Pointer{Target: node}
	text := &btf.Pointer{Target: &btf.Const{Type: char}}
	node.Members = []btf.Member{
		{Name: "next", Type: pointer, Offset: 0},
		{Name: "n", Type: cInt, Offset: 64},
		{Name: "flags", Type: cUint, Offset: 96},
		{Name: "name", Type: &btf.Array{Type: char, Nelems: 16}, Offset: 128},
		{Name: "low", Type: cUint, Offset: 256, BitfieldSize: 3},
		{Name: "mid", Type: cInt, Offset: 259, BitfieldSize: 7},
		{Name: "high", Type: cUint, Offset: 270, BitfieldSize: 18},
		{Name: "half", Type: &btf.Int{Name: "short", Size: 2, Encoding: btf.Signed}, Offset: 288},
		{Name: "tiny", Type: cU8, Offset: 304},
		{Name: "on", Type: cBool, Offset: 312},
		{Type: &btf.Union{Size: 8, Members: []btf.Member{
			{Name: "wide", Type: &btf.Int{Name: "long", Size: 8, Encoding: btf.Signed}},
			{Name: "size", Type: cU64},
		}}, Offset: 320},
		{Name: "text", Type: text, Offset: 384},
		{Name: "c", Type: colour, Offset: 448},
		{Name: "table", Type: &btf.Array{Type: cUint, Nelems: 4}, Offset: 512},
	}
	small := &btf.Struct{Name: "kuid", Size: 4, Members: []btf.Member{{Name: "val", Type: cUint}}}
	return &Scope{Function: &btf.Func{Name: "f", Type: &btf.FuncProto{Return: returns, Params: []btf.FuncParam{
		{Name: "p", Type: pointer},
		{Name: "size", Type: cU64},
		{Name: "flags", Type: cInt},
		{Name: "s", Type: text},
		{Name: "uid", Type: small},
		{Name: "tiny", Type: cU8},
	}}}}
}

// arena is memory of this process, of which the last bytes are followed by none.
type arena struct {
	base uint64
	raw  []byte
}

const arenaSize = 4096

func newArena(t testing.TB) *arena {
	t.Helper()
	raw, err := unix.Mmap(-1, 0, 2*arenaSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(raw) })
	if err := unix.Mprotect(raw[arenaSize:], unix.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	return &arena{uint64(uintptr(unsafe.Pointer(&raw[0]))), raw[:arenaSize]}
}

func (a *arena) read(address uint64, size int) ([]byte, bool) {
	if address < a.base || address > a.base+arenaSize-uint64(size) {
		return nil, false
	}
	return a.raw[address-a.base:][:size], true
}

var words = []string{"", "a", "ab", "abc", "journal", "0123456789abcdef", strings.Repeat("x", 63), strings.Repeat("x", 64)}

func pick[T any](r *rand.Rand, all ...T) T { return all[r.IntN(len(all))] }

// pointer is one that mostly can be read.
func (a *arena) pointer(r *rand.Rand) uint64 {
	if r.IntN(8) == 0 {
		return pick(r, 0, 8, 1<<63, ^uint64(3), a.base+arenaSize-4, a.base+arenaSize)
	}
	return a.base + uint64(80*r.IntN(40))
}

func number32(r *rand.Rand) uint64 {
	return pick(r, 0, 1, 2, 7, 16, 255, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, 0xffff_fffb, uint64(r.Uint32()))
}

func number8(r *rand.Rand) uint64 {
	return pick(r, 0, 1, 5, 1024, 1<<63, 1<<63-1, ^uint64(0), ^uint64(4), ^uint64(4095), r.Uint64(), number32(r))
}

func (a *arena) fill(r *rand.Rand) {
	le := binary.LittleEndian
	for at := 0; at+80 <= 40*80; at += 80 {
		node := a.raw[at:][:80]
		for i := range node {
			node[i] = byte(r.Uint32())
		}
		le.PutUint64(node, a.pointer(r))
		le.PutUint32(node[8:], uint32(number32(r)))
		le.PutUint32(node[12:], uint32(number32(r)))
		clear(node[16:32])
		copy(node[16:32], pick(r, words...))
		le.PutUint64(node[40:], number8(r))
		le.PutUint64(node[48:], a.text(r))
		le.PutUint32(node[56:], uint32(r.IntN(9)))
	}
	rest := a.raw[3200:]
	clear(rest)
	for i, word := range words {
		copy(rest[i*80:], word)
	}
	copy(rest[arenaSize-3200-8:], "journal\x00")
}

func (a *arena) text(r *rand.Rand) uint64 {
	if r.IntN(8) == 0 {
		return pick(r, 0, a.base+arenaSize-8, a.base+arenaSize-1)
	}
	return a.base + 3200 + uint64(80*r.IntN(len(words)))
}

func (a *arena) call(r *rand.Rand) *call {
	junk := uint64(r.Uint32()) << 32 // above what an argument needs
	out := &call{
		Args: [6]uint64{a.pointer(r), number8(r), number32(r) | junk, a.text(r), number32(r) | junk, uint64(r.IntN(4)) | junk},
		Ret:  number8(r), Latency: number8(r) >> 1, Tgid: r.Uint32() >> 1, Tid: 5, CPU: r.Uint32N(4),
	}
	copy(out.Comm[:15], pick(r, words...))
	return out
}

// writer makes up expressions.
type writer struct{ *rand.Rand }

func (w writer) number(depth int) string {
	leaves := []string{
		"p->n", "p->flags", "p->low", "p->mid", "p->high", "p->half", "p->tiny", "p->wide", "p->size", "p->c",
		"p->table[2]", "p->next->n", "p->next->next->wide", "*p->text", "p->text[3]", "size", "flags", "uid.val", "tiny",
		"arg2", "arg3", "ret", "latency", "cpu", "pid", "0", "1", "5", "-5", "-1", "0xffffffff", "4K", "1ms", "'a'", "-EIO",
		"0xfffffffffffffffb", "(int)arg3", "(u8)arg1", "(long)arg2", "(short)flags", "p->on", "((struct node *)0)", "p", "s", "p->next", "p->text",
	}
	if depth <= 0 || w.IntN(4) == 0 {
		return pick(w.Rand, leaves...)
	}
	x, y := w.number(depth-1), w.number(depth-1)
	switch w.IntN(9) {
	case 0:
		return "(" + w.condition(depth-1) + ")"
	case 1:
		return fmt.Sprintf("%s(%s)", pick(w.Rand, "-", "~", "+"), x)
	case 2:
		return fmt.Sprintf("(%s)(%s)", pick(w.Rand, "int", "u32", "s8", "unsigned char", "long", "u64", "bool"), x)
	case 3:
		return fmt.Sprintf("(%s %s %d)", x, pick(w.Rand, "<<", ">>"), w.IntN(64))
	}
	return fmt.Sprintf("(%s %s %s)", x, pick(w.Rand, "+", "-", "*", "&", "|", "^", "<<", ">>"), y)
}

func (w writer) condition(depth int) string {
	if depth > 0 {
		switch w.IntN(5) {
		case 0:
			return fmt.Sprintf("!(%s)", w.condition(depth-1))
		case 1, 2:
			return fmt.Sprintf("(%s %s %s)", w.condition(depth-1), pick(w.Rand, "&&", "||", "and", "or"), w.condition(depth-1))
		}
	}
	if w.IntN(4) == 0 {
		return w.text()
	}
	if w.IntN(6) == 0 {
		return w.number(depth)
	}
	return fmt.Sprintf("%s %s %s", w.number(depth-1), pick(w.Rand, "==", "!=", "<", "<=", ">", ">="), w.number(depth-1))
}

func (w writer) text() string {
	place := pick(w.Rand, "p->name", "p->text", "p->next->name", "s", "comm", "p->next->text")
	if w.IntN(3) == 0 {
		return fmt.Sprintf("%s ~ %q", place, pick(w.Rand, words...)+pick(w.Rand, "*", ""))
	}
	return fmt.Sprintf("%s %s %q", place, pick(w.Rand, "==", "!="), pick(w.Rand, words...))
}

// TestCompiledIsInterpreted: random filters and fields over random calls, by
// the kernel and in Go.
func TestCompiledIsInterpreted(t *testing.T) {
	r := newRunner(t)
	memory := newArena(t)
	random := rand.New(rand.NewPCG(1, uint64(len(words))))
	scopes := []*Scope{made(cInt), made(cU64), made(&btf.Pointer{Target: cInt}), made(colour)}
	wanted := 1500
	if testing.Short() {
		wanted = 500
	}
	outcomes := map[uint32]int{}
	fields := 0
	for checked, tried := 0, 0; checked < wanted; tried++ {
		if tried > 40*wanted {
			t.Fatalf("only %d of %d expressions were accepted", checked, tried)
		}
		scope := pick(random, scopes...)
		filter, err := scope.Filter(writer{random}.condition(4))
		if err != nil {
			continue
		}
		var captured []*Field
		if field, err := scope.Field(writer{random}.number(3)); err == nil && field.how == copyNumber {
			captured = append(captured, field)
		}
		program, err := Compile(filter, captured)
		if err != nil {
			t.Fatalf("%s: %v", filter.Text, err)
		}
		checked++
		memory.fill(random)
		bodies := r.all(t, program, false)
		for range 4 {
			c := memory.call(random)
			in := &interpreter{call: c, memory: memory.read}
			got, output := r.call(t, bodies, c)
			outcomes[got]++
			checkOutcome(t, in, filter, got)
			if got == Wanted && len(captured) > 0 {
				checkField(t, in, program.Slots[0], output)
				fields++
			}
			if t.Failed() {
				t.Fatalf("call %+v\n%v\n%v\n%v", c, program.Filter, program.Entry, program.Return)
			}
		}
		bodies.close()
	}
	t.Logf("outcomes %v, %d fields", outcomes, fields)
	for _, each := range []uint32{Wanted, Unwanted, Unreadable} {
		if outcomes[each] < wanted/20 {
			t.Errorf("outcome %d came %d times only", each, outcomes[each])
		}
	}
	if fields < wanted/20 {
		t.Errorf("only %d fields were captured", fields)
	}
}

func withoutResult(c *call) *call {
	out := *c
	out.Ret, out.Latency = 0xdead, 0xdead // nothing that the entry may look at
	return &out
}

func checkOutcome(t *testing.T, in *interpreter, filter *Filter, got uint32) {
	t.Helper()
	certain := in.certain(filter.root)
	right := false
	switch certain {
	case isTrue:
		right = got == Wanted
	case isUnknown:
		right = got == Unreadable
	case isFalse:
		right = got == Unwanted || got == Unreadable && in.unreadable(filter.root)
	}
	if !right {
		t.Errorf("%s: %d, but it is %d", filter.Text, got, certain)
	}
}

func checkField(t *testing.T, in *interpreter, slot Slot, output []byte) {
	t.Helper()
	want, ok := in.value(slot.Field.from)
	raw, gotOK := slot.Raw(output)
	if ok != gotOK || ok && number64(raw[:min(8, len(raw))]) != want&(^uint64(0)>>(64-8*min(8, slot.Field.Size))) {
		t.Errorf("field %s: %x %v, want %x %v", slot.Field.Text, raw, gotOK, want, ok)
	}
}
