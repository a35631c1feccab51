// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"github.com/iowitness/iowitness/kernel"
	"github.com/iowitness/iowitness/taskstats"
	"github.com/iowitness/iowitness/tracefs"
)

// trial finds out by doing. What a file says of a kernel may be wrong, old or
// not to be read; what an attempt says is so.
type trial interface {
	// means tries the smallest thing of a kind: attach, see it run, detach.
	means(Means) error
	// whole tries what iowitness itself loads and attaches by a means, with its gate closed.
	whole(Means) (notes []string, err error)
	// verb tries what a verb, such as block, loads and attaches by a means, with its gate closed.
	verb(id string, m Means) (notes []string, err error)
	// function tries a means on one symbol; without attach it only loads what would be attached.
	function(m Means, symbol string, attach bool) error
	// together tries return probes on many symbols by one link.
	together(symbols []string) error
	// features are what BPF has here.
	features() bpfFeatures
	// tracefs tells where it is, "private" if it can only be mounted, and the
	// functions that ftrace can witness.
	tracefs(names []string) (place string, traceable kernel.Listing)
}

// bpfFeatures were tried one by one. Unknown: the trial itself was refused.
type bpfFeatures struct {
	RingBuffer, TaskStorage, ReadKernel, KprobeMulti, KprobeSession kernel.Setting
	MemlockCounts                                                   kernel.Setting
	MemlockBytes                                                    int64 // -1: no limit
}

// errNeverRan tells that a probe was attached, and that the kernel did not run it.
var errNeverRan = errors.New("it was attached, but the kernel never ran it")

// liveTrial tries on the running kernel.
type liveTrial struct {
	options DiagnoseOptions
	types   *btf.Cache // of the kernel and its modules, read once
	chosen  string     // function to try on, found once
}

func newLiveTrial(o DiagnoseOptions) *liveTrial {
	return &liveTrial{options: o, types: btf.NewCache()}
}

// triggered is a function that nobody calls often and that this process can
// make the kernel call: the system call sysinfo(2).
var triggered = []string{"__x64_sys_sysinfo", "__arm64_sys_sysinfo", "__se_sys_sysinfo", "__do_sys_sysinfo"}

func trigger() {
	var info unix.Sysinfo_t
	_ = unix.Sysinfo(&info)
	time.Sleep(time.Millisecond) // and makes the scheduler switch
}

func (l *liveTrial) means(m Means) error {
	switch m {
	case TPBTF, RawTP, TP, Fexit, Kretprobe:
		return l.program(m)
	case Tracefs:
		return tryTracefs()
	case Kmod:
		return tryModule()
	case Taskstats:
		return tryTaskstats()
	}
	return fmt.Errorf("no trial for %s", m)
}

// program loads a program that counts its runs, attaches it, makes it run and detaches it.
func (l *liveTrial) program(m Means) error {
	runs, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1})
	if err != nil {
		return withoutHint(err)
	}
	defer runs.Close()
	target := "sched_switch"
	if describe(m).functions {
		target = l.aFunction()
	}
	attached, err := l.attach(m, target, counting(runs))
	if err != nil {
		return withoutHint(err)
	}
	defer attached.Close()
	_, err = untilTold(runs)
	return err
}

// untilTold makes the kernel run a program until it has written something. On
// 5.10 the first runs after a program was attached may go by without it.
func untilTold(runs *ebpf.Map) (value uint64, err error) {
	for range 50 {
		trigger()
		if err := runs.Lookup(uint32(0), &value); err != nil || value != 0 {
			return value, err
		}
	}
	return 0, errNeverRan
}

// aFunction is one to try on; the exact name does not matter where none is there.
func (l *liveTrial) aFunction() string {
	if l.chosen == "" {
		l.chosen = findTriggered()
	}
	return l.chosen
}

func findTriggered() string {
	targets, err := kernel.FindTargets("/", triggered)
	if err != nil {
		return triggered[0]
	}
	for _, t := range targets {
		if len(t.Found) > 0 && t.Found[0].Name == t.Name {
			return t.Name
		}
	}
	return triggered[0]
}

// counting is a program that adds one to a map's only value.
func counting(runs *ebpf.Map) asm.Instructions {
	return asm.Instructions{
		asm.LoadMapValue(asm.R1, runs.FD(), 0),
		asm.Mov.Imm(asm.R2, 1),
		asm.StoreXAdd(asm.R1, asm.R2, asm.DWord),
		asm.Mov.Imm(asm.R0, 0),
		asm.Return(),
	}
}

// nothing is a program that does nothing.
func nothing() asm.Instructions {
	return asm.Instructions{asm.Mov.Imm(asm.R0, 0), asm.Return()}
}

