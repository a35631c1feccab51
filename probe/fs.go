// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/rlimit"

	"github.com/iowitness/iowitness/event"
)

// ErrFSUnsupported is wrapped by errors that say that this kernel, or these
// privileges, cannot witness calls to file systems.
var ErrFSUnsupported = errors.New("calls to file systems cannot be witnessed here")

// FSOptions is what to witness of file systems. The zero value is everything but the
// calling process.
type FSOptions struct {
	Devs    []event.Dev   // only file systems with these superblock devices
	PIDs    []uint32      // only these processes, as the caller's pid namespace numbers them
	Comm    string        // only threads of this name, up to 15 bytes
	Silence time.Duration // without a heartbeat for this long the kernel side does no work; 0: never mind
	BTF     string        // file with the kernel's BTF, where the kernel does not offer its own
	Via     Means         // only this means

	old bool // as on a kernel that lacks what came after 5.10: for tests
}

// FS witnesses calls to file systems, from Start to Close. It is not safe for
// concurrent use, but for Interrupt.
type FS struct {
	object
	via      Means
	options  FSOptions
	programs map[string]string // by the id of their probe
	underWay *link.Iter
	notes    []string

	epoch  uint32
	before event.FSInterval // journals and flushes at the end of the last interval
	stacks map[uint64]fsKeptStack
}

// OpenFS loads the kernel side and attaches it, with its gate still closed. An error that
// wraps ErrFSUnsupported says what is missing.
func OpenFS(o FSOptions) (*FS, error) {
	_ = rlimit.RemoveMemlock()
	if _, any := callOps(); !any {
		return nil, fmt.Errorf("%w: the numbers of system calls of this architecture are not known", ErrFSUnsupported)
	}
	types, own, err := kernelBTF(o.BTF)
	if errors.Is(err, ErrUnsupported) {
		return nil, fmt.Errorf("%w: the kernel has no BTF type information (CONFIG_DEBUG_INFO_BTF): give a file with it by --btf", ErrFSUnsupported)
	}
	if err != nil {
		return nil, err
	}
	means := fsMeans
	if o.Via != "" {
		means = []Means{o.Via}
	}
	var refused refusals
	for _, via := range means {
		if !slices.Contains(fsMeans, via) {
			return nil, fmt.Errorf("%w by %s: only by %s or %s", ErrFSUnsupported, via, TPBTF, RawTP)
		}
		f, err := loadFS(o, via, types, own)
		if err == nil {
			return f, nil
		}
		if pid := new(PIDError); errors.As(err, &pid) {
			return nil, pid
		}
		refused.add(via, err)
	}
	return nil, fmt.Errorf("%w: %s", ErrFSUnsupported, &refused)
}

func loadFS(o FSOptions, via Means, types *btf.Spec, own bool) (_ *FS, err error) {
	spec, err := loadFs()
	if err != nil {
		return nil, err
	}
	programs := o.programNames(via, types)
	keepFS(spec, programs, own)
	if err := setAll(spec, o.fsSettings(via, types)); err != nil {
		return nil, err
	}
	if !o.hasStorage(types) {
		replaceTaskStorage(spec)
	}
	f := &FS{via: via, options: o, programs: programs, stacks: map[uint64]fsKeptStack{}, notes: []string{notCalls}}
	if programs["enter"] != enterWithVMA {
		f.notes = append(f.notes, withoutMsync)
	}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	f.collection, err = ebpf.NewCollectionWithOptions(spec, ebpf.CollectionOptions{Programs: ebpf.ProgramOptions{KernelTypes: types}})
	if err != nil {
		return nil, err
	}
	if err := f.prepare(); err != nil {
		return nil, err
	}
	return f, f.attach()
}

const underWayProgram = "under_way"

// keepFS leaves only some programs in the collection.
func keepFS(spec *ebpf.CollectionSpec, programs map[string]string, iterates bool) {
	keep := map[string]bool{resolveProgram: iterates, underWayProgram: iterates}
	for _, name := range programs {
		keep[name] = true
	}
	for name := range spec.Programs {
		if !keep[name] {
			delete(spec.Programs, name)
		}
	}
}

