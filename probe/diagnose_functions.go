// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/iowitness/iowitness/diagnosis"
	"github.com/iowitness/iowitness/kernel"
)

// functions tells of each target whether it is there and which means can witness
// it. One that cannot be witnessed never keeps the others from it.
func (e *evidence) functions(t trial, verdicts map[Means]diagnosis.Verdict) []diagnosis.Function {
	all := make([]diagnosis.Function, len(Functions))
	for i := range Functions {
		all[i] = e.describeFunction(&Functions[i], e.target(i))
	}
	together := verdicts[Kretprobe] == diagnosis.Usable && e.has.KprobeMulti == kernel.On && t.together(unopposed(all)) == nil
	for i := range all {
		for j := range Descriptions {
			d := &Descriptions[j]
			if !d.functions {
				continue
			}
			m := diagnosis.FunctionMeans{ID: string(d.Means), Verdict: diagnosis.Unusable}
			m.Reason = e.refuseFunction(d, &all[i], e.target(i))
			switch {
			case m.Reason != "":
			case verdicts[d.Means] != diagnosis.Usable:
				m.Verdict = verdicts[d.Means]
				m.Reason = string(d.Means) + " is not usable here"
			case d.Means == Kretprobe && together && all[i].Copies == 1:
				m.Verdict = diagnosis.Usable
			default:
				e.tryFunction(&m, d, &all[i], t)
			}
			all[i].Means = append(all[i].Means, m)
		}
	}
	return all
}

// unopposed are the symbols of which nothing is known against a kprobe.
func unopposed(functions []diagnosis.Function) (symbols []string) {
	for i := range functions {
		if f := &functions[i]; f.Denied == "" && f.Copies == 1 && f.Blacklisted != string(kernel.On) {
			symbols = append(symbols, f.Symbols...)
		}
	}
	return symbols
}

func (e *evidence) target(i int) *kernel.Target {
	if i < len(e.targets) {
		return &e.targets[i]
	}
	return &kernel.Target{Name: Functions[i].Name}
}

func (e *evidence) describeFunction(f *Function, target *kernel.Target) diagnosis.Function {
	d := diagnosis.Function{
		Name: f.Name, Waits: f.Witness, Flagged: f.Flagged, Module: f.Module,
		ArgumentsChanged: target.ArgumentsChanged(), Copies: 1,
		Blacklisted: string(kernel.Off), Traceable: string(kernel.On),
	}
	d.Denied, _ = Denied(f.Name)
	for _, s := range target.Taken() {
		d.Symbols = append(d.Symbols, s.Name)
		d.Copies = max(d.Copies, s.Copies)
		d.Blacklisted = worst(d.Blacklisted, e.blacklist.Has(s.Name), kernel.On)
		d.Traceable = worst(d.Traceable, e.traceable.Has(s.Name), kernel.Off)
	}
	for _, s := range target.Left() {
		d.NotSeen = append(d.NotSeen, s.Name)
	}
	if len(d.Symbols) == 0 {
		d.Copies, d.Blacklisted, d.Traceable = 0, string(kernel.Unknown), string(kernel.Unknown)
	}
	d.Note = e.functionNote(f, target)
	return d
}

// worst of several symbols is the bad one, then the unknown one.
func worst(a string, b, bad kernel.Setting) string {
	switch {
	case a == string(bad) || b == bad:
		return string(bad)
	case b == kernel.Unknown:
		return string(b)
	}
	return a
}

func (e *evidence) functionNote(f *Function, target *kernel.Target) string {
	switch {
	case e.noTargets != nil:
		return "the kernel's symbols are not known"
	case len(target.Found) == 0 && f.Module != "" && !kernel.ModuleLoaded(e.root, f.Module):
		return "module " + f.Module + " is not loaded: nobody waits there"
	}
	return target.Sentence()
}

// refuseFunction says why a function must not or cannot be probed by a means; "": nothing is known against it.
func (e *evidence) refuseFunction(d *Description, f *diagnosis.Function, target *kernel.Target) string {
	switch {
	case f.Denied != "":
		return "never probed: " + f.Denied
	case len(f.Symbols) == 0:
		return cmp.Or(f.Note, "there is no such function")
	case d.Means != Fexit && f.Blacklisted == string(kernel.On):
		return "the kernel refuses kprobes on it (its blacklist)"
	case d.Means == Fexit && target.Found[0].Name != target.Name:
		return "BPF trampolines need the function by its own name: " + f.Note
	case d.Means == Fexit && f.Traceable == string(kernel.Off):
		return notTraceable
	}
	return ""
}

// tryFunction tries each of a function's symbols where a trial costs little.
// Loading shows whether a trampoline can be had; attaching one is only needed
// where ftrace does not say which entries it knows.
func (e *evidence) tryFunction(m *diagnosis.FunctionMeans, d *Description, f *diagnosis.Function, t trial) {
	m.Verdict = diagnosis.Usable
	if d.Means != Fexit && d.Means != Kretprobe {
		return
	}
	attach := d.Means == Kretprobe || f.Traceable == string(kernel.Unknown)
	for _, symbol := range f.Symbols {
		if err := t.function(d.Means, symbol, attach); err != nil {
			m.Verdict = diagnosis.Unusable
			m.Reason = fmt.Sprintf("%s: %s", symbol, functionReason(err, f))
			return
		}
	}
}

func functionReason(err error, f *diagnosis.Function) string {
	if errors.Is(err, ebpf.ErrNotSupported) && f.Module != "" {
		return "the kernel has no type information of module " + f.Module + " (before 5.11, or without CONFIG_DEBUG_INFO_BTF_MODULES)"
	}
	// Kernels that refuse a name of several functions answer so from 6.6 on.
	if errors.Is(err, unix.EADDRNOTAVAIL) || f.Copies > 1 {
		return fmt.Sprintf("%d functions have that name, and the kernel cannot tell which is meant (%s)", f.Copies, plain(err))
	}
	if errors.Is(err, unix.EBUSY) {
		return "somebody else holds its entry, such as a live patch (" + plain(err) + ")"
	}
	return plain(err)
}
