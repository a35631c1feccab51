// SPDX-License-Identifier: Apache-2.0

package symbol

import (
	"cmp"
	"slices"
	"sync"
)

// Limits bound what a resolver holds. Zero fields take the defaults.
type Limits struct {
	Processes   int   // whose mappings are known; the one that was not asked about for longest goes first (4,096)
	Generations int   // of mappings of one program, and programs of one process (4)
	Mappings    int   // of code in one generation (4,096)
	AllMappings int   // of code in all that is known (262,144)
	Files       int   // held open, to be read when first needed (256)
	Tables      int   // of symbols, one a module (1,024)
	Bytes       int64 // of all tables (256 MiB)
}

func (l Limits) withDefaults() Limits {
	return Limits{
		Processes:   cmp.Or(l.Processes, 4<<10),
		Generations: cmp.Or(l.Generations, 4),
		Mappings:    cmp.Or(l.Mappings, 4<<10),
		AllMappings: cmp.Or(l.AllMappings, 256<<10),
		Files:       cmp.Or(l.Files, 256),
		Tables:      cmp.Or(l.Tables, 1<<10),
		Bytes:       cmp.Or(l.Bytes, 256<<20),
	}
}

// Losses count what limits and races have cost.
type Losses struct {
	Processes uint64 // forgotten before their time
	Mappings  uint64 // left out
	Modules   uint64 // that could not be opened
	Tables    uint64 // thrown out, to be read again if the file still can be
	Ambiguous uint64 // frames not named, since it is not known which of two mappings held then
}

// Options say how names are made.
type Options struct {
	Limits
	// Raw leaves C++ and Rust names as linkers see them.
	Raw bool
}

// Resolver names addresses of processes. It may be used by many goroutines at once. It holds
// files and root directories of the processes it knows open, whose file systems cannot be
// unmounted meanwhile.
type Resolver struct {
	path   string
	limits Limits
	raw    bool
	slots  chan struct{} // of looks that are under way

	mu        sync.Mutex
	clock     uint64 // counts uses, to tell what was not used for longest
	processes map[uint32]*process
	modules   map[fileKey]*module
	roots     map[fileKey]*root
	host      *root
	mappings  int
	files     int
	tables    int
	bytes     int64
	losses    Losses
}

// New makes a resolver on the /proc beneath a root ("/" normally).
func New(path string, options Options) *Resolver {
	r := &Resolver{
		path: path, limits: options.withDefaults(), raw: options.Raw, slots: make(chan struct{}, maxWaits),
		processes: map[uint32]*process{}, modules: map[fileKey]*module{}, roots: map[fileKey]*root{},
	}
	r.host = r.holdRoot(path)
	return r
}

// Learn takes a process's mappings as they are now (ns by CLOCK_MONOTONIC), and opens the files
// that its code is in, so that its frames can be named after its end or its next exec. Call it
// when a process is first seen, and again when a frame is of Kind Unknown, at most now and then.
// An error tells that nothing could be learned: that it has ended (os.ErrNotExist), or is out of
// reach (os.ErrPermission), or that it takes more than a second to look at. A kernel thread, and a process that is about to end, have no code.
func (r *Resolver) Learn(pid uint32, now uint64) error {
	last := r.last(pid)
	l, err := within(r.slots, lookFor, func() (*look, error) { return r.look(pid, last) }, (*look).close)
	if err != nil {
		return err
	}
	defer l.close()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.losses.Mappings += l.left
	if len(l.areas) == 0 {
		return nil
	}
	p := r.process(pid)
	prog := p.current(l.image.image)
	if prog.root == nil && l.root != nil {
		prog.root = r.takeRoot(l.root, l.rootKey)
		l.root = nil
	}
	mappings := r.mapAll(l, prog.root)
	r.learnCompiled(prog, l)
	if !prog.take(now, mappings) {
		r.release(mappings)
	}
	r.trim(p)
	r.makeRoom(pid)
	return nil
}

// last is what is known of the program that a process ran last.
func (r *Resolver) last(pid uint32) program {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := r.processes[pid]; p != nil && len(p.programs) > 0 {
		last := p.programs[len(p.programs)-1]
		last.generations = slices.Clone(last.generations)
		return last
	}
	return program{}
}

// Executed tells that a process began another program at that instant: older mappings do not
// hold for what comes after. Without it an exec is noticed by Learn, and what lies between is
// named only where both programs agree.
func (r *Resolver) Executed(pid uint32, at uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.process(pid)
	p.executed(at)
	r.trim(p)
	r.makeRoom(pid)
}

// Forked lets a child begin with its parent's mappings. Whatever else its pid meant before, it
// does not any longer.
func (r *Resolver) Forked(parent, child uint32, at uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	from := r.processes[parent]
	p := r.process(child)
	p.executed(at)
	if from == nil || len(p.programs) == 0 {
		return
	}
	before, _ := from.around(at)
	if prog := &p.programs[len(p.programs)-1]; before.generation != nil && prog.begins == at && len(prog.generations) == 0 {
		r.inherit(prog, before, at)
	}
	r.trim(p)
	r.makeRoom(child)
}

// Resolve names an address in a process (a thread group) at an instant, ns by CLOCK_MONOTONIC.
// It always gives a frame; of Kind Unknown if the address is in no mapping known for that time.
func (r *Resolver) Resolve(pid uint32, at, address uint64) Frame {
	f := Frame{Address: address}
	m, own, inherited := r.find(pid, at, address)
	if m.start == m.end {
		return f
	}
	f.Kind, f.Module, f.Path = User, m.name, m.path
	if m.module != nil {
		m.module.frame(&f, address-m.start+m.offset, r)
	}
	for _, compiled := range [...]*module{own, inherited} {
		if f.Name == "" && compiled != nil && (m.module == nil || f.Virtual == 0) {
			compiled.compiled(&f, r)
		}
	}
	return f
}

// find gives the mapping that holds an address, and what the process has compiled, and those before it.
func (r *Resolver) find(pid uint32, at, address uint64) (m mapping, own, inherited *module) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.processes[pid]
	if p == nil {
		return m, nil, nil
	}
	r.clock++
	p.used = r.clock
	found, ambiguous := p.find(at, address)
	if ambiguous {
		r.losses.Ambiguous++
	}
	if found.mapping == nil {
		return m, nil, nil
	}
	for _, of := range [...]*module{found.mapping.module, found.program.compiled, found.program.inherited} {
		if of != nil {
			of.used.Store(r.clock)
		}
	}
	return *found.mapping, found.program.compiled, found.program.inherited
}

// Losses are those since the beginning.
func (r *Resolver) Losses() Losses {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.losses
}

// Close forgets everything, and closes the files that are held open.
func (r *Resolver) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for pid := range r.processes {
		r.forget(pid)
	}
	r.host.close()
	return nil
}
