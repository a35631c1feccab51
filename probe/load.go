// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/rlimit"
	"golang.org/x/sys/unix"

	"github.com/iowitness/iowitness/kmod"
	"github.com/iowitness/iowitness/tracefs"
)

// ErrUnsupported is wrapped by errors that say that this kernel, or these
// privileges, cannot witness waits.
var ErrUnsupported = errors.New("waits cannot be witnessed here")

// ErrCancelled says that Options.Cancelled has ended the work.
var ErrCancelled = errors.New("cancelled while attaching")

// kernelBTF is the kernel's type information and whether the kernel itself offers it.
func kernelBTF(path string) (spec *btf.Spec, own bool, err error) {
	if path == "" {
		spec, err = btf.LoadKernelSpec()
		if err != nil {
			return nil, false, fmt.Errorf("%w: the kernel has no BTF type information (CONFIG_DEBUG_INFO_BTF): "+
				"give a file with it by --btf", ErrUnsupported)
		}
		return spec, true, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	spec, err = btf.LoadSpecFromReader(f)
	if err != nil {
		return nil, false, fmt.Errorf("%s holds no BTF: %w", path, err)
	}
	return spec, false, nil
}

// withoutBTF are the means that need no types of the kernel.
var withoutBTF = []Means{Tracefs, Kmod, Taskstats}

// choose opens the best means that works, or the one that is asked for.
func choose(o *Options) (Witness, error) {
	// Before 5.11 maps count against RLIMIT_MEMLOCK; a failure shows at the map, with its own reason.
	_ = rlimit.RemoveMemlock()
	removeLeftovers()
	types, own, noTypes := kernelBTF(o.BTF)
	if noTypes != nil && !errors.Is(noTypes, ErrUnsupported) {
		return nil, noTypes
	}
	means := preference
	if o.Via != "" {
		means = []Means{o.Via}
	}
	var refused refusals
	for _, via := range means {
		if noTypes != nil && !slices.Contains(withoutBTF, via) {
			refused.add(via, noTypes)
			continue
		}
		w, err := openBy(o, via, types, own, &refused)
		if err == nil {
			return w, nil
		}
		if pid := new(PIDError); errors.As(err, &pid) {
			return nil, pid
		}
		if errors.Is(err, ErrCancelled) {
			return nil, err
		}
		refused.add(via, err)
	}
	return nil, fmt.Errorf("%w: %s", ErrUnsupported, &refused)
}

// openBy opens one means; the better ones were refused.
func openBy(o *Options, via Means, types *btf.Spec, own bool, refused *refusals) (Witness, error) {
	switch via {
	case Tracefs:
		return openTracefs(o)
	case Kmod:
		return openKmod(o)
	case Taskstats:
		return openCoarse(o, refused.words())
	}
	return openBPF(o, via, types, own)
}

// removeLeftovers takes away what killed runs have left in the kernel; what hinders
// that is of interest only to means that need it, and said by them.
func removeLeftovers() {
	_ = kmod.RemoveLeftover()
	fs, err := tracefs.Open("/")
	if err != nil {
		return
	}
	defer fs.Close()
	_, _ = fs.Cleanup()
}

// memlockGuess is what the library adds to every EPERM. A limit is blamed only
// by doctor, which tries whether it counts.
const memlockGuess = " (MEMLOCK may be too low, consider rlimit.RemoveMemlock)"

// plainly says in words what the library says of its own attempts.
var plainly = map[string]string{
	"neither debugfs nor tracefs are mounted": "no kernel probes: the tracing file system is not there (CONFIG_KPROBE_EVENTS), or not mounted",
	"bpf_link_kprobe_multi not supported":     noMulti,
}

// reason shortens a verifier's log to what a person can act on.
func reason(err error) string {
	var verifier *ebpf.VerifierError
	if errors.As(err, &verifier) {
		return fmt.Sprintf("the kernel's verifier refused it (%v)", verifier.Cause)
	}
	words := strings.ReplaceAll(err.Error(), memlockGuess, "")
	for sign, plain := range plainly {
		if strings.Contains(words, sign) {
			return plain
		}
	}
	if errors.Is(err, unix.EPERM) {
		return "not permitted (" + words + ")"
	}
	return words
}

// programsFor leaves only the programs of one means in the collection.
func programsFor(spec *ebpf.CollectionSpec, via Means, follow, walks, multi bool) {
	keep := map[string]bool{walkProgram: walks, resolveProgram: walks}
	if via == Kretprobe && multi {
		keep["enter_multi"], keep["leave_multi"] = true, true
	}
	for _, p := range Table {
		if !p.Follow || follow {
			keep[p.Programs[via]] = true
		}
	}
	for name := range spec.Programs {
		if !keep[name] {
			delete(spec.Programs, name)
		}
	}
}

func loadBy(o *Options, via Means, types *btf.Spec, own bool) (_ *bpfWitness, err error) {
	spec, err := loadWait()
	if err != nil {
		return nil, err
	}
	functions := via == Fexit || via == Kretprobe
	if functions && !own {
		return nil, errors.New("a kernel without type information of its own cannot be walked over for calls in progress")
	}
	w := &bpfWitness{means: via, byHash: via == RawTP || via == TP || !hasTaskStorage(types), options: o}
	defer func() {
		if err != nil {
			w.Close()
		}
	}()
	w.schedulerClock = via == TPBTF && own && hasSchedulerClock(types)
	settings := w.settings()
	if via == TP {
		if w.tracefs, err = tracefs.Open("/"); err != nil {
			return nil, err
		}
		if err := placeFields(w.tracefs, Table, settings); err != nil {
			return nil, err
		}
	}
	all := spec.Copy()
	programsFor(spec, via, o.Follow, own, multiHasNoPool(types))
	if err := o.configure(spec, settings, types); err != nil {
		return nil, err
	}
	if !hasTaskStorage(types) {
		replaceTaskStorage(spec)
	}
	w.collection, err = ebpf.NewCollectionWithOptions(spec, ebpf.CollectionOptions{
		Programs: ebpf.ProgramOptions{KernelTypes: types},
	})
	if err != nil {
		return nil, err
	}
	if err := w.attach(); err != nil {
		return nil, err
	}
	if functions {
		all.Maps = spec.Maps
		err = w.attachCalls(all, types)
	}
	return w, err
}

// settings are those that depend on the means.
func (w *bpfWitness) settings() map[string]any {
	return map[string]any{
		"storage_by_hash": w.byHash, "scheduler_clock": w.schedulerClock,
		"looks_at_sleep": w.means == RawTP || w.means == TP,
		"by_functions":   w.means == Fexit || w.means == Kretprobe,
	}
}

// replaceTaskStorage puts maps that every kernel has in the place of those that
// this one lacks: the programs' settings say that they are not used.
func replaceTaskStorage(spec *ebpf.CollectionSpec) {
	for _, m := range spec.Maps {
		if m.Type == ebpf.TaskStorage {
			m.Type, m.KeySize, m.MaxEntries, m.Flags, m.Key, m.Value = ebpf.Hash, 4, 1, 0, nil, nil
		}
	}
}

func (w *bpfWitness) attach() error {
	for _, p := range Table {
		program := w.collection.Programs[p.Programs[w.means]]
		if program == nil {
			continue
		}
		l, err := attachAs(w.tracefs, p, program)
		if err != nil && !p.Optional {
			return fmt.Errorf("attaching to %s:%s: %w", p.Group, p.Point, err)
		}
		if err != nil {
			w.notes = append(w.notes, fmt.Sprintf("%s:%s cannot be witnessed (%s): %s", p.Group, p.Point, reason(err), p.Without))
			continue
		}
		w.links = append(w.links, l)
	}
	return w.attachWalks()
}

func (w *bpfWitness) attachWalks() (err error) {
	if program := w.collection.Programs[walkProgram]; program != nil {
		if w.walk, err = link.AttachIter(link.IterOptions{Program: program}); err != nil {
			return fmt.Errorf("iterating over threads: %w", err)
		}
	}
	return w.openResolve()
}
