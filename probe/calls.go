// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/link"
)

// functionMark stands in the programs for the number of their function; see bpf/sleep.h.
const functionMark = 0x105ca11

// calls attaches to entry and return of functions, and knows what became of each.
type calls struct {
	programs []*ebpf.Program // beyond those of the collection
	enters   []*ebpf.Program // those at entry
	leaves   []*ebpf.Program // and at return
	links    []io.Closer
	missed   []func() (uint64, bool) // what the kernel counts as missed
	attached int
	givenUp  uint64 // calls that were open when the gate was closed
}

// attachCalls attaches to each function of the table by a means of entry and
// return. One that cannot be is told, and no reason to do without the others.
func (w *bpfWitness) attachCalls(spec *ebpf.CollectionSpec, types *btf.Spec) error {
	if w.means == Kretprobe && multiHasNoPool(types) {
		err := w.attachMulti()
		if err == nil {
			return nil
		}
		w.notes = append(w.notes, fmt.Sprintf("functions are probed one by one, as kprobe.multi is refused: %s", reason(err)))
	}
	var refused error
	var absent []string
	for number, f := range Functions {
		if !w.options.wants(f) {
			continue
		}
		if w.options.Cancelled != nil && w.options.Cancelled() {
			return ErrCancelled
		}
		err := w.attachCall(spec, types, number, f)
		switch {
		case err == nil:
			w.calls.attached++
		case f.Module != "" && isAbsent(err): // the module is not loaded: nobody waits there
		case errors.Is(err, os.ErrNotExist):
			absent = append(absent, f.Name)
		default:
			refused = cmp.Or(refused, err)
			w.notes = append(w.notes, fmt.Sprintf("%s (%s) is not witnessed: %s", f.Name, f.Witness, reason(err)))
		}
	}
	if len(absent) > 0 {
		w.notes = append(w.notes, "this kernel lacks, or has inlined: "+strings.Join(absent, ", "))
	}
	if w.calls.attached == 0 {
		return fmt.Errorf("no function could be probed: %w", refused)
	}
	return nil
}

func (o *Options) wants(f Function) bool {
	return len(o.Functions) == 0 || slices.Contains(o.Functions, f.Name)
}

func isAbsent(err error) bool {
	return errors.Is(err, os.ErrNotExist) || errors.Is(err, btf.ErrNotFound) || errors.Is(err, ebpf.ErrNotSupported)
}

// multiHasNoPool says whether kprobe.multi keeps what a call needs until its
// return on the thread's shadow stack. Before, it has a pool for all functions
// together, which sleeping threads exhaust.
func multiHasNoPool(types *btf.Spec) bool {
	var fprobe *btf.Struct
	return types.TypeByName("fprobe", &fprobe) == nil && !hasMember(types, "fprobe", "rethook")
}

// attachMulti attaches one program to all functions that there are.
func (w *bpfWitness) attachMulti() error {
	var present []string
	var cookies []uint64
	for number, f := range Functions {
		if !w.options.wants(f) {
			continue
		}
		for _, symbol := range symbols()[f.Name] {
			present, cookies = append(present, symbol), append(cookies, uint64(number))
		}
	}
	options := link.KprobeMultiOptions{Symbols: present, Cookies: cookies}
	leave, err := link.KretprobeMulti(w.collection.Programs["leave_multi"], options)
	if err != nil {
		return err
	}
	enter, err := link.KprobeMulti(w.collection.Programs["enter_multi"], options)
	if err != nil {
		leave.Close()
		return err
	}
	w.calls.attached = len(present)
	w.calls.links = append(w.calls.links, enter, leave)
	w.calls.enters = append(w.calls.enters, w.collection.Programs["enter_multi"])
	w.calls.leaves = append(w.calls.leaves, w.collection.Programs["leave_multi"])
	w.calls.missed = append(w.calls.missed, func() (uint64, bool) { return missedOf(leave) })
	return nil
}

// attachCall loads the programs' copies for a function and attaches them: the
// return first, so that an open call is one whose return is awaited.
func (w *bpfWitness) attachCall(spec *ebpf.CollectionSpec, types *btf.Spec, number int, f Function) error {
	enterName, leaveName := "enter_fentry", "leave_fexit"
	if w.means == Kretprobe {
		enterName, leaveName = "enter_kprobe", "leave_kretprobe"
	}
	names := symbols()[f.Name]
	if len(names) == 0 {
		return fmt.Errorf("this kernel has no such function, or has it inlined: %w", os.ErrNotExist)
	}
	own := &ebpf.CollectionSpec{
		Maps: spec.Maps, Types: spec.Types, ByteOrder: spec.ByteOrder,
		Programs: map[string]*ebpf.ProgramSpec{
			enterName: copyFor(spec.Programs[enterName], number, f), leaveName: copyFor(spec.Programs[leaveName], number, f),
		},
	}
	loaded, err := ebpf.NewCollectionWithOptions(own, ebpf.CollectionOptions{
		Programs: ebpf.ProgramOptions{KernelTypes: types}, MapReplacements: w.collection.Maps,
	})
	if err != nil {
		return err
	}
	enter, leave := loaded.DetachProgram(enterName), loaded.DetachProgram(leaveName)
	loaded.Close()
	w.calls.programs = append(w.calls.programs, enter, leave)
	w.calls.enters, w.calls.leaves = append(w.calls.enters, enter), append(w.calls.leaves, leave)
	if w.means == Fexit {
		return w.attachBoth(
			func() (link.Link, error) { return link.AttachTracing(link.TracingOptions{Program: leave}) },
			func() (link.Link, error) { return link.AttachTracing(link.TracingOptions{Program: enter}) })
	}
	for _, symbol := range names {
		err = errors.Join(err, w.attachBoth(
			func() (link.Link, error) { return w.kretprobe(symbol, leave) },
			func() (link.Link, error) { return link.Kprobe(symbol, enter, nil) }))
	}
	return err
}

