// SPDX-License-Identifier: Apache-2.0

package symbol

import (
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
)

// The limits of what is read of a file at once.
const (
	maxSegments = 1 << 10
	maxSections = 1 << 16
	maxNames    = 4 << 20 // bytes of names of sections
	maxNotes    = 64 << 10
)

var errNotELF = errors.New("not an ELF file that can be read")

// object is an ELF file, of which only the tables of contents are in memory. Any file may be
// given; nothing it says is believed before it is held against the file's size.
type object struct {
	in       io.ReaderAt
	size     uint64
	order    binary.ByteOrder
	wide     bool // of 64 bits
	machine  elf.Machine
	entry    uint64
	segments []segment
	sections []section
}

// segment is a part of the file that is loaded.
type segment struct {
	offset, address, length uint64
	code                    bool
}

type section struct {
	name                         string
	kind                         elf.SectionType
	flags                        elf.SectionFlag
	address, offset, size, entry uint64
	link                         uint32
}

// readObject reads a file's headers.
func readObject(in io.ReaderAt, size uint64) (*object, error) {
	o := &object{in: in, size: size}
	head, err := o.read(0, 16)
	if err != nil || string(head[:4]) != elf.ELFMAG {
		return nil, errNotELF
	}
	switch elf.Data(head[elf.EI_DATA]) {
	case elf.ELFDATA2LSB:
		o.order = binary.LittleEndian
	case elf.ELFDATA2MSB:
		o.order = binary.BigEndian
	default:
		return nil, errNotELF
	}
	switch elf.Class(head[elf.EI_CLASS]) {
	case elf.ELFCLASS64:
		o.wide = true
	case elf.ELFCLASS32:
	default:
		return nil, errNotELF
	}
	h, err := o.header()
	if err != nil {
		return nil, err
	}
	if err := o.readSegments(h); err != nil {
		return nil, err
	}
	if err := o.readSections(h); err != nil {
		o.sections = nil // a file may have lost them, and still be run
	}
	return o, nil
}

func (o *object) header() (h elf.Header64, err error) {
	if o.wide {
		err = o.decode(0, 64, &h)
	} else {
		var n elf.Header32
		err = o.decode(0, 52, &n)
		h = elf.Header64{
			Type: n.Type, Machine: n.Machine, Entry: uint64(n.Entry), Phoff: uint64(n.Phoff), Shoff: uint64(n.Shoff),
			Phentsize: n.Phentsize, Phnum: n.Phnum, Shentsize: n.Shentsize, Shnum: n.Shnum, Shstrndx: n.Shstrndx,
		}
	}
	o.machine, o.entry = elf.Machine(h.Machine), h.Entry
	return h, err
}

func (o *object) decode(offset, size uint64, into any) error {
	b, err := o.read(offset, size)
	if err != nil {
		return err
	}
	return binary.Read(bytes.NewReader(b), o.order, into)
}

// read gives bytes of the file, all or none.
func (o *object) read(offset, size uint64) ([]byte, error) {
	if offset > o.size || size > o.size-offset {
		return nil, errNotELF
	}
	b := make([]byte, size)
	if n, err := o.in.ReadAt(b, int64(offset)); n < len(b) {
		return nil, err
	}
	return b, nil
}

func (o *object) readSegments(h elf.Header64) error {
	size := uint64(32)
	if o.wide {
		size = 56
	}
	if h.Phnum > maxSegments || (h.Phnum > 0 && uint64(h.Phentsize) != size) {
		return errNotELF
	}
	b, err := o.read(h.Phoff, uint64(h.Phnum)*size)
	if err != nil {
		return err
	}
	for ; len(b) > 0; b = b[size:] {
		p := o.program(b)
		if elf.ProgType(p.Type) == elf.PT_LOAD && p.Off+p.Filesz >= p.Off {
			o.segments = append(o.segments, segment{p.Off, p.Vaddr, p.Filesz, elf.ProgFlag(p.Flags)&elf.PF_X != 0})
		}
	}
	return nil
}

func (o *object) program(b []byte) elf.Prog64 {
	u32, u64 := o.order.Uint32, o.order.Uint64
	if o.wide {
		return elf.Prog64{Type: u32(b), Flags: u32(b[4:]), Off: u64(b[8:]), Vaddr: u64(b[16:]), Filesz: u64(b[32:])}
	}
	return elf.Prog64{Type: u32(b), Flags: u32(b[24:]), Off: uint64(u32(b[4:])), Vaddr: uint64(u32(b[8:])), Filesz: uint64(u32(b[16:]))}
}

