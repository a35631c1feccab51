// SPDX-License-Identifier: Apache-2.0

package symbol

// Table is a file's table of symbols, for tests.
type Table struct{ t *table }

// TableOf reads all symbols of a file, its debug files below a root included.
func TableOf(path, debugRoot string) (Table, string, error) {
	h, err := holdFile(path)
	if err != nil {
		return Table{}, "", err
	}
	defer h.close()
	var host *root
	if debugRoot != "" {
		file, key, err := openRoot(debugRoot)
		if err != nil {
			return Table{}, "", err
		}
		host = &root{key: key, file: file}
		defer host.close()
	}
	got, err := source{module: newModule(h, path, nil), file: h}.read(host)
	return Table{got.table}, got.buildID, err
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

// TableBeneath reads a file by its path below a root, which is also its process's root.
func TableBeneath(dir, path string) (Table, error) {
	file, key, err := openRoot(dir)
	if err != nil {
		return Table{}, err
	}
	in := &root{key: key, file: file}
	defer in.close()
	h, err := in.hold(path)
	if err != nil {
		return Table{}, err
	}
	defer h.close()
	got, err := source{module: newModule(h, path, in), file: h}.read(in)
	return Table{got.table}, err
}
