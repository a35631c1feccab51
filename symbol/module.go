// SPDX-License-Identifier: Apache-2.0

package symbol

import (
	"io"
	"os"
	"path"
	"sync"
	"sync/atomic"
	"time"
)

// module is a file with code, or the vdso, or what a process compiles as it runs. Mappings of
// any number of processes share it. Its symbols are read when they are first asked for.
type module struct {
	key     fileKey
	name    string
	path    string
	root    *root
	content io.ReaderAt // of the vdso; nil: a file
	refs    int         // mappings; guarded by the resolver
	bytes   int64       // of its table, as accounted; guarded by the resolver
	used    atomic.Uint64
	open    atomic.Bool           // it has a file
	table   atomic.Pointer[table] // nil: not read, or thrown out

	mu       sync.Mutex // of all below
	file     *os.File   // nil: closed
	failed   bool       // its symbols cannot be had, and will not be tried for again
	loads    int        // how often they were read
	checked  time.Time  // when they last were, or a perf map was found not to have grown
	segments []segment
	buildID  string
	length   int64 // of the perf map when it was read
}

// root is a root directory that processes share, held for as long as one of them is known.
type root struct {
	key  fileKey
	refs int
	mu   sync.Mutex
	file *os.File // nil: closed
}

func (r *root) open(path string) (*os.File, fileKey, error) {
	if r == nil {
		return nil, fileKey{}, os.ErrNotExist
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file == nil {
		return nil, fileKey{}, os.ErrNotExist
	}
	return openBeneath(r.file, path)
}

func newModule(key fileKey, file *os.File, name string, in *root) *module {
	return &module{key: key, file: file, path: name, name: path.Base(name), root: in}
}

// frame fills in what the module knows of the byte at an offset of its file. It reports a table that it has read for it.
func (m *module) frame(f *Frame, offset uint64, raw bool, host *root) (read *table) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f.Module, f.Path, f.Kind = m.name, m.path, User
	t := m.table.Load()
	if t == nil && !m.failed {
		if t = m.load(host); t != nil {
			m.table.Store(t)
			read = t
		}
	}
	f.BuildID = m.buildID
	virtual, ok := address(m.segments, offset)
	if !ok {
		return read
	}
	f.Virtual = virtual
	if t != nil {
		t.label(f, virtual, raw)
	}
	return read
}

// label names a frame by the symbol that holds an address, if there is one.
func (t *table) label(f *Frame, address uint64, raw bool) bool {
	at, offset, ok := t.find(address)
	if ok {
		f.Name, f.Offset = t.spell(at, raw), offset
	}
	return ok
}

// maxSpelled bounds the names that a table keeps at hand, in bytes.
const maxSpelled = 128 << 10

// spell is the name as it is shown. Names are few and asked for often: each is made once.
func (t *table) spell(at int, raw bool) string {
	if name, ok := t.spelled[t.names[at]]; ok {
		return name
	}
	name := string(t.name(at))
	if !raw {
		name = readable(name)
	}
	if t.spelledBytes += len(name); t.spelled == nil || t.spelledBytes > maxSpelled {
		t.spelled, t.spelledBytes = map[uint32]string{}, len(name)
	}
	t.spelled[t.names[at]] = name
	return name
}

// A table that was thrown out is read again, but after some times no sooner than reloadAfter: where
// memory is too small for all that is asked for, reading would be all that is done.
const (
	freeLoads   = 4
	reloadAfter = 10 * time.Second
)

// load reads the symbols of an ELF file.
func (m *module) load(host *root) *table {
	now := time.Now()
	if m.loads >= freeLoads && now.Sub(m.checked) < reloadAfter {
		return nil
	}
	m.loads++
	m.checked = now
	in, size, release := m.reader()
	if in == nil {
		m.failed = true
		return nil
	}
	defer release()
	o, err := readObject(in, uint64(size))
	if err != nil {
		m.failed = true
		return nil
	}
	m.segments, m.buildID = o.segments, o.buildID()
	var b builder
	m.collect(o, &b, host)
	return b.build(o.code())
}

// collect takes all names that can be had of a file: its own symbols, and where these are not all,
// those of its debug file, or else Go's table and symbols that were compressed. A file whose
// .symtab has less than the dynamic symbols was stripped of most.
func (m *module) collect(o *object, b *builder, host *root) {
	o.addSymbols(b, dynsym)
	dynamic := len(b.entries)
	if o.addSymbols(b, symtab) && len(b.entries) >= 2*dynamic {
		return
	}
	roots := []*root{m.root}
	if host != m.root {
		roots = append(roots, host)
	}
	for _, in := range roots {
		if o.debugSymbols(b, m.path, in) {
			return
		}
	}
	o.goFunctions(b)
	o.miniSymbols(b)
}

// reader gives the content of the file, which is opened again if it was closed meanwhile.
func (m *module) reader() (in io.ReaderAt, size int64, release func()) {
	if m.content != nil {
		return m.content, m.key.size, func() {}
	}
	if m.file != nil {
		return m.file, m.key.size, func() {}
	}
	file, key, err := m.root.open(m.path)
	if err != nil {
		return nil, 0, nil
	}
	if key != m.key {
		file.Close()
		return nil, 0, nil
	}
	return file, m.key.size, func() { file.Close() }
}

// closeFile gives back the descriptor, if the module is not busy.
func (m *module) closeFile() bool {
	if !m.mu.TryLock() {
		return false
	}
	defer m.mu.Unlock()
	if m.file == nil {
		return false
	}
	m.file.Close()
	m.file = nil
	m.open.Store(false)
	return true
}

// giveUp leaves the module without symbols, and with all else.
func (m *module) giveUp() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.failed = true
}

// checkEvery is how often a perf map is looked at for an address that it lacks.
const checkEvery = time.Second

// compiled names an address by the perf map, read again if it has grown.
func (m *module) compiled(f *Frame, now time.Time) (read *table) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.table.Load()
	if t == nil || !t.label(f, f.Address, true) {
		if m.file == nil || (!m.checked.IsZero() && now.Sub(m.checked) < checkEvery) {
			return nil
		}
		m.checked = now
		info, err := m.file.Stat()
		if err != nil || (t != nil && info.Size() == m.length) {
			return nil
		}
		m.length = info.Size()
		t = readPerfMap(io.NewSectionReader(m.file, 0, m.length))
		m.table.Store(t)
		read = t
		if !t.label(f, f.Address, true) {
			return read
		}
	}
	f.Kind, f.Module, f.Path, f.BuildID, f.Virtual = JIT, m.name, "", "", 0
	return read
}
