// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/rlimit"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/tracefs"
)

// ErrProfileUnsupported is wrapped by errors that say that this kernel, or these
// privileges, cannot tell where the CPU goes.
var ErrProfileUnsupported = errors.New("where the CPU goes cannot be witnessed here")

// ProfileKind is what is profiled.
type ProfileKind string

// The kinds.
const (
	ProfileCPU    ProfileKind = "cpu"    // samples of what runs
	ProfileOffCPU ProfileKind = "offcpu" // times off the CPU
	ProfileRunQ   ProfileKind = "runq"   // waits for a CPU
)

// ProfileOptions is what to profile, and how. The zero value of a field means its default,
// or no filter.
type ProfileOptions struct {
	Frequency  uint32        // samples of each CPU a second; default 99
	Event      string        // what samples come by: cpu-clock, cycles; default cycles where there is a PMU
	Least      time.Duration // times off the CPU that are shorter are not counted
	Long       time.Duration // waits for a CPU this long are told one by one; default 10 ms
	States     uint32        // ways of being off the CPU, a bit for each event.OffState; default all
	Threads    bool          // also kernel threads that sleep without work
	KernelOnly bool          // no stacks of programs

	PIDs        []uint32 // only these processes, as the caller's pid namespace numbers them
	Comm        string   // only threads of this name, up to 15 bytes
	Cgroup      Cgroup   // only threads in this cgroup or below
	Follow      bool     // only threads given to Follow and their descendants
	IncludeSelf bool     // also the calling process

	Stacks  uint32        // distinct stacks in an interval; default 8,192, or 256 a CPU
	Sums    uint32        // distinct pairs of stacks by thread in an interval; default 16,384
	Silence time.Duration // without a heartbeat for this long the kernel side does no work; 0: never mind
	BTF     string        // file with the kernel's BTF, where the kernel does not offer its own
	Via     Means         // only this means; samples have one only

	old bool // as on a kernel that lacks what came after 5.10: for tests
}

func (o *ProfileOptions) fill() {
	for _, d := range []struct {
		to *uint32
		by uint32
	}{{&o.Frequency, 99}, {&o.Stacks, max(8192, 256*uint32(runtime.NumCPU()))}, {&o.Sums, 16384}, {&o.States, 1<<event.OffStates - 1}} {
		if *d.to == 0 {
			*d.to = d.by
		}
	}
	if o.Long == 0 {
		o.Long = 10 * time.Millisecond
	}
}

// Profile is a profiler, from Start to Close. It is not safe for concurrent use, but for Interrupt.
type Profile struct {
	object
	kind    ProfileKind
	via     Means
	options ProfileOptions
	events  *cpuEvents  // of samples
	tracefs *tracefs.FS // of plain tracepoints
	walk    *link.Iter
	notes   []string

	epoch, generation uint32
	stacks            stackCache
	cpus              []profileProfCpu // at the end of the last interval
	times             cpuTimes
	told              int // processes told since the kernel side's table of them was emptied
}

// OpenProfile loads the kernel side and attaches it, with its gate still closed. An error that
// wraps ErrProfileUnsupported says what is missing.
func OpenProfile(kind ProfileKind, o ProfileOptions) (*Profile, error) {
	o.fill()
	_ = rlimit.RemoveMemlock()
	types, own, err := kernelBTF(o.BTF)
	if errors.Is(err, ErrUnsupported) {
		return nil, fmt.Errorf("%w: the kernel has no BTF type information (CONFIG_DEBUG_INFO_BTF): give a file with it by --btf", ErrProfileUnsupported)
	}
	if err != nil {
		return nil, err
	}
	means := profileMeans[kind]
	if o.Via != "" {
		means = []Means{o.Via}
	}
	var refused refusals
	for _, via := range means {
		if !slices.Contains(profileMeans[kind], via) {
			return nil, fmt.Errorf("%w by %s: only by %v", ErrProfileUnsupported, via, profileMeans[kind])
		}
		p, err := loadProfileBy(kind, o, via, types, own)
		if err == nil {
			return p, nil
		}
		if pid := new(PIDError); errors.As(err, &pid) {
			return nil, pid
		}
		refused.add(via, err)
	}
	return nil, fmt.Errorf("%w: %s", ErrProfileUnsupported, &refused)
}

