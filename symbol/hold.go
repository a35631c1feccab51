// SPDX-License-Identifier: Apache-2.0

package symbol

import (
	"cmp"
	"os"
	"slices"
)

// What follows needs the resolver's lock.

// process is what is known of a process, from now on also if nothing was.
func (r *Resolver) process(pid uint32) *process {
	p := r.processes[pid]
	if p == nil {
		p = &process{}
		r.processes[pid] = p
	}
	r.clock++
	p.used = r.clock
	return p
}

// mapAll makes mappings of what a look has found, and takes it over. Each holds its module.
func (r *Resolver) mapAll(l *look, in *root) []mapping {
	mappings := make([]mapping, 0, len(l.areas))
	for i := range l.areas {
		a, o := &l.areas[i], &l.opened[i]
		m := mapping{start: a.start, end: a.end, offset: a.offset, device: a.device, inode: a.inode}
		if o.known != nil && (o.known.module == nil || r.modules[o.known.module.key] == o.known.module) {
			m = *o.known
		} else if m.module = r.moduleOf(o, a, in); m.module == nil {
			m.name = a.special()
			if a.inode != 0 {
				m.path = a.path
				r.losses.Modules++
			}
		} else if m.module.content != nil {
			m.offset = 0
		}
		if m.module != nil {
			m.module.refs++
		}
		mappings = append(mappings, m)
	}
	r.mappings += len(mappings)
	return mappings
}

// moduleOf is the module of a file that was found: one that is known, or a new one.
func (r *Resolver) moduleOf(o *opened, a *area, in *root) *module {
	if o.file.file == nil && o.data == nil {
		return nil
	}
	m := r.modules[o.file.key]
	if m != nil {
		if o.file.file != nil {
			r.giveFile(m, o.file)
		}
	} else {
		m = newModule(o.file, a.path, in)
		if o.data != nil {
			m.content, m.path, m.root = o.data, "", nil
		}
		r.addModule(m)
	}
	o.file = held{}
	return m
}

func (r *Resolver) addModule(m *module) {
	r.clock++
	m.used.Store(r.clock)
	r.modules[m.key] = m
	if m.file.file != nil {
		m.open.Store(true)
		r.files++
		r.closeSome(m)
	}
}

// giveFile lets a known module have a file again if it has let go of its own.
func (r *Resolver) giveFile(m *module, file held) {
	if m.mu.TryLock() {
		defer m.mu.Unlock()
		if m.file.file == nil && m.table.Load() == nil && m.loading == nil && !m.failed {
			m.file = file
			m.open.Store(true)
			r.files++
			return
		}
	}
	file.close()
}

// closeSome holds the number of open files to its limit: those go first whose symbols were read,
// then those that were not used for longest. They may be opened again by their path.
func (r *Resolver) closeSome(keep *module) {
	for r.files > r.limits.Files {
		var oldest *module
		for _, m := range r.modules {
			if m != keep && m.open.Load() && (oldest == nil || m.used.Load() < oldest.used.Load()) {
				oldest = m
			}
		}
		if oldest == nil || !oldest.closeFile() {
			return
		}
		r.files--
	}
}

// learnCompiled takes over the perf map of a process, and of its parent's, if there are.
func (r *Resolver) learnCompiled(prog *program, l *look) {
	for _, found := range []struct {
		file *held
		to   **module
	}{{&l.compiled, &prog.compiled}, {&l.inherited, &prog.inherited}} {
		if found.file.file == nil || *found.to != nil {
			continue
		}
		m := r.modules[found.file.key]
		if m == nil {
			m = newModule(*found.file, "[jit]", prog.root)
			m.perfMap = true
			r.addModule(m)
			*found.file = held{}
		}
		m.refs++
		*found.to = m
	}
}

// inherit gives a child's program what its parent's has.
func (r *Resolver) inherit(prog *program, from seen, at uint64) {
	prog.image = from.program.image
	prog.image.started = 0
	prog.generations = []generation{{at, at, slices.Clone(from.generation.mappings)}}
	for _, m := range from.generation.mappings {
		if m.module != nil {
			m.module.refs++
		}
	}
	r.mappings += len(from.generation.mappings)
	if prog.root = from.program.root; prog.root != nil {
		prog.root.refs++
	}
	if prog.inherited = cmp.Or(from.program.compiled, from.program.inherited); prog.inherited != nil {
		prog.inherited.refs++
	}
}

// release gives back what mappings hold.
func (r *Resolver) release(mappings []mapping) {
	r.mappings -= len(mappings)
	for i := range mappings {
		r.drop(mappings[i].module)
	}
}

// drop gives back one reference to a module, which is closed with the last.
func (r *Resolver) drop(m *module) {
	if m == nil {
		return
	}
	if m.refs--; m.refs > 0 {
		return
	}
	delete(r.modules, m.key)
	r.throwOut(m)
	if m.open.Swap(false) {
		r.files--
	}
	go m.end() // who names a frame by it may still read
}

func (r *Resolver) dropProgram(prog *program) {
	for _, g := range prog.generations {
		r.release(g.mappings)
	}
	r.drop(prog.compiled)
	r.drop(prog.inherited)
	r.dropRoot(prog.root)
}

// trim holds a process to the limit of programs and generations.
func (r *Resolver) trim(p *process) {
	for len(p.programs) > r.limits.Generations {
		r.dropProgram(&p.programs[0])
		p.programs = slices.Delete(p.programs, 0, 1)
	}
	for i := range p.programs {
		prog := &p.programs[i]
		for len(prog.generations) > r.limits.Generations {
			r.release(prog.generations[0].mappings)
			prog.generations = slices.Delete(prog.generations, 0, 1)
		}
	}
}

// makeRoom forgets processes that were not used for longest.
func (r *Resolver) makeRoom(keep uint32) {
	for len(r.processes) > r.limits.Processes || (r.mappings > r.limits.AllMappings && len(r.processes) > 1) {
		oldest, found := uint32(0), false
		for pid, p := range r.processes {
			if pid != keep && (!found || p.used < r.processes[oldest].used) {
				oldest, found = pid, true
			}
		}
		if !found {
			return
		}
		r.losses.Processes++
		r.forget(oldest)
	}
}

func (r *Resolver) forget(pid uint32) {
	p := r.processes[pid]
	for i := range p.programs {
		r.dropProgram(&p.programs[i])
	}
	delete(r.processes, pid)
}

func (r *Resolver) holdRoot(path string) *root {
	file, key, err := openRoot(path)
	if err != nil {
		return nil
	}
	return r.takeRoot(file, key)
}

// takeRoot takes over a root directory; one that is known already is closed.
func (r *Resolver) takeRoot(file *os.File, key fileKey) *root {
	if known := r.roots[key]; known != nil {
		file.Close()
		known.refs++
		return known
	}
	made := &root{key: key, file: file, refs: 1}
	r.roots[key] = made
	return made
}

func (r *Resolver) dropRoot(in *root) {
	if in == nil {
		return
	}
	if in.refs--; in.refs > 0 {
		return
	}
	delete(r.roots, in.key)
	go in.close() // a look beneath it may hang
}

func (r *root) close() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file != nil {
		r.file.Close()
	}
	r.file = nil
}