// prepare fills the tables by which the kernel side filters, and opens the ring.
func (f *FS) prepare() (err error) {
	if program := f.collection.Programs[underWayProgram]; program != nil {
		if f.underWay, err = link.AttachIter(link.IterOptions{Program: program}); err != nil {
			return fmt.Errorf("iterating over threads: %w", err)
		}
	}
	if err := errors.Join(f.openResolve(), f.filterProcesses(f.options.PIDs)); err != nil {
		return err
	}
	for _, dev := range f.options.Devs {
		if err := f.collection.Maps["wanted_devs"].Put(uint32(dev), uint8(1)); err != nil {
			return fmt.Errorf("more file systems to watch than fit: %w", err)
		}
	}
	return f.openRing()
}

func (f *FS) attach() error {
	for _, p := range FSTable {
		program := f.collection.Programs[f.programs[p.ID]]
		l, err := attachAs(nil, p, program)
		if err == nil {
			f.links = append(f.links, l)
			continue
		}
		if !p.Optional {
			return fmt.Errorf("attaching to %s:%s: %w", p.Group, p.Point, err)
		}
		f.note(p, err)
	}
	return nil
}

// note says once what is lost without a probe, however many serve the same purpose.
func (f *FS) note(p Probe, err error) {
	why := reason(err)
	if errors.Is(err, os.ErrNotExist) {
		why = fmt.Sprintf("%s is not loaded", p.Group)
	}
	f.notes = addOnce(f.notes, fmt.Sprintf("%s: %s", p.Without, why))
}

// Facts are what there is to know of the means in use.
func (f *FS) Facts() Facts {
	facts := Facts{Means: f.via, State: "task_storage", Clock: "monotonic", Notes: f.notes}
	if f.collection.Maps["fs_calls"].Type() != ebpf.TaskStorage || f.via == RawTP {
		facts.State = "hash"
	}
	return facts
}

// Start opens the gate.
func (f *FS) Start() error {
	if err := f.snapshotBelow(&f.before); err != nil {
		return err
	}
	f.epoch = 1
	return errors.Join(f.live(f.options.Silence, 0), f.set("epoch", f.epoch))
}

// Heartbeat tells the kernel side that somebody still listens. closed says that it had
// fallen silent, so that calls were not counted, and that it goes on now.
func (f *FS) Heartbeat() (closed bool, err error) {
	if f.options.Silence == 0 {
		return false, nil
	}
	closed, err = f.hasFallenSilent()
	if err := errors.Join(err, f.live(f.options.Silence, 0)); err != nil || !closed {
		return closed, err
	}
	return closed, f.set("epoch", f.epoch)
}

// SetStacks says whether sleeps are unwound from now on. Those that are not are not attributed to a cause.
func (f *FS) SetStacks(on bool) error { return f.set("with_stacks", on) }

// Pause closes the gate: calls are neither counted nor looked at.
func (f *FS) Pause() error { return f.set("epoch", uint32(0)) }

// Losses are all counts since the start, of what can go missing here.
func (f *FS) Losses() ([]Loss, error) {
	losses, err := readLosses(f.collection.Maps["losses"], fsLossNames, fsShares...)
	if err != nil {
		return nil, err
	}
	stats, err := f.Stats()
	if err != nil {
		return nil, err
	}
	return append(losses, stats.skipped(), Loss{ID: "undecoded", Title: "records not understood", Count: f.undecoded}), nil
}

// fsShares are the losses that the witness of waits has too.
var fsShares = []string{"ring_identity", "no_wake", "stack", "name_cut", "clock"}

// Stats is what the programs cost in the kernel, since they were loaded.
func (f *FS) Stats() (RunStats, error) {
	return statsOf(slices.Collect(maps.Values(f.collection.Programs)))
}

// Close detaches and frees everything. It may be called more than once.
func (f *FS) Close() error {
	var errs []error
	if f.underWay != nil {
		errs = append(errs, f.underWay.Close())
		f.underWay = nil
	}
	return errors.Join(append(errs, f.close())...)
}
