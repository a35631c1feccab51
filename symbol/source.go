// SPDX-License-Identifier: Apache-2.0

package symbol

import (
	"errors"
	"io"
)

// source is what symbols are read from. Nothing in it changes meanwhile.
type source struct {
	*module
	file   held
	had    *table // of a perf map, that may still be right
	length int64  // of it
}

// symbols are what was read.
type symbols struct {
	table    *table // nil: nothing new
	segments []segment
	buildID  string
	length   int64
}

var errChanged = errors.New("the file is not there any longer")

// read reads all names.
func (s source) read(host *root) (symbols, error) {
	in, size, release, err := s.reader()
	if err != nil {
		return symbols{}, err
	}
	defer release()
	if s.perfMap {
		if s.had != nil && s.length == size {
			return symbols{}, nil
		}
		return symbols{table: readPerfMap(in, size), length: size}, nil
	}
	o, err := readObject(in, uint64(size))
	if err != nil {
		return symbols{}, err
	}
	var b builder
	s.collect(o, &b, host)
	return symbols{table: b.build(o.code()), segments: o.segments, buildID: o.buildID()}, nil
}

// collect takes all names that can be had of a file: its own symbols, and where these are not all,
// those of its debug file, or else Go's table and symbols that were compressed. A file whose
// .symtab has less than the dynamic symbols was stripped of most.
func (s source) collect(o *object, b *builder, host *root) {
	o.addSymbols(b, dynsym)
	dynamic := len(b.entries)
	if o.addSymbols(b, symtab) && len(b.entries) >= 2*dynamic {
		return
	}
	roots := []*root{s.root}
	if host != s.root {
		roots = append(roots, host)
	}
	for _, in := range roots {
		if o.debugSymbols(b, s.path, in) {
			return
		}
	}
	o.goFunctions(b)
	o.miniSymbols(b)
}

// reader gives the content of the file, which is looked for by its path if it was let go.
func (s source) reader() (in io.ReaderAt, size int64, release func(), err error) {
	if s.content != nil {
		return s.content, s.key.size, func() {}, nil
	}
	from := s.file
	if from.file == nil {
		if from, err = s.root.hold(s.path); err != nil {
			return nil, 0, nil, err
		}
		defer from.close()
		if from.key != s.key {
			return nil, 0, nil, errChanged
		}
	}
	file, size, err := from.read()
	if err != nil {
		return nil, 0, nil, err
	}
	return file, size, func() { file.Close() }, nil
}
