// SPDX-License-Identifier: Apache-2.0

package symbol

import (
	"bytes"
	"debug/elf"
)

// The sections of symbols: all of them, and those that linking at run time needs.
const (
	symtab = elf.SHT_SYMTAB
	dynsym = elf.SHT_DYNSYM
)

// addSymbols adds the functions of the first such section, and reports whether there is one.
func (o *object) addSymbols(b *builder, kind elf.SectionType) bool {
	for i := range o.sections {
		s := &o.sections[i]
		if s.kind != kind || s.flags&elf.SHF_COMPRESSED != 0 || int(s.link) >= len(o.sections) || o.sections[s.link].kind != elf.SHT_STRTAB {
			continue
		}
		text := o.sections[s.link]
		o.eachSymbol(s, &text, b)
		return true
	}
	return false
}

// The limits of one section: of symbols, data included, and of the text of their names.
const (
	maxScanned = 16 << 20
	maxStrings = 256 << 20
)

func (o *object) eachSymbol(s, text *section, b *builder) {
	size := uint64(16)
	if o.wide {
		size = 24
	}
	names, err := o.content(text, maxStrings)
	if err != nil || s.size/size > maxScanned {
		b.full = true
		return
	}
	symbols := o.window(s.offset, s.size)
	for at := uint64(0); !b.full; at += size {
		raw := symbols.at(at, int(size))
		if len(raw) < int(size) {
			return
		}
		sym := o.symbol(raw)
		rank, ok := o.function(sym)
		if !ok || uint64(sym.Name) >= uint64(len(names)) {
			continue
		}
		if name := untilZero(names[sym.Name:]); !marks(name) {
			b.add(sym.Value&o.valueMask(sym), sym.Size, unversioned(name), rank)
		}
	}
}

// untilZero is the text up to a zero byte; nothing if there is none as far as names go.
func untilZero(b []byte) []byte {
	b = b[:min(len(b), maxName+1)]
	return b[:max(bytes.IndexByte(b, 0), 0)]
}

func (o *object) symbol(b []byte) elf.Sym64 {
	u32, u64, u16 := o.order.Uint32, o.order.Uint64, o.order.Uint16
	if o.wide {
		return elf.Sym64{Name: u32(b), Info: b[4], Other: b[5], Shndx: u16(b[6:]), Value: u64(b[8:]), Size: u64(b[16:])}
	}
	return elf.Sym64{Name: u32(b), Value: uint64(u32(b[4:])), Size: uint64(u32(b[8:])), Info: b[12], Other: b[13], Shndx: u16(b[14:])}
}

// function tells code from data, and how well a name is known.
func (o *object) function(s elf.Sym64) (rank uint32, ok bool) {
	if s.Shndx == uint16(elf.SHN_UNDEF) || int(s.Shndx) >= len(o.sections) {
		return 0, false
	}
	switch elf.ST_TYPE(s.Info) {
	case elf.STT_FUNC, elf.STT_GNU_IFUNC:
	case elf.STT_NOTYPE: // written in assembler
		if o.sections[s.Shndx].flags&elf.SHF_EXECINSTR == 0 {
			return 0, false
		}
	default:
		return 0, false
	}
	switch elf.ST_BIND(s.Info) {
	case elf.STB_GLOBAL:
		return 2, true
	case elf.STB_WEAK:
		return 1, true
	}
	return 0, true
}

// valueMask takes off the bit by which 32-bit ARM marks Thumb code.
func (o *object) valueMask(s elf.Sym64) uint64 {
	if o.machine == elf.EM_ARM && elf.ST_TYPE(s.Info) == elf.STT_FUNC {
		return ^uint64(1)
	}
	return ^uint64(0)
}
