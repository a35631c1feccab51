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
	perfMap bool        // it is a perf map
	refs    int         // mappings; guarded by the resolver
	bytes   int64       // of its table, as accounted; guarded by the resolver
	used    atomic.Uint64
	open    atomic.Bool           // it has a file
	table   atomic.Pointer[table] // nil: not read, or thrown out

	mu       sync.Mutex    // of all below
	file     held          // none: let go
	failed   bool          // its symbols cannot be had, and will not be tried for again
	loading  chan struct{} // closed when what is being read has been; nil: nothing is
	slow     bool          // that has been waited for long enough
	loads    int           // how often they were read
	checked  time.Time     // when they last were
	segments []segment
	buildID  string
	length   int64 // of the perf map when it was read
}

// root is a root directory that processes share, held for as long as one of them is known.
type root struct {
	key  fileKey
	refs int
	mu   sync.RWMutex
	file *os.File // nil: closed
}

// hold takes hold of a file below the root.
func (r *root) hold(path string) (held, error) {
	if r == nil {
		return held{}, os.ErrNotExist
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.file == nil {
		return held{}, os.ErrNotExist
	}
	return holdBeneath(r.file, path)
}

func newModule(file held, name string, in *root) *module {
	return &module{key: file.key, file: file, path: name, name: path.Base(name), root: in}
}

// frame fills in what the module knows of the byte at an offset of its file.
func (m *module) frame(f *Frame, offset uint64, r *Resolver) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f.Module, f.Path, f.Kind = m.name, m.path, User
	t := m.table.Load()
	if t == nil {
		t = m.await(r, m.mayLoad)
	}
	f.BuildID = m.buildID
	virtual, ok := address(m.segments, offset)
	if !ok {
		return
	}
	f.Virtual = virtual
	if t != nil {
		t.label(f, virtual, r.raw)
	}
}

// compiled names an address by the perf map, read again if it may have grown.
func (m *module) compiled(f *Frame, r *Resolver) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.table.Load()
	if t == nil || m.mayGrow() || !t.label(f, f.Address, true) { // it may have another function there by now
		t = m.await(r, m.mayGrow)
		if t == nil || !t.label(f, f.Address, true) {
			return
		}
	}
	f.Kind, f.Module, f.Path, f.BuildID, f.Virtual = JIT, m.name, "", "", 0
}

// A table that was thrown out is read again, but after some times no sooner than reloadAfter: where
// memory is too small for all that is asked for, reading would be all that is done. A perf map is
// looked at every checkEvery: it may have grown.
const (
	freeLoads   = 4
	reloadAfter = 10 * time.Second
	checkEvery  = time.Second
)

func (m *module) mayLoad() bool {
	return !m.failed && (m.loads < freeLoads || time.Since(m.checked) >= reloadAfter)
}

func (m *module) mayGrow() bool {
	return !m.failed && (m.loads == 0 || time.Since(m.checked) >= checkEvery)
}

// await lets the symbols be read, if they may, and waits for them for a while. It lets go of the
// module's lock meanwhile: a file system may not answer.
func (m *module) await(r *Resolver, may func() bool) *table {
	switch {
	case m.loading == nil && !may():
		return m.table.Load()
	case m.loading == nil:
		m.loads++
		m.checked = time.Now()
		m.loading, m.slow = make(chan struct{}), false
		go m.load(r, source{m, m.file, m.table.Load(), m.length})
	case m.slow:
		return m.table.Load()
	}
	done := m.loading
	m.mu.Unlock()
	timer := time.NewTimer(loadFor)
	defer timer.Stop()
	late := false
	select {
	case <-done:
	case <-timer.C:
		late = true
	}
	m.mu.Lock()
	m.slow = m.slow || late && m.loading == done
	return m.table.Load()
}

// load reads beside, and takes what it gets.
func (m *module) load(r *Resolver, from source) {
	got, err := from.read(r.host)
	m.mu.Lock()
	done := m.loading
	m.loading = nil
	switch {
	case err != nil:
		m.failed = true
	case got.table != nil:
		m.segments, m.buildID, m.length = got.segments, got.buildID, got.length
		m.table.Store(got.table)
	}
	m.mu.Unlock()
	r.account(m, got.table)
	close(done)
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

// closeFile lets go of the file, if the module is not busy.
func (m *module) closeFile() bool {
	if !m.mu.TryLock() {
		return false
	}
	defer m.mu.Unlock()
	if m.file.file == nil || m.loading != nil {
		return false
	}
	m.file.close()
	m.file = held{}
	m.open.Store(false)
	return true
}

// end lets go of all, when what is being read has been.
func (m *module) end() {
	m.mu.Lock()
	m.failed = true
	for m.loading != nil {
		done := m.loading
		m.mu.Unlock()
		<-done
		m.mu.Lock()
	}
	defer m.mu.Unlock()
	m.file.close()
	m.file = held{}
}

// giveUp leaves the module without symbols, and with all else.
func (m *module) giveUp() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.failed = true
}