// load loads a program by a means, for a tracepoint of the scheduler or a function.
func (l *liveTrial) load(m Means, target string, code asm.Instructions) (*ebpf.Collection, error) {
	spec := &ebpf.ProgramSpec{Name: trialProgram, Type: ebpf.Tracing, AttachTo: target, License: "GPL", Instructions: code}
	switch m {
	case TPBTF:
		spec.AttachType = ebpf.AttachTraceRawTp
	case Fexit:
		spec.AttachType = ebpf.AttachTraceFExit
	case RawTP:
		spec.Type, spec.AttachTo = ebpf.RawTracepoint, ""
	case TP:
		spec.Type, spec.AttachTo = ebpf.TracePoint, ""
	case Kretprobe:
		spec.Type, spec.AttachTo = ebpf.Kprobe, ""
	}
	return l.loadSpec(spec)
}

const trialProgram = "iowitness_trial"

// loadSpec goes by a collection, which alone shares the kernel's types between programs.
func (l *liveTrial) loadSpec(spec *ebpf.ProgramSpec) (*ebpf.Collection, error) {
	return ebpf.NewCollectionWithOptions(&ebpf.CollectionSpec{
		Programs: map[string]*ebpf.ProgramSpec{trialProgram: spec},
	}, ebpf.CollectionOptions{Cache: l.types})
}

// attach loads a program and attaches it.
func (l *liveTrial) attach(m Means, target string, code asm.Instructions) (io.Closer, error) {
	loaded, err := l.load(m, target, code)
	if err != nil {
		return nil, err
	}
	defer loaded.Close() // the link keeps the program
	program := loaded.Programs[trialProgram]
	switch m {
	case RawTP:
		return link.AttachRawTracepoint(link.RawTracepointOptions{Name: target, Program: program})
	case TP:
		t, err := tracefs.Open("/")
		if err != nil {
			return nil, err
		}
		defer t.Close()
		return attachTracepoint(t, Probe{Group: "sched", Point: target}, program)
	case Kretprobe:
		return link.Kretprobe(target, program, nil)
	}
	return link.AttachTracing(link.TracingOptions{Program: program})
}

func (l *liveTrial) function(m Means, symbol string, attach bool) error {
	if !attach {
		loaded, err := l.load(m, symbol, nothing())
		if err == nil {
			loaded.Close()
		}
		return withoutHint(err)
	}
	attached, err := l.attach(m, symbol, nothing())
	if err != nil {
		return withoutHint(err)
	}
	return attached.Close()
}

func (l *liveTrial) together(symbols []string) error {
	loaded, err := l.loadSpec(&ebpf.ProgramSpec{
		Name: trialProgram, Type: ebpf.Kprobe, AttachType: ebpf.AttachTraceKprobeMulti, License: "GPL", Instructions: nothing(),
	})
	if err != nil {
		return err
	}
	defer loaded.Close()
	attached, err := link.KretprobeMulti(loaded.Programs[trialProgram], link.KprobeMultiOptions{Symbols: symbols})
	if err != nil {
		return err
	}
	return attached.Close()
}

// whole opens the means as a run does, and closes it before it has begun. Of the
// functions it takes one: each has a trial of its own, and takes its time.
func (l *liveTrial) whole(m Means) (notes []string, err error) {
	if !slices.Contains(preference, m) || m == Kmod {
		return nil, nil // loading a module is no trial
	}
	o := Options{Via: m, BTF: l.options.BTF, Functions: oneFunction()}
	o.fill()
	types, own, err := kernelBTF(o.BTF)
	if err != nil && describe(m).bpf {
		return nil, err
	}
	w, err := openBy(&o, m, types, own, nil)
	if err != nil {
		return nil, withoutHint(err)
	}
	notes = w.Facts().Notes
	return notes, w.Close()
}

// oneFunction is the first of the table that this kernel has.
func oneFunction() []string {
	for _, f := range Functions {
		if len(symbols()[f.Name]) > 0 {
			return []string{f.Name}
		}
	}
	return nil
}

func (l *liveTrial) tracefs(names []string) (place string, traceable kernel.Listing) {
	t, err := tracefs.Open("/")
	if err != nil {
		return "", kernel.Listing{Why: err.Error()}
	}
	defer t.Close()
	return cmp.Or(t.Place(), "private"), kernel.ReadTraceable(t.Files(), names)
}

// tryModule shows the kernel a module that is shorter than any: privileges and
// switches are asked before it is looked at, and nothing is loaded.
func tryModule() error {
	err := unix.InitModule([]byte{0}, "")
	if errors.Is(err, unix.ENOEXEC) {
		return nil
	}
	if err == nil {
		return errors.New("the kernel took one byte for a module")
	}
	return os.NewSyscallError("init_module", err)
}

// tryTaskstats asks the kernel for the statistics of this very process.
func tryTaskstats() error {
	c, err := taskstats.Dial()
	if errors.Is(err, taskstats.ErrPermission) {
		return fmt.Errorf("%w (%w)", err, unix.EPERM)
	}
	if err != nil {
		return err
	}
	return c.Close()
}
