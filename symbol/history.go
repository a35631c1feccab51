// SPDX-License-Identifier: Apache-2.0

package symbol

import (
	"slices"
	"sort"
)

// process is what was learned of a process: the programs that it ran one after the other.
type process struct {
	used     uint64
	programs []program
}

// program is what a process ran between two calls of exec.
type program struct {
	begins      uint64 // ns; 0: not known
	image       image
	generations []generation
	compiled    *module // by its perf map; nil: it has none
	inherited   *module // by that of the process that it was forked from, and has not left by exec
	root        *root
}

// image tells programs apart that a process ran, as far as that is possible without being told.
type image struct {
	started, code, stack uint64 // of /proc/PID/stat
}

// born is an image with the process that made it.
type born struct {
	image
	parent uint32
}

// generation are mappings, as they were from one instant to another.
type generation struct {
	taken, seen uint64
	mappings    []mapping
}

// mapping is a stretch of a process's memory with code.
type mapping struct {
	start, end, offset uint64
	device, inode      uint64
	module             *module // nil: of no file, or one that could not be opened
	name, path         string  // where there is no module
}

func (m *mapping) same(other *mapping) bool {
	return m.module == other.module && m.name == other.name && m.path == other.path &&
		m.start-m.offset == other.start-other.offset
}

func (g *generation) find(address uint64) *mapping {
	i := sort.Search(len(g.mappings), func(i int) bool { return g.mappings[i].end > address })
	if i == len(g.mappings) || g.mappings[i].start > address {
		return nil
	}
	return &g.mappings[i]
}

// place is where an address was found.
type place struct {
	mapping *mapping
	program *program
}

// find looks for an address at an instant. Between two generations it is told only if not both
// have it, or both alike.
func (p *process) find(at, address uint64) (found place, ambiguous bool) {
	before, after := p.around(at)
	one, certain := before.look(address, at)
	if one.mapping != nil && certain {
		return one, false
	}
	other, _ := after.look(address, at)
	switch {
	case one.mapping != nil && other.mapping != nil && !one.mapping.same(other.mapping):
		return place{}, true
	case one.mapping != nil:
		return one, false
	case other.mapping != nil:
		return other, false
	}
	for _, near := range [...]seen{before, after} { // a library that was there for a while
		if near.program == nil {
			continue
		}
		for _, g := range slices.Backward(near.program.generations) {
			if m := g.find(address); m != nil {
				return place{m, near.program}, false
			}
		}
	}
	return place{}, false
}

// seen is a generation of a program.
type seen struct {
	program    *program
	generation *generation
}

func (s seen) look(address, at uint64) (found place, certain bool) {
	if s.generation == nil {
		return place{}, false
	}
	m := s.generation.find(address)
	return place{m, s.program}, at <= s.generation.seen
}

// around are the last generation taken up to an instant, and the first after it, of programs
// that may have run then.
func (p *process) around(at uint64) (before, after seen) {
	for i := range p.programs {
		prog := &p.programs[i]
		if at < prog.begins {
			break
		}
		if i+1 < len(p.programs) {
			if next := p.programs[i+1].begins; next != 0 && at >= next {
				continue
			}
		}
		for j := range prog.generations {
			g := &prog.generations[j]
			if g.taken <= at {
				before = seen{prog, g}
			} else if after.generation == nil {
				after = seen{prog, g}
			}
		}
	}
	return before, after
}

// executed notes the beginning of a program, also if it was seen before it was told.
func (p *process) executed(at uint64) {
	if n := len(p.programs); n > 0 {
		last := &p.programs[n-1]
		late := last.begins == 0 && len(last.generations) > 0 && last.generations[0].taken >= at
		if late && (n == 1 || p.programs[n-2].lastSeen() < at) {
			last.begins = at
			return
		}
		if last.begins >= at || last.lastSeen() >= at {
			return // told twice, or too late to be of use
		}
	}
	p.programs = append(p.programs, program{begins: at})
}

func (p *program) lastSeen() uint64 {
	if n := len(p.generations); n > 0 {
		return p.generations[n-1].seen
	}
	return p.begins
}

// current is the program that a look at the process found: the last, or another if its image is.
func (p *process) current(is image) *program {
	if n := len(p.programs); n > 0 {
		last := &p.programs[n-1]
		if last.image.started == 0 { // of its parent
			last.image.started = is.started
		}
		if len(last.generations) == 0 || last.image == is {
			last.image = is
			return last
		}
	}
	p.programs = append(p.programs, program{image: is})
	return &p.programs[len(p.programs)-1]
}

// known is the mapping of an area that was seen before.
func (p *program) known(a *area) *mapping {
	if len(p.generations) == 0 {
		return nil
	}
	m := p.generations[len(p.generations)-1].find(a.start)
	if m == nil || m.start != a.start || m.end != a.end || m.inode != a.inode || m.device != a.device {
		return nil
	}
	if m.inode != 0 && m.offset != a.offset {
		return nil
	}
	return m
}

// take adds a generation, or prolongs the last one if nothing has changed.
func (p *program) take(now uint64, mappings []mapping) (taken bool) {
	if n := len(p.generations); n > 0 {
		last := &p.generations[n-1]
		if slices.Equal(last.mappings, mappings) {
			last.seen = max(last.seen, now)
			return false
		}
		now = max(now, last.seen)
	}
	p.generations = append(p.generations, generation{now, now, mappings})
	return true
}
