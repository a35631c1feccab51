// SPDX-License-Identifier: Apache-2.0

package symbol

import (
	"bytes"
	"os"
	"strings"
)

// Table is a file's table of symbols, for tests.
type Table struct{ t *table }

// TableOf reads all symbols of a file, its debug files below a root included.
func TableOf(path, debugRoot string) (Table, string, error) {
	f, key, err := openRegular(path)
	if err != nil {
		return Table{}, "", err
	}
	m := newModule(key, f, path, nil)
	var host *root
	if debugRoot != "" {
		file, key, err := openRoot(debugRoot)
		if err != nil {
			return Table{}, "", err
		}
		host = &root{key: key, file: file, refs: 1}
	}
	defer m.closeFile()
	t := m.load(host)
	if t == nil {
		return Table{}, m.buildID, os.ErrInvalid
	}
	return Table{t}, m.buildID, nil
}

// Name is the symbol that holds an address, as linkers see it.
func (t Table) Name(address uint64) (name string, offset uint64, ok bool) {
	at, offset, ok := t.t.find(address)
	if !ok {
		return "", 0, false
	}
	return string(t.t.name(at)), offset, true
}

// Len is the number of stretches.
func (t Table) Len() int { return len(t.t.starts) }

// Bytes is the memory of the table.
func (t Table) Bytes() int64 { return t.t.bytes() }

var (
	ReadObject = readObject
	Unpack     = unpack
	ParseAreas = parseAreas
)

// ReadPerfMap makes a table of a perf map.
var ReadPerfMap = func(text string) Table { return Table{readPerfMap(strings.NewReader(text))} }

// FileTable reads all that an ELF file in memory tells.
func FileTable(content []byte) (Table, bool) {
	m := &module{content: bytes.NewReader(content), key: fileKey{size: int64(len(content))}}
	t := m.load(nil)
	return Table{t}, t != nil
}

// TableBeneath reads a file by its path below a root, which is also its process's root.
func TableBeneath(dir, path string) (Table, error) {
	file, key, err := openRoot(dir)
	if err != nil {
		return Table{}, err
	}
	in := &root{key: key, file: file, refs: 1}
	f, fileKey, err := in.open(path)
	if err != nil {
		return Table{}, err
	}
	m := newModule(fileKey, f, path, in)
	defer m.closeFile()
	t := m.load(in)
	if t == nil {
		return Table{}, os.ErrInvalid
	}
	return Table{t}, nil
}
