// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"

	"github.com/iowitness/iowitness/expr"
	"github.com/iowitness/iowitness/kernel"
)

// resultMark stands in the programs for how many bytes of a function's result may be an
// error; see bpf/call.bpf.c.
const resultMark = 0x105ca13

// hopeless is after how many functions without success a means is given up.
const hopeless = 8

// attachEach attaches to one function after the other. One that cannot be
// probed is told, and no reason to do without the others, unless it is a root.
func (w *Calls) attachEach(find *CallTargets) error {
	var refused error
	var without leftOut
	programs := w.ownPrograms(find)
	attached, began := 0, time.Now()
	for number, t := range w.targets {
		if w.options.Within > 0 && time.Since(began) > w.options.Within {
			w.leaveOut(number)
			break
		}
		if w.options.Cancelled != nil && w.options.Cancelled() {
			return ErrCancelled
		}
		err := w.attachOne(number, t, programs(number, t))
		if err == nil {
			if attached++; attached == 1 && len(w.targets) > oneByOne && w.options.OneByOne != nil {
				w.options.OneByOne(len(w.targets))
			}
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
		without.refused(t.Name, err)
	}
	if attached == 0 {
		return refused
	}
	w.notes = append(w.notes, without.notes()...)
	return nil
}

// leaveOut does without the functions from a number on.
func (w *Calls) leaveOut(first int) {
	for i := first; i < len(w.targets); i++ {
		w.targets[i] = nil
	}
	w.notes = append(w.notes, fmt.Sprintf("%d of %d functions are not witnessed: attaching to the others took %v", len(w.targets)-first, len(w.targets), w.options.Within))
}

// attachOne attaches the programs of a function: the return first, so that an open call
// is one whose return is awaited.
func (w *Calls) attachOne(number int, t *CallTarget, own ownPrograms) error {
	if own.err != nil {
		return own.err
	}
	if err := w.attach(own.leave, number, t, true); err != nil || own.enter == nil {
		return err
	}
	return w.attach(own.enter, number, t, false)
}

func (w *Calls) attach(program *ebpf.Program, number int, t *CallTarget, isReturn bool) error {
	if w.via == Fexit {
		l, err := link.AttachTracing(link.TracingOptions{Program: program})
		if err == nil {
			w.links = append(w.links, l)
		}
		return err
	}
	var cookie uint64
	if w.servesAll() {
		cookie = w.cookie(number, t)
	}
	for _, symbol := range t.Symbols {
		l, err := w.probe(symbol, program, cookie, isReturn)
		if err != nil {
			return err
		}
		w.links = append(w.links, l)
	}
	return nil
}

func (w *Calls) probe(symbol string, program *ebpf.Program, cookie uint64, isReturn bool) (link.Link, error) {
	if !isReturn {
		return link.Kprobe(symbol, program, &link.KprobeOptions{Cookie: cookie})
	}
	l, limited, err := kretprobe(symbol, program, cookie, w.options.MaxActive)
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
func kretprobe(symbol string, program *ebpf.Program, cookie uint64, active int) (l link.Link, limited, err error) {
	if active == 0 {
		active = MaxActive(runtime.NumCPU(), 0)
	}
	l, limited = link.Kretprobe(symbol, program, &link.KprobeOptions{Cookie: cookie, RetprobeMaxActive: active, TraceFSPrefix: ownGroup()})
	if limited == nil {
		return l, nil, nil
	}
	l, err = link.Kretprobe(symbol, program, &link.KprobeOptions{Cookie: cookie})
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
	bodies := t.bodies()
	bodies["result_body"] = t.loadResult()
	if t.Program != nil {
		if loads := t.loadArguments(); loads != nil {
			bodies["arguments_body"] = loads
		}
	}
	return own, replaceStubs(own, bodies)
}

// bodies are the function's filter and fields; none: every call is wanted.
func (t *CallTarget) bodies() map[string]asm.Instructions {
	bodies := map[string]asm.Instructions{}
	if t.Program != nil {
		bodies["entry_body"], bodies["return_body"] = t.Program.Entry, t.Program.Return
		if t.Program.AtEntry {
			bodies["filter_body"] = t.Program.Filter
		}
	}
	return bodies
}

func replaceStubs(program *ebpf.ProgramSpec, bodies map[string]asm.Instructions) (err error) {
	for stub, body := range bodies {
		if hasStub(program, stub) {
			err = errors.Join(err, expr.Replace(program, stub, body))
		}
	}
	return err
}

// serveAll puts the filters and fields of all functions into one program.
func serveAll(program *ebpf.ProgramSpec, targets []*CallTarget) error {
	if !haveOwnCode(targets) {
		return nil
	}
	joint := map[string]asm.Instructions{}
	for _, stub := range []string{"filter_body", "entry_body", "return_body"} {
		var all []asm.Instructions
		for _, t := range targets {
			all = append(all, t.bodies()[stub])
		}
		var err error
		if joint[stub], err = expr.Switch(all); err != nil {
			return err
		}
	}
	return replaceStubs(program, joint)
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

// attachMulti attaches one program to all functions. The kernel refuses all for one that it
// does not know: those are left out before, as far as is known.
func (w *Calls) attachMulti() error {
	if err := w.leaveOutUntraceable(); err != nil {
		return err
	}
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

// leaveOutUntraceable does without functions whose entry ftrace cannot witness, and those of a name that another one has.
func (w *Calls) leaveOutUntraceable() error {
	var listing kernel.Listing
	if !w.options.Errors { // there that was done at first: see traceable
		listing = traceableSymbols(w.targets)
	}
	var without leftOut
	taken := map[string]bool{}
	for number, t := range w.targets {
		var why string
		for _, symbol := range t.Symbols {
			switch {
			case listing.Known && listing.Has(symbol) == kernel.Off:
				why = notTraceable
			case taken[symbol]:
				why = "another function has that name, and kprobe.multi takes no two of one name"
			}
			taken[symbol] = true
		}
		switch {
		case why == "":
			continue
		case t.Root || len(w.targets) == 1:
			return fmt.Errorf("%s: %s", t.Name, why)
		}
		w.targets[number] = nil
		without.add(t.Name, why)
	}
	w.notes = append(w.notes, without.notes()...)
	return nil
}

// multiOptions name all functions, each with its number, or only those of the kernel itself.
func (w *Calls) multiOptions(modules bool) (o link.KprobeMultiOptions) {
	for number, t := range w.targets {
		if t == nil || t.Module != "" && !modules {
			continue
		}
		for _, symbol := range t.Symbols {
			o.Symbols, o.Cookies = append(o.Symbols, symbol), append(o.Cookies, w.cookie(number, t))
		}
	}
	return o
}

// cookie tells a program that serves all functions for which one it runs: see COOKIE_RESULT_BIT of bpf/call.bpf.c.
func (w *Calls) cookie(number int, t *CallTarget) uint64 {
	return uint64(number) | uint64(w.resultBytes(t))<<32
}

// resultBytes is how much of a function's result may be an error.
func (w *Calls) resultBytes(t *CallTarget) int {
	if w.options.Errors {
		return t.errorBytes()
	}
	return t.resultBytes()
}
