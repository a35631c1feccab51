// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"fmt"
	"os"

	"github.com/cilium/ebpf"
)

// ownPrograms are the copies for one function, loaded.
type ownPrograms struct {
	leave *ebpf.Program
	enter *ebpf.Program // nil: entries are not witnessed
	err   error
}

// servesAll says whether one program serves all functions.
func (w *Calls) servesAll() bool { return w.via == KprobeMulti || w.shared }

// ownPrograms gives those of a function, which belong to the witness. Where one serves all, these are the same for each.
func (w *Calls) ownPrograms(find *CallTargets) func(number int, t *CallTarget) ownPrograms {
	if w.shared {
		one := w.load(find, w.sharedCopy)
		return func(int, *CallTarget) ownPrograms { return one }
	}
	return func(number int, t *CallTarget) ownPrograms { return w.loadOwn(find, number, t) }
}

// loadOwn loads the programs' copies for a function.
func (w *Calls) loadOwn(find *CallTargets, number int, t *CallTarget) ownPrograms {
	if w.via == Fexit {
		if t.Func == nil {
			return ownPrograms{err: fmt.Errorf("its types are not known, which fexit needs: %w", os.ErrNotExist)}
		}
		if t.Changed != "" {
			return ownPrograms{err: fmt.Errorf("%s: %w", t.Changed, os.ErrNotExist)}
		}
	}
	return w.load(find, func(name string) (*ebpf.ProgramSpec, error) { return w.copyFor(name, number, t) })
}

// sharedCopy is a program for all functions.
func (w *Calls) sharedCopy(name string) (*ebpf.ProgramSpec, error) {
	own := w.spec.Programs[name].Copy()
	return own, serveAll(own, w.targets)
}

// load loads copies of the programs at entry and return.
func (w *Calls) load(find *CallTargets, copyOf func(name string) (*ebpf.ProgramSpec, error)) (own ownPrograms) {
	enter, leave := w.options.entryProgram(w.via), w.options.returnProgram(w.via)
	spec := &ebpf.CollectionSpec{Maps: w.spec.Maps, Types: w.spec.Types, ByteOrder: w.spec.ByteOrder, Programs: map[string]*ebpf.ProgramSpec{}}
	for _, name := range []string{enter, leave} {
		if name == "" {
			continue
		}
		program, err := copyOf(name)
		if err != nil {
			return ownPrograms{err: err}
		}
		spec.Programs[name] = program
	}
	loaded, err := ebpf.NewCollectionWithOptions(spec, find.collectionOptions(w.collection.Maps))
	if err != nil {
		return ownPrograms{err: err}
	}
	defer loaded.Close()
	own.leave = loaded.DetachProgram(leave)
	w.programs = append(w.programs, own.leave)
	if enter != "" {
		own.enter = loaded.DetachProgram(enter)
		w.programs = append(w.programs, own.enter)
	}
	return own
}