func (o *object) readSections(h elf.Header64) error {
	size := uint64(40)
	if o.wide {
		size = 64
	}
	if h.Shnum == 0 || h.Shnum >= uint16(elf.SHN_LORESERVE) || uint64(h.Shentsize) != size {
		return errNotELF
	}
	b, err := o.read(h.Shoff, uint64(h.Shnum)*size)
	if err != nil {
		return err
	}
	names := make([]uint32, 0, h.Shnum)
	for ; len(b) > 0; b = b[size:] {
		s, name := o.section(b)
		o.sections, names = append(o.sections, s), append(names, name)
	}
	return o.nameSections(int(h.Shstrndx), names)
}

func (o *object) section(b []byte) (section, uint32) {
	u32, u64 := o.order.Uint32, o.order.Uint64
	if o.wide {
		return section{
			kind: elf.SectionType(u32(b[4:])), flags: elf.SectionFlag(u64(b[8:])), address: u64(b[16:]), offset: u64(b[24:]),
			size: u64(b[32:]), link: u32(b[40:]), entry: u64(b[56:]),
		}, u32(b)
	}
	return section{
		kind: elf.SectionType(u32(b[4:])), flags: elf.SectionFlag(u32(b[8:])), address: uint64(u32(b[12:])), offset: uint64(u32(b[16:])),
		size: uint64(u32(b[20:])), link: u32(b[24:]), entry: uint64(u32(b[36:])),
	}, u32(b)
}

func (o *object) nameSections(strings int, names []uint32) error {
	if strings >= len(o.sections) || o.sections[strings].size > maxNames {
		return errNotELF
	}
	text, err := o.read(o.sections[strings].offset, o.sections[strings].size)
	if err != nil {
		return err
	}
	for i, at := range names {
		if uint64(at) < uint64(len(text)) {
			o.sections[i].name = cString(text[at:], 64)
		}
	}
	return nil
}

// cString is the text up to a zero byte, and at most so much of it.
func cString(b []byte, limit int) string {
	b = b[:min(len(b), limit)]
	if end := bytes.IndexByte(b, 0); end >= 0 {
		b = b[:end]
	}
	return string(b)
}

// find is the first section of a name; nil if there is none with content.
func (o *object) find(names ...string) *section {
	for i := range o.sections {
		s := &o.sections[i]
		if s.kind == elf.SHT_NOBITS || s.flags&elf.SHF_COMPRESSED != 0 {
			continue
		}
		for _, name := range names {
			if s.name == name {
				return s
			}
		}
	}
	return nil
}

// content reads a section of at most so many bytes.
func (o *object) content(s *section, limit uint64) ([]byte, error) {
	if s == nil || s.size > limit {
		return nil, errNotELF
	}
	return o.read(s.offset, s.size)
}

// code are the addresses of sections with instructions.
func (o *object) code() []span {
	var all []span
	for _, s := range o.sections {
		if s.flags&elf.SHF_EXECINSTR != 0 && s.address+s.size > s.address {
			all = append(all, span{s.address, s.address + s.size})
		}
	}
	return all
}

// buildID is the file's in hexadecimal: GNU's, or what Go's linker since 1.24 makes of Go's own,
// done here for older programs; empty if it has neither.
func (o *object) buildID() string {
	if id := o.note(".note.gnu.build-id", "GNU\x00", 3); len(id) > 0 && len(id) <= 64 {
		return hex.EncodeToString(id)
	}
	if id := o.note(".note.go.buildid", "Go\x00\x00", 4); len(id) > 0 {
		sum := sha256.Sum256(id)
		return hex.EncodeToString(sum[:20])
	}
	return ""
}

// note is the content of the first note of that owner and type in a section.
func (o *object) note(name, owner string, kind uint32) []byte {
	b, err := o.content(o.find(name), maxNotes)
	for err == nil && len(b) >= 12 {
		nameSize, size, found := uint64(o.order.Uint32(b)), uint64(o.order.Uint32(b[4:])), o.order.Uint32(b[8:])
		begin := 12 + (nameSize+3)&^3
		if begin+size > uint64(len(b)) {
			return nil
		}
		if found == kind && nameSize == uint64(len(owner)) && string(b[12:12+nameSize]) == owner {
			return b[begin : begin+size]
		}
		b = b[min((begin+size+3)&^3, uint64(len(b))):]
	}
	return nil
}

// address is where the file's byte at an offset is loaded, as the file numbers addresses. Of
// segments that share a page of the file, code has it.
func address(segments []segment, offset uint64) (uint64, bool) {
	var other *segment
	for i := range segments {
		s := &segments[i]
		if offset < s.offset || offset-s.offset >= s.length {
			continue
		}
		if s.code {
			return s.address + offset - s.offset, true
		}
		if other == nil {
			other = s
		}
	}
	if other == nil {
		return 0, false
	}
	return other.address + offset - other.offset, true
}