func (w *bpfWitness) attachBoth(leave, enter func() (link.Link, error)) error {
	l, err := leave()
	if err != nil {
		return err
	}
	e, err := enter()
	if err != nil {
		l.Close()
		return err
	}
	w.calls.links = append(w.calls.links, e, l)
	return nil
}

// copyFor is a program for one function.
func copyFor(spec *ebpf.ProgramSpec, number int, f Function) *ebpf.ProgramSpec {
	own := spec.Copy()
	if own.Type == ebpf.Tracing {
		own.AttachTo = f.Name
	}
	setMark(own, functionMark, int64(number))
	return own
}

// MaxActive is how many threads may sleep in a function before returns go
// missing. The kernel's default, twice its CPUs, is for functions that do not
// sleep: here each waiting thread holds an instance for as long as it waits.
func MaxActive(processors, threads int) int { return min(max(16*processors, 2*threads, 512), 4096) }

func (w *bpfWitness) kretprobe(function string, program *ebpf.Program) (link.Link, error) {
	l, limited, err := kretprobe(function, program, 0, w.options.MaxActive)
	if err != nil {
		return nil, err
	}
	w.calls.missed = append(w.calls.missed, missedReader(l, function, limited == nil))
	if limited != nil {
		w.noteOnce(poolNote(limited))
	}
	return l, nil
}

func (w *bpfWitness) noteOnce(note string) { w.notes = addOnce(w.notes, note) }

func addOnce(notes []string, note string) []string {
	if slices.Contains(notes, note) {
		return notes
	}
	return append(notes, note)
}

type callBalance struct{ Entries, Returns, Strays, Awake, Deep, Lost uint64 }

// callLosses are the balance of entries and returns.
func (w *bpfWitness) callLosses() ([]Loss, error) {
	var perCPU []callBalance
	if err := w.collection.Maps["balance"].Lookup(uint32(0), &perCPU); err != nil {
		return nil, err
	}
	var sum callBalance
	for _, b := range perCPU {
		sum.Entries += b.Entries
		sum.Returns += b.Returns
		sum.Strays += b.Strays
		sum.Awake += b.Awake
		sum.Deep += b.Deep
	}
	var open uint64
	if err := w.collection.Variables["walk_open"].Get(&open); err != nil {
		return nil, err
	}
	unseen, err := skippedRuns(w.calls.enters)
	if err != nil {
		return nil, err
	}
	missed, err := skippedRuns(w.calls.leaves)
	if err != nil {
		return nil, err
	}
	losses := []Loss{
		{ID: "missed_return", Title: "waits not counted: the function's return was not seen", Count: less(sum.Entries, sum.Returns+sum.Deep+open+w.calls.givenUp)},
		{ID: "missed_entry", Title: "waits not counted: the kernel did not run the probe", Count: unseen},
		{ID: "stray_return", Title: "returns of calls that began before", Count: sum.Strays, Harmless: true},
		{ID: "no_sleep", Title: "calls in which the thread did not wait", Count: sum.Awake, Harmless: true},
		{ID: "deep_call", Title: "calls not followed: too deeply nested", Count: sum.Deep},
	}
	for _, read := range w.calls.missed {
		if n, ok := read(); ok {
			missed += n
		}
	}
	return append(losses, Loss{ID: "kernel_missed", Title: "returns that the kernel says it missed", Count: missed, Harmless: true}), nil
}

// skippedRuns counts how often, in whatever thread, the kernel did not run
// programs: a thread was preempted within one, and others on that CPU go past it.
func skippedRuns(programs []*ebpf.Program) (n uint64, err error) {
	for _, p := range programs {
		stats, err := p.Stats()
		if err != nil {
			return n, err
		}
		n += stats.RecursionMisses
	}
	return n, nil
}

func less(a, b uint64) uint64 {
	if a < b {
		return 0
	}
	return a - b
}

func (c *calls) detach() error {
	var errs []error
	for _, l := range c.links {
		errs = append(errs, l.Close())
	}
	c.links, c.missed = nil, nil
	return errors.Join(errs...)
}

func (c *calls) close() error {
	var errs []error
	for _, p := range c.programs {
		errs = append(errs, p.Close())
	}
	c.programs, c.enters, c.leaves = nil, nil, nil
	return errors.Join(errs...)
}

// functionFlags are, by number, whether in_iowait is set in a function.
func functionFlags() (flags [64]uint8) {
	if len(Functions) > len(flags) {
		panic(fmt.Sprintf("%d functions, %d places", len(Functions), math.MaxUint8))
	}
	for i, f := range Functions {
		if f.Flagged {
			flags[i] = 1
		}
	}
	return flags
}