func loadProfileBy(kind ProfileKind, o ProfileOptions, via Means, types *btf.Spec, own bool) (_ *Profile, err error) {
	spec, err := loadProfile()
	if err != nil {
		return nil, err
	}
	p := &Profile{kind: kind, via: via, options: o, stacks: newStackCache(int(o.Stacks))}
	defer func() {
		if err != nil {
			p.Close()
		}
	}()
	if kind == ProfileCPU {
		if p.events, err = newCPUEvents(&p.options); err != nil {
			return nil, err
		}
		p.notes = append(p.notes, p.events.notes...)
	}
	p.keep(spec, own)
	settings := p.settings(types)
	if via == TP {
		if p.tracefs, err = tracefs.Open("/"); err != nil {
			return nil, err
		}
		if err := placeFields(p.tracefs, ProfileTables[kind], settings); err != nil {
			return nil, err
		}
	}
	if err := setAll(spec, settings); err != nil {
		return nil, err
	}
	if !o.hasStorage(types) {
		replaceTaskStorage(spec)
	}
	p.collection, err = ebpf.NewCollectionWithOptions(spec, ebpf.CollectionOptions{Programs: ebpf.ProgramOptions{KernelTypes: types}})
	if err != nil {
		return nil, err
	}
	if err := p.prepare(); err != nil {
		return nil, err
	}
	return p, p.attach()
}

// prepare fills the tables by which the kernel side filters, and opens the ring.
func (p *Profile) prepare() (err error) {
	if program := p.collection.Programs[offWalkProgram]; program != nil {
		if p.walk, err = link.AttachIter(link.IterOptions{Program: program}); err != nil {
			return fmt.Errorf("iterating over threads: %w", err)
		}
	}
	if err := errors.Join(p.openResolve(), p.filterProcesses(p.options.PIDs)); err != nil {
		return err
	}
	return p.openRing()
}

func (p *Profile) attach() error {
	for _, point := range ProfileTables[p.kind] {
		program := p.collection.Programs[point.Programs[p.via]]
		if program == nil {
			continue
		}
		if program.Type() == ebpf.PerfEvent {
			if err := p.events.attach(program); err != nil {
				return err
			}
			continue
		}
		l, err := attachAs(p.tracefs, point, program)
		if err == nil {
			p.links = append(p.links, l)
			continue
		}
		if !point.Optional || point.ID == "fork" && p.options.Follow {
			return fmt.Errorf("attaching to %s:%s: %w", point.Group, point.Point, err)
		}
		p.notes = addOnce(p.notes, fmt.Sprintf("%s: %s", point.Without, reason(err)))
	}
	return nil
}

// Facts are what there is to know of the means in use.
func (p *Profile) Facts() Facts {
	facts := Facts{Means: p.via, State: "task_storage", Clock: "monotonic", Notes: slices.Clone(p.notes)}
	if p.kind == ProfileCPU {
		facts.State = "none"
		facts.Notes = append(facts.Notes, p.events.said...)
	} else if p.byHash() {
		facts.State = "hash"
	}
	return facts
}

// Event is what samples come by, and Period is the time between two of one CPU; 0: they do not come by time.
func (p *Profile) Event() string { return p.events.name }

// Period is the time between two samples of one CPU; 0: they do not come by time, or there are none.
func (p *Profile) Period() time.Duration {
	if p.events == nil {
		return 0
	}
	return p.events.period
}

func (p *Profile) byHash() bool {
	return p.collection.Maps["off_storage"] == nil || p.via == RawTP || p.via == TP
}

// Start opens the gate.
func (p *Profile) Start() error {
	p.epoch = 1
	p.times.since()
	return p.open()
}

// open makes what is known of threads void, opens the gate and takes on the threads that are off their CPU.
func (p *Profile) open() error {
	err := errors.Join(p.renew(), p.live(p.options.Silence, 0), p.set("epoch", p.epoch))
	if err != nil || p.walk == nil {
		return err
	}
	return errors.Join(p.set("adopts", true), p.walkAll(), p.set("adopts", false))
}

// renew makes what is known of threads, and of when a CPU was sampled last, void.
func (p *Profile) renew() error {
	p.generation++
	return p.set("generation", p.generation)
}

// walkAll lets threads that are off their CPU pay for the time until now.
func (p *Profile) walkAll() error {
	return readIter(p.walk, make([]byte, walkBuffer), func(b []byte) (int, error) { return len(b), nil })
}

