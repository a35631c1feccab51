// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"

	"github.com/iowitness/iowitness/expr"
)

// Marks stand in the programs for the place of a function's result, and for how many
// bytes of it may be an error; see bpf/call.bpf.c.
const (
	returnMark = 0x105ca12
	resultMark = 0x105ca13
)

// hopeless is after how many functions without success a means is given up.
const hopeless = 8

// attachEach attaches to each function by programs of its own. One that cannot be
// probed is told, and no reason to do without the others, unless it is a root.
func (w *Calls) attachEach(find *CallTargets) error {
	var refused error
	attached := 0
	for number, t := range w.targets {
		if w.options.Cancelled != nil && w.options.Cancelled() {
			return ErrCancelled
		}
		err := w.attachOne(find, number, t)
		if err == nil {
			attached++
			continue
		}
		if t.Root || len(w.targets) == 1 {
			return fmt.Errorf("%s: %w", t.Name, err)
		}
		if attached == 0 && number+1 >= hopeless && refused != nil {
			return err // it is the means, not the function
		}
		refused = cmp.Or(refused, err)
		w.targets[number] = nil
		w.notes = append(w.notes, fmt.Sprintf("%s is not witnessed: %s", t.Name, reason(err)))
	}
	if attached == 0 {
		return refused
	}
	return nil
}

// attachOne loads the programs' copies for a function and attaches them: the
// return first, so that an open call is one whose return is awaited.
func (w *Calls) attachOne(find *CallTargets, number int, t *CallTarget) error {
	if w.via == Fexit {
		if t.Func == nil {
			return fmt.Errorf("its types are not known, which fexit needs: %w", os.ErrNotExist)
		}
		if t.Changed != "" {
			return fmt.Errorf("%s: %w", t.Changed, os.ErrNotExist)
		}
	}
	enterName, leaveName := "call_fentry", "call_fexit"
	if w.via == Kretprobe {
		enterName, leaveName = "call_kprobe", "call_kretprobe"
	}
	if w.options.Returns {
		enterName, leaveName = "", map[Means]string{Fexit: "return_fexit", Kretprobe: "return_kretprobe"}[w.via]
	}
	own := &ebpf.CollectionSpec{Maps: w.spec.Maps, Types: w.spec.Types, ByteOrder: w.spec.ByteOrder, Programs: map[string]*ebpf.ProgramSpec{}}
	for _, name := range []string{enterName, leaveName} {
		if name == "" {
			continue
		}
		program, err := w.copyFor(name, number, t)
		if err != nil {
			return err
		}
		own.Programs[name] = program
	}
	loaded, err := ebpf.NewCollectionWithOptions(own, find.collectionOptions(w.collection.Maps))
	if err != nil {
		return err
	}
	defer loaded.Close()
	leave := loaded.DetachProgram(leaveName)
	w.programs = append(w.programs, leave)
	if err := w.attach(leave, t, true); err != nil || enterName == "" {
		return err
	}
	enter := loaded.DetachProgram(enterName)
	w.programs = append(w.programs, enter)
	return w.attach(enter, t, false)
}

func (w *Calls) attach(program *ebpf.Program, t *CallTarget, isReturn bool) error {
	if w.via == Fexit {
		l, err := link.AttachTracing(link.TracingOptions{Program: program})
		if err == nil {
			w.links = append(w.links, l)
		}
		return err
	}
	for _, symbol := range t.Symbols {
		l, err := w.probe(symbol, program, isReturn)
		if err != nil {
			return err
		}
		w.links = append(w.links, l)
	}
	return nil
}

func (w *Calls) probe(symbol string, program *ebpf.Program, isReturn bool) (link.Link, error) {
	if !isReturn {
		return link.Kprobe(symbol, program, nil)
	}
	l, limited, err := kretprobe(symbol, program, w.options.MaxActive)
	if err != nil {
		return nil, err
	}
	if limited != nil {
		w.notes = addOnce(w.notes, poolNote(limited))
	}
	w.missed = append(w.missed, missedReader(l, symbol, limited == nil))
	return l, nil
}

// kretprobe asks for a large pool, which only tracefs offers; else it takes the
// kernel's, and limited says why.
func kretprobe(symbol string, program *ebpf.Program, active int) (l link.Link, limited, err error) {
	if active == 0 {
		active = MaxActive(runtime.NumCPU(), 0)
	}
	l, limited = link.Kretprobe(symbol, program, &link.KprobeOptions{RetprobeMaxActive: active, TraceFSPrefix: ownGroup()})
	if limited == nil {
		return l, nil, nil
	}
	l, err = link.Kretprobe(symbol, program, nil)
	return l, limited, err
}

func poolNote(limited error) string {
	return fmt.Sprintf("returns may go missing when many calls are under way: the pool of return probes is the kernel's default (%s)", reason(limited))
}

// copyFor is a program for one function: with its number, the place of its result, and its filter.
func (w *Calls) copyFor(name string, number int, t *CallTarget) (*ebpf.ProgramSpec, error) {
	own := w.spec.Programs[name].Copy()
	if own.Type == ebpf.Tracing {
		own.AttachTo = t.Name
	}
	setMark(own, functionMark, int64(number))
	setMark(own, returnMark, int64(8*t.arguments()))
	setMark(own, resultMark, int64(t.resultBytes()))
	if t.Program == nil {
		return own, nil
	}
	var err error
	if hasStub(own, "entry_body") {
		err = expr.Replace(own, "entry_body", t.Program.Entry)
	}
	if hasStub(own, "return_body") {
		err = errors.Join(err, expr.Replace(own, "return_body", t.Program.Return))
	}
	return own, err
}

func hasStub(spec *ebpf.ProgramSpec, name string) bool {
	return slices.ContainsFunc(spec.Instructions, func(i asm.Instruction) bool { return i.Symbol() == name })
}

// setMark puts a number where the program has a mark for it.
func setMark(spec *ebpf.ProgramSpec, mark, value int64) {
	for i := range spec.Instructions {
		if ins := &spec.Instructions[i]; ins.OpCode == asm.LoadImmOp(asm.DWord) && ins.Constant == mark {
			ins.Constant = value
		}
	}
}

// attachMulti attaches one program to all functions.
func (w *Calls) attachMulti() error {
	var present []string
	var cookies []uint64
	for number, t := range w.targets {
		for _, symbol := range t.Symbols {
			present, cookies = append(present, symbol), append(cookies, uint64(number)|uint64(t.resultBytes())<<32)
		}
	}
	options := link.KprobeMultiOptions{Symbols: present, Cookies: cookies}
	leaveName := "call_ret_multi"
	if w.options.Returns {
		leaveName = "return_multi"
	}
	leave, err := link.KretprobeMulti(w.collection.Programs[leaveName], options)
	if err != nil {
		return err
	}
	w.links = append(w.links, leave)
	w.missed = append(w.missed, func() (uint64, bool) { return missedOf(leave) })
	if w.options.Returns {
		return nil
	}
	enter, err := link.KprobeMulti(w.collection.Programs["call_multi"], options)
	if err != nil {
		return err
	}
	w.links = append(w.links, enter)
	return nil
}
