// SPDX-License-Identifier: Apache-2.0

package symbol

import (
	"bytes"
	"debug/elf"
	"strings"
)

// goTable is Go's table of functions, which also stripped programs have: a header, names, and
// for each function its entry, ascending, and where its record is, that begins with entry and name.
type goTable struct {
	o         *object
	section   *section
	header    uint64 // where in the section it begins
	pointer   uint64 // bytes
	functions uint64
	text      uint64 // the address that entries count from
	told      bool   // the file tells it; else it is a guess to be checked
	names     uint64 // offsets from the header
	records   uint64
}

// The marks of the table in Go 1.18 and 1.19, and since 1.20.
const (
	goMagic118 = 0xfffffff0
	goMagic120 = 0xfffffff1
)

// goFunctions adds the functions of a Go program. Nothing is added if where its code begins is
// not certain.
func (o *object) goFunctions(b *builder) {
	t, ok := o.findGoTable()
	if !ok || t.functions > maxSymbols {
		return
	}
	var found builder
	if t.read(&found) && t.holds(&found) {
		for _, e := range found.entries {
			b.add(e.start, e.end-e.start, found.nameOf(e), 0)
		}
	}
}

func (o *object) findGoTable() (t goTable, ok bool) {
	if s := o.find(".gopclntab", ".data.rel.ro.gopclntab"); s != nil {
		return o.goHeader(s, 0)
	}
	if o.find(".go.buildinfo") == nil {
		return t, false
	}
	s := o.find(".data.rel.ro") // linked by another linker as a PIE, before Go 1.26
	if s == nil || s.size > 256<<20 {
		return t, false
	}
	w := o.window(s.offset, s.size)
	for at := uint64(0); at+72 <= s.size; at += 8 {
		if head := w.at(at, 8); len(head) == 8 && head[4] == 0 && head[5] == 0 && head[3] == 0xff {
			if t, ok = o.goHeader(s, at); ok {
				return t, true
			}
		}
	}
	return t, false
}

func (o *object) goHeader(s *section, at uint64) (t goTable, ok bool) {
	head := o.window(s.offset, s.size).at(at, 8+8*8)
	if len(head) < 8 {
		return t, false
	}
	magic, pointer := o.order.Uint32(head), uint64(head[7])
	if magic != goMagic118 && magic != goMagic120 || head[4] != 0 || head[5] != 0 ||
		(pointer != 4 && pointer != 8) || uint64(len(head)) < 8+8*pointer {
		return t, false
	}
	word := func(i uint64) uint64 { return o.word(head[8+i*pointer:], pointer) }
	t = goTable{o: o, section: s, header: at, pointer: pointer, functions: word(0), text: word(2), names: word(3), records: word(7)}
	size := s.size - at
	if t.names >= size || t.records >= size || t.functions > size/8 || t.names >= t.records {
		return t, false
	}
	if t.text, t.told = o.goText(t); !t.told {
		if s := o.find(".text"); s != nil {
			t.text = s.address
		}
	}
	return t, t.text != 0
}

func (o *object) word(b []byte, size uint64) uint64 {
	if size == 4 {
		return uint64(o.order.Uint32(b))
	}
	return o.order.Uint64(b)
}

// goText is where a program's Go code begins, as its file tells: in the table's header, or in the
// module's record that has a section of its own since Go 1.26.
func (o *object) goText(t goTable) (uint64, bool) {
	if t.text != 0 {
		return t.text, true
	}
	if s := o.find(".go.module"); s != nil {
		const words = 1 + 6*3 + 1 + 2 // before it: a pointer, six slices, a pointer, the range
		if b := o.window(s.offset, s.size).at(words*t.pointer, int(t.pointer)); len(b) == int(t.pointer) {
			if text := o.word(b, t.pointer); text != 0 {
				return text, true
			}
		}
		return o.relative(s.address + words*t.pointer)
	}
	return o.relative(t.section.address + t.header + 8 + 2*t.pointer)
}

// relative is what the loader puts at an address that is filled relative to where the file is loaded.
func (o *object) relative(address uint64) (uint64, bool) {
	kind, known := map[elf.Machine]uint64{
		elf.EM_X86_64: uint64(elf.R_X86_64_RELATIVE), elf.EM_AARCH64: uint64(elf.R_AARCH64_RELATIVE), elf.EM_RISCV: uint64(elf.R_RISCV_RELATIVE),
		elf.EM_S390: uint64(elf.R_390_RELATIVE), elf.EM_PPC64: uint64(elf.R_PPC64_RELATIVE), elf.EM_LOONGARCH: uint64(elf.R_LARCH_RELATIVE),
	}[o.machine]
	s := o.find(".rela.dyn", ".rela")
	if !known || s == nil || !o.wide || s.size > 256<<20 {
		return 0, false
	}
	w := o.window(s.offset, s.size)
	for at := uint64(0); ; at += 24 {
		r := w.at(at, 24)
		if len(r) < 24 {
			return 0, false
		}
		if o.order.Uint64(r) == address && o.order.Uint64(r[8:])&0xffffffff == kind {
			return o.order.Uint64(r[16:]), true
		}
	}
}

// read adds all functions; false if the table contradicts itself.
func (t *goTable) read(b *builder) bool {
	o := t.o
	begin := t.section.offset + t.header
	rest := t.section.size - t.header
	index := o.window(begin+t.records, rest-t.records)
	records := o.window(begin+t.records, rest-t.records)
	names := o.window(begin+t.names, t.records-t.names)
	for i := range t.functions {
		raw := index.at(i*8, 12)
		if len(raw) < 12 {
			return false
		}
		start, record, end := o.order.Uint32(raw), o.order.Uint32(raw[4:]), o.order.Uint32(raw[8:])
		r := records.at(uint64(record), 8)
		if len(r) < 8 || o.order.Uint32(r) != start || end < start {
			return false
		}
		b.add(t.text+uint64(start), uint64(end-start), goName(names, o.order.Uint32(r[4:])), 0)
	}
	return len(b.entries) > 0
}

// goName reads a name; most are short.
func goName(names *window, at uint32) []byte {
	for _, limit := range [...]int{256, maxName + 1} {
		name := names.at(uint64(at), limit)
		if end := bytes.IndexByte(name, 0); end >= 0 {
			return name[:end]
		}
	}
	return nil
}

// holds checks the table against the file: all functions are code; and where only the section of
// code tells where they begin, the file's entry point is that of a Go program.
func (t *goTable) holds(b *builder) bool {
	first, last := b.entries[0], b.entries[len(b.entries)-1]
	inside := false
	for _, s := range t.o.code() {
		inside = inside || (s.start <= first.start && last.end <= s.end)
	}
	if !inside || t.told {
		return inside
	}
	for _, e := range b.entries {
		if e.start == t.o.entry {
			return strings.HasPrefix(string(b.nameOf(e)), "_rt0_")
		}
	}
	return false
}
