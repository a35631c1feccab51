// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
)

// Flaw is what is wrong with a program of BadELF.
type Flaw string

// The flaws, by what the kernel does about them. The first three show after the old
// program is gone, so that it kills the process; the others let execve fail.
const (
	FileOverMemory Flaw = "a segment has more in the file than in memory"
	Misaligned     Flaw = "a segment's offset and address differ within the page"
	BeyondMemory   Flaw = "a segment lies beyond a process's addresses"
	HeaderSize     Flaw = "the entries of the program header have another size"
	NoInterpreter  Flaw = "the interpreter does not exist"
)

// Flaws are all of them.
var Flaws = []Flaw{FileOverMemory, Misaligned, BeyondMemory, HeaderSize, NoInterpreter}

const (
	elfBase    = 0x400000
	elfSize    = 0x2000
	elfHeaders = 64
)

// BadELF writes a program that the kernel refuses to run for one flaw.
func BadELF(file string, flaw Flaw) error {
	header := elf.Header64{
		Type: uint16(elf.ET_EXEC), Machine: uint16(elf.EM_X86_64), Version: 1, Entry: elfBase + 0x1000, Phoff: elfHeaders,
		Ehsize: elfHeaders, Phentsize: 56, Phnum: 1,
	}
	copy(header.Ident[:], elf.ELFMAG)
	header.Ident[elf.EI_CLASS], header.Ident[elf.EI_DATA], header.Ident[elf.EI_VERSION] = byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), 1
	load := elf.Prog64{
		Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_R | elf.PF_X), Vaddr: elfBase, Paddr: elfBase, Filesz: elfSize, Memsz: elfSize, Align: 0x1000,
	}
	interpreter := elf.Prog64{}
	const name, nameAt = "/no/such/interpreter.so\x00", 512
	switch flaw {
	case FileOverMemory:
		load.Memsz = elfSize - 0x1000
	case Misaligned:
		load.Off = 0x10
	case BeyondMemory:
		load.Vaddr = 1 << 60 // also where page tables have five levels
	case HeaderSize:
		header.Phentsize = 57
	case NoInterpreter:
		header.Phnum = 2
		interpreter = elf.Prog64{Type: uint32(elf.PT_INTERP), Off: nameAt, Filesz: uint64(len(name)), Memsz: uint64(len(name)), Align: 1}
	}
	var b bytes.Buffer
	for _, part := range []any{&header, &load, &interpreter} {
		if err := binary.Write(&b, binary.LittleEndian, part); err != nil {
			return err
		}
	}
	whole := make([]byte, elfSize)
	copy(whole, b.Bytes())
	copy(whole[nameAt:], name)
	return os.WriteFile(file, whole, 0o755)
}
