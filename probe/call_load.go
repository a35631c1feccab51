// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"fmt"
	"os"
	"runtime"
	"sync"

	"github.com/cilium/ebpf"
)

// ownPrograms are the copies for one function, loaded.
type ownPrograms struct {
	leave *ebpf.Program
	enter *ebpf.Program // nil: entries are not witnessed
	err   error
}

func (p *ownPrograms) close() {
	p.leave.Close()
	p.enter.Close()
}

// loadedAhead are functions' programs, which several CPUs have verified while others are attached: that
// takes most of the time.
type loadedAhead struct {
	results []chan ownPrograms // by number of the function
	taken   int
	room    chan struct{} // to load so many before they are taken
	stopped chan struct{}
	workers sync.WaitGroup
}

func (w *Calls) loadAhead(find *CallTargets) *loadedAhead {
	workers := min(runtime.GOMAXPROCS(0), len(w.targets))
	a := &loadedAhead{results: make([]chan ownPrograms, len(w.targets)), room: make(chan struct{}, 2*workers), stopped: make(chan struct{})}
	numbers := make(chan int)
	targets := append([]*CallTarget(nil), w.targets...) // those that cannot be probed are taken off meanwhile
	for range workers {
		a.workers.Go(func() {
			for number := range numbers {
				a.results[number] <- w.loadOwn(find, number, targets[number])
			}
		})
	}
	for number := range targets {
		a.results[number] = make(chan ownPrograms, 1)
	}
	a.workers.Go(func() {
		defer close(numbers)
		for number := range targets {
			select {
			case a.room <- struct{}{}:
			case <-a.stopped:
				return
			}
			numbers <- number
		}
	})
	return a
}

// next are the programs of the next function.
func (a *loadedAhead) next() ownPrograms {
	own := <-a.results[a.taken]
	a.taken++
	<-a.room
	return own
}

// stop ends loading, and frees what was not taken.
func (a *loadedAhead) stop() {
	close(a.stopped)
	a.workers.Wait()
	for _, result := range a.results[a.taken:] {
		select {
		case own := <-result:
			own.close()
		default:
		}
	}
}

// loadOwn loads the programs' copies for a function. Several goroutines may do so at once.
func (w *Calls) loadOwn(find *CallTargets, number int, t *CallTarget) (own ownPrograms) {
	if w.via == Fexit {
		if t.Func == nil {
			return ownPrograms{err: fmt.Errorf("its types are not known, which fexit needs: %w", os.ErrNotExist)}
		}
		if t.Changed != "" {
			return ownPrograms{err: fmt.Errorf("%s: %w", t.Changed, os.ErrNotExist)}
		}
	}
	enter, leave := w.options.entryProgram(w.via), w.options.returnProgram(w.via)
	spec := &ebpf.CollectionSpec{Maps: w.spec.Maps, Types: w.spec.Types, ByteOrder: w.spec.ByteOrder, Programs: map[string]*ebpf.ProgramSpec{}}
	for _, name := range []string{enter, leave} {
		if name == "" {
			continue
		}
		program, err := w.copyFor(name, number, t)
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
	if enter != "" {
		own.enter = loaded.DetachProgram(enter)
	}
	return own
}
