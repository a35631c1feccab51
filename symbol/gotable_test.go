// SPDX-License-Identifier: Apache-2.0

package symbol

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"testing"
)

// smallGoTable is a table of three functions: one, two, three, of 16 bytes each.
func smallGoTable() []byte {
	order := binary.LittleEndian
	b := order.AppendUint32(nil, goMagic120)
	b = append(b, 0, 0, 1, 8)
	const names, records = 80, 100
	for _, word := range []uint64{3, 0, 0x1000, names, 0, 0, 0, records} {
		b = order.AppendUint64(b, word)
	}
	b = append(b, make([]byte, names-len(b))...)
	b = append(b, "one\x00two\x00three\x00"...)
	b = append(b, make([]byte, records-len(b))...)
	const first = 28 // the first record, after the index
	for i := range uint32(3) {
		b = order.AppendUint32(order.AppendUint32(b, 16*i), first+8*i)
	}
	b = order.AppendUint32(b, 48)
	for i := range uint32(3) {
		b = order.AppendUint32(order.AppendUint32(b, 16*i), 4*i)
	}
	return b
}

func goObject(content []byte) *object {
	return &object{
		in: bytes.NewReader(content), size: uint64(len(content)), order: binary.LittleEndian, wide: true, machine: elf.EM_X86_64,
		sections: []section{
			{name: ".gopclntab", kind: elf.SHT_PROGBITS, size: uint64(len(content)), address: 0x100},
			{name: ".text", kind: elf.SHT_PROGBITS, flags: elf.SHF_EXECINSTR, address: 0x1000, size: 48},
		},
	}
}

func TestSmallGoTable(t *testing.T) {
	var b builder
	goObject(smallGoTable()).goFunctions(&b)
	table := b.build(nil)
	for address, want := range map[uint64]string{0xfff: "", 0x1000: "one+0", 0x101f: "two+15", 0x1020: "three+0", 0x102f: "three+15", 0x1030: ""} {
		if got := nameAt(table, address); got != want {
			t.Errorf("%#x is %q, want %q", address, got, want)
		}
	}
}

// TestGoTableOutsideOfCode: a table that names what is not code names nothing.
func TestGoTableOutsideOfCode(t *testing.T) {
	o := goObject(smallGoTable())
	o.sections[1].size = 47
	var b builder
	if o.goFunctions(&b); len(b.entries) > 0 {
		t.Errorf("%d functions", len(b.entries))
	}
}

func FuzzGoTable(f *testing.F) {
	seed := smallGoTable()
	f.Add([]byte{8, 0xff}, uint8(0))
	f.Add([]byte{64, 4}, uint8(9))
	f.Fuzz(func(t *testing.T, patch []byte, cut uint8) {
		content := bytes.Clone(seed[:len(seed)-int(cut)%len(seed)])
		for ; len(patch) >= 2; patch = patch[2:] {
			content[int(patch[0])%len(content)] = patch[1]
		}
		var b builder
		goObject(content).goFunctions(&b)
		for _, e := range b.entries {
			if e.start < 0x1000 || e.end > 0x1030 || e.start >= e.end {
				t.Errorf("%+v is no code", e)
			}
		}
	})
}