// Heartbeat tells the kernel side that somebody still listens. closed says that it had
// fallen silent, so that nothing was counted, and that it goes on now.
func (p *Profile) Heartbeat() (closed bool, err error) {
	if p.events != nil {
		if err := p.events.follow(p.renew); err != nil {
			return false, err
		}
	}
	if p.options.Silence == 0 {
		return false, nil
	}
	closed, err = p.hasFallenSilent()
	if err := errors.Join(err, p.live(p.options.Silence, 0)); err != nil || !closed {
		return closed, err
	}
	return closed, p.open()
}

// Drain gives *event.Process, *event.Identity and *event.RunQWait in the order in which they were
// made, until the deadline or until it is interrupted.
func (p *Profile) Drain(deadline time.Time, tell func(any)) error {
	return p.object.Drain(deadline, func(record any) {
		if told, ok := record.(*event.Process); ok && told.Event == event.ProcessSeen {
			p.told++
		}
		tell(record)
	})
}

// tellAgain empties the kernel side's table of processes that were told, before it is full.
func (p *Profile) tellAgain() error {
	table := p.collection.Maps["told"]
	if p.told < int(table.MaxEntries())/2 {
		return nil
	}
	p.told = 0
	var pid uint32
	var value []byte
	var pids []uint32
	all := table.Iterate()
	for all.Next(&pid, &value) {
		pids = append(pids, pid)
	}
	for _, pid := range pids {
		if err := table.Delete(pid); err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
			return err
		}
	}
	return nil
}

// SetStacks says whether stacks are taken from now on.
func (p *Profile) SetStacks(on bool) error { return p.set("with_stacks", on) }

// Pause closes the gate.
func (p *Profile) Pause() error { return p.set("epoch", uint32(0)) }

// Follow profiles a thread, by its id in the caller's pid namespace, and all that descends from it.
func (p *Profile) Follow(tid uint32) error { return p.followed(tid, true) }

// Unfollow forgets a thread, not its descendants.
func (p *Profile) Unfollow(tid uint32) error { return p.followed(tid, false) }

func (p *Profile) followed(tid uint32, yes bool) error {
	tid, err := p.globalThread(tid)
	if err != nil {
		return err
	}
	if yes {
		return p.collection.Maps["followed"].Put(tid, uint8(1))
	}
	return p.collection.Maps["followed"].Delete(tid)
}

// Losses are all counts since the start, of what can go missing here.
func (p *Profile) Losses() ([]Loss, error) {
	losses, err := readLosses(p.collection.Maps["losses"], profileLossNames, profileShares...)
	if err != nil {
		return nil, err
	}
	for i := range losses {
		if p.kind == ProfileRunQ && losses[i].ID == "no_wake" {
			losses[i].AtMost = true // it slept for a part of that
		}
	}
	stats, err := p.Stats()
	if err != nil {
		return nil, err
	}
	losses = append(losses, stats.skipped(), Loss{ID: "undecoded", Title: "records not understood", Count: p.undecoded},
		Loss{ID: "stack_gone", Title: "counted without a stack: it was gone when it was read", Count: p.stacks.gone, NS: p.stacks.goneNS})
	if p.events == nil {
		return losses, nil
	}
	missed, err := p.missed()
	return append(append(losses, missed), p.events.losses()...), err
}

// missed are samples that should have been taken, on all CPUs.
func (p *Profile) missed() (Loss, error) {
	l := Loss{ID: "samples_late", Title: "samples that did not come in time"}
	var now []profileProfCpu
	if err := p.collection.Maps["cpus"].Lookup(uint32(0), &now); err != nil {
		return l, fmt.Errorf("reading the counts of CPUs: %w", err)
	}
	for i := range now {
		l.Count += now[i].Missed
		l.NS += now[i].GapNs
	}
	return l, nil
}

// Stats is what the programs cost in the kernel, since they were loaded.
func (p *Profile) Stats() (RunStats, error) {
	return statsOf(slices.Collect(maps.Values(p.collection.Programs)))
}

// Detach takes everything out of the kernel's way; what was counted can still be read.
func (p *Profile) Detach() error {
	var err error
	if p.events != nil {
		err = p.events.close()
	}
	return errors.Join(err, p.detach())
}

// Close detaches and frees everything. It may be called more than once.
func (p *Profile) Close() error {
	errs := []error{p.Detach()}
	if p.walk != nil {
		errs = append(errs, p.walk.Close())
		p.walk = nil
	}
	if p.tracefs != nil {
		p.tracefs.Close()
		p.tracefs = nil
	}
	return errors.Join(append(errs, p.close())...)
}
