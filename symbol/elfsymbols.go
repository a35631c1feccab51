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
		if text.size > 4*maxNameText {
			b.full = true
			return true
		}
		o.eachSymbol(s, &text, b)
		return true
	}
	return false
}

func (o *object) eachSymbol(s, text *section, b *builder) {
	size := uint64(16)
	if o.wide {
		size = 24
	}
	symbols, names := o.window(s.offset, s.size), o.window(text.offset, text.size)
	for at := uint64(0); !b.full; at += size {
		raw := symbols.at(at, int(size))
		if len(raw) < int(size) {
			return
		}
		sym := o.symbol(raw)
		if rank, ok := o.function(sym); ok {
			if name := symbolName(names, sym.Name); !marks(name) {
				b.add(sym.Value&o.valueMask(sym), sym.Size, unversioned(name), rank)
			}
		}
	}
}

func symbolName(names *window, at uint32) []byte {
	for _, limit := range [...]int{256, maxName + 1} {
		name := names.at(uint64(at), limit)
		if end := bytes.IndexByte(name, 0); end >= 0 {
			return name[:end]
		}
	}
	return nil
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
