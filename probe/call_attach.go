// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"

	"github.com/iowitness/iowitness/expr"
)

// resultMark stands in the programs for how many bytes of a function's result may be an
// error; see bpf/call.bpf.c.
const resultMark = 0x105ca13

// hopeless is after how many functions without success a means is given up.
const hopeless = 8

// attachEach attaches to each function by programs of its own. One that cannot be
// probed is told, and no reason to do without the others, unless it is a root.
func (w *Calls) attachEach(find *CallTargets) error {
	var refused error
	var without []string
	attached, began := 0, time.Now()
	for number, t := range w.targets {
		if w.options.Within > 0 && time.Since(began) > w.options.Within {
			w.leaveOut(number)
			break
		}
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
		if without = append(without, t.Name); !w.options.Errors {
			w.notes = append(w.notes, fmt.Sprintf("%s is not witnessed: %s", t.Name, reason(err)))
		}
	}
	if attached == 0 {
		return refused
	}
	if len(without) > 0 && w.options.Errors {
		w.notes = append(w.notes, fmt.Sprintf("%d functions cannot be probed here: %s", len(without), strings.Join(without, ", ")))
	}
	return nil
}

// leaveOut does without the functions from a number on.
func (w *Calls) leaveOut(first int) {
	for i := first; i < len(w.targets); i++ {
		w.targets[i] = nil
	}
	w.notes = append(w.notes, fmt.Sprintf("%d of %d functions are not witnessed: attaching to the others took %v", len(w.targets)-first, len(w.targets), w.options.Within))
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
	enterName, leaveName := w.options.entryProgram(w.via), w.options.returnProgram(w.via)
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
	setMark(own, resultMark, int64(w.resultBytes(t)))
	bodies := map[string]asm.Instructions{"result_body": t.loadResult()}
	if t.Program != nil {
		bodies["entry_body"], bodies["return_body"] = t.Program.Entry, t.Program.Return
		if t.Program.AtEntry {
			bodies["filter_body"] = t.Program.Filter
		}
		if loads := t.loadArguments(); loads != nil {
			bodies["arguments_body"] = loads
		}
	}
	var err error
	for stub, body := range bodies {
		if hasStub(own, stub) {
			err = errors.Join(err, expr.Replace(own, stub, body))
		}
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
	options := w.multiOptions(true)
	program := w.collection.Programs[w.options.returnProgram(KprobeMulti)]
	leave, err := link.KretprobeMulti(program, options)
	if err != nil && w.options.Errors {
		// 3640bf8584f4 ("ftrace: Add support to resolve module symbols in ftrace_lookup_symbols", 6.1)
		options = w.multiOptions(false)
		leave, err = link.KretprobeMulti(program, options)
	}
	if err != nil {
		return err
	}
	w.links = append(w.links, leave)
	w.missed = append(w.missed, func() (uint64, bool) { return missedOf(leave) })
	entry := w.options.entryProgram(KprobeMulti)
	if entry == "" {
		return nil
	}
	enter, err := link.KprobeMulti(w.collection.Programs[entry], options)
	if err != nil {
		return err
	}
	w.links = append(w.links, enter)
	return nil
}

// multiOptions name all functions, each with its number, or only those of the kernel itself.
func (w *Calls) multiOptions(modules bool) (o link.KprobeMultiOptions) {
	for number, t := range w.targets {
		if t.Module != "" && !modules {
			continue
		}
		for _, symbol := range t.Symbols {
			o.Symbols, o.Cookies = append(o.Symbols, symbol), append(o.Cookies, uint64(number)|uint64(w.resultBytes(t))<<32)
		}
	}
	return o
}

// resultBytes is how much of a function's result may be an error.
func (w *Calls) resultBytes(t *CallTarget) int {
	if w.options.Errors {
		return t.errorBytes()
	}
	return t.resultBytes()
}
