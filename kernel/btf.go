// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
)

// BTFKind is what a name in type information is of.
type BTFKind uint8

// The kinds that names are looked for in.
const (
	BTFTypedef  BTFKind = 8
	BTFFunction BTFKind = 12
)

// BTF is type information of a kernel or a module, of which only the names are read:
// to find some of many names, this is hundreds of times as fast as to build all types.
type BTF struct {
	types, strings []byte
	base           []byte // the kernel's strings, where this is a module's
}

const (
	btfMagic    = 0xeb9f
	btfHeadSize = 24
	btfTypeSize = 12
)

var errNoBTF = errors.New("no type information")

// ReadBTF reads the file of a kernel or of a module, whose base is the kernel's; nil:
// it is a kernel's. It may also be an ELF file that has it.
func ReadBTF(file string, base *BTF) (*BTF, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if bytes.HasPrefix(raw, []byte(elf.ELFMAG)) {
		if raw, err = btfSection(raw); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	b, err := ParseBTF(raw, base)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return b, nil
}

func btfSection(raw []byte) ([]byte, error) {
	f, err := elf.NewFile(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	section := f.Section(".BTF")
	if section == nil {
		return nil, errNoBTF
	}
	return section.Data()
}

// ParseBTF takes the parts of type information; what it gives shares the bytes.
func ParseBTF(raw []byte, base *BTF) (*BTF, error) {
	if len(raw) < btfHeadSize || binary.NativeEndian.Uint16(raw) != btfMagic {
		return nil, errNoBTF
	}
	number := func(at int) uint64 { return uint64(binary.NativeEndian.Uint32(raw[at:])) }
	head := number(4)
	part := func(at int) ([]byte, error) {
		from, size := head+number(at), number(at+4)
		if from+size > uint64(len(raw)) {
			return nil, fmt.Errorf("type information ends before its end: %w", errNoBTF)
		}
		return raw[from : from+size], nil
	}
	types, err1 := part(8)
	strings, err2 := part(16)
	b := &BTF{types: types, strings: strings}
	if base != nil {
		b.base = base.strings
	}
	return b, errors.Join(err1, err2)
}

// Names tells all names of a kind that begin with a prefix, in the order of the
// file. The bytes are the file's. An error tells that it is broken, or of a kind
// that is not known: what was told before is good.
func (b *BTF) Names(kind BTFKind, prefix string, tell func(name []byte)) error {
	for rest := b.types; len(rest) > 0; {
		if len(rest) < btfTypeSize {
			return fmt.Errorf("a type is cut off: %w", errNoBTF)
		}
		info := binary.NativeEndian.Uint32(rest[4:])
		this := BTFKind(info >> 24 & 0x1f)
		size, known := btfTail(this, int(info&0xffff))
		if !known || btfTypeSize+size > len(rest) {
			return fmt.Errorf("a type of kind %d is not known, or cut off: %w", this, errNoBTF)
		}
		if this == kind {
			name := b.name(binary.NativeEndian.Uint32(rest))
			if len(name) > 0 && bytes.HasPrefix(name, []byte(prefix)) {
				tell(name)
			}
		}
		rest = rest[btfTypeSize+size:]
	}
	return nil
}

// btfTail is how many bytes follow the head of a type with so many parts.
func btfTail(kind BTFKind, parts int) (size int, known bool) {
	switch kind {
	case 1, 14, 17: // integers, variables and tags of declarations
		return 4, true
	case 3: // arrays
		return 12, true
	case 4, 5, 15, 19: // structs, unions, sections of data, enums of 64 bits
		return 12 * parts, true
	case 6, 13: // enums, parameters
		return 8 * parts, true
	case 2, 7, 8, 9, 10, 11, 12, 16, 18: // what only refers to another, and floats
		return 0, true
	}
	return 0, false
}

// name finds a string: those of a module go on where the kernel's end.
func (b *BTF) name(at uint32) []byte {
	all, offset := b.base, int64(at)
	if offset >= int64(len(b.base)) {
		all, offset = b.strings, offset-int64(len(b.base))
	}
	if offset >= int64(len(all)) {
		return nil
	}
	name, _, _ := bytes.Cut(all[offset:], []byte{0})
	return name
}
