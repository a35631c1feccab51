// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/rlimit"

	"github.com/iowitness/iowitness/event"
)

// RequestOptions is which block requests to witness, and how. The zero value of a
// field means its default, or no filter.
type RequestOptions struct {
	Records            bool // tell each request: else only sums
	Sums               bool // sum requests up in the kernel
	Waits              bool // tell the thread whose wait a completion ends
	NoFiles            bool // do without files, and without who dirtied them
	UnchargedWriteback bool // cgroups are of a version under which writeback is not charged to whoever dirtied it

	Dev         event.Dev     // only this partition or disk
	PIDs        []uint32      // only of these owners, as the caller's pid namespace numbers them
	Ops         []uint8       // only these operations, such as event.OpRead
	MinTime     time.Duration // only requests that took so long in all
	MinBytes    uint64
	IncludeSelf bool

	RingBytes uint32        // default 8 MiB
	Budget    uint32        // records per CPU and interval; default 20,000
	Lives     uint32        // requests under way that are followed at once, at least; default 16,384
	SumsMax   uint32        // distinct sums, at least; default 4,096
	Silence   time.Duration // without a heartbeat for this long the kernel side does no work; 0: never mind

	FDArguments [512]uint8 // by system call: which argument is the file's descriptor, from 1
	BTF         string     // file with the kernel's BTF
	Via         Means      // tp_btf or raw_tp; default the best
	Address     func(symbol string) (uint64, bool)

	lifeSlots, sumSlots uint32 // powers of two; what finds no slot goes to a hash
}

func (o *RequestOptions) fill() {
	for _, d := range []struct {
		to *uint32
		by uint32
	}{{&o.RingBytes, 8 << 20}, {&o.Budget, 20000}, {&o.Lives, 16384}, {&o.SumsMax, 4096}, {&o.lifeSlots, 8192}, {&o.sumSlots, 1024}} {
		if *d.to == 0 {
			*d.to = d.by
		}
	}
}

// Requests is the witness of block requests. It is not safe for concurrent use,
// but for Interrupt.
type Requests struct {
	object
	means    Means
	notes    []string
	options  RequestOptions
	epoch    uint32
	statuses bool // errors are blk_status_t
}

var requestMeans = []Means{TPBTF, RawTP}

// OpenRequests loads the witness and attaches it, with its gate still closed. An
// error that wraps ErrUnsupported says what is missing.
func OpenRequests(o RequestOptions) (*Requests, error) {
	o.fill()
	_ = rlimit.RemoveMemlock()
	types, own, err := kernelBTF(o.BTF)
	if err != nil {
		return nil, err
	}
	means := requestMeans
	if o.Via != "" {
		means = []Means{o.Via}
	}
	var refused refusals
	for _, via := range means {
		w, err := loadRequests(o, via, types, own)
		if err == nil {
			return w, nil
		}
		if pid := new(PIDError); errors.As(err, &pid) {
			return nil, err
		}
		refused.add(via, err)
	}
	return nil, fmt.Errorf("block requests: %w: %s", ErrUnsupported, &refused)
}

func loadRequests(o RequestOptions, via Means, types *btf.Spec, own bool) (_ *Requests, err error) {
	spec, err := loadBlock()
	if err != nil {
		return nil, err
	}
	if via != TPBTF && via != RawTP {
		return nil, fmt.Errorf("requests are witnessed by %v only", requestMeans)
	}
	w := &Requests{means: via, options: o, statuses: isStatus(types)}
	defer func() {
		if err != nil {
			w.Close()
		}
	}()
	chosen := w.choose(spec, types, own)
	if err := w.configure(spec, types); err != nil {
		return nil, err
	}
	w.collection, err = ebpf.NewCollectionWithOptions(spec, ebpf.CollectionOptions{Programs: ebpf.ProgramOptions{KernelTypes: types}})
	if err != nil {
		return nil, err
	}
	if err := w.openResolve(); err != nil {
		return nil, err
	}
	if err := errors.Join(w.filterProcesses(o.PIDs), w.openRing()); err != nil {
		return nil, err
	}
	return w, w.attach(chosen)
}

// chosenProbe is a probe as it is on this kernel.
type chosenProbe struct {
	Probe
	point, program string
}

// choose leaves only the programs that this kernel and these options call for. Where the kernel has
// type information of its own it also iterates over threads.
func (w *Requests) choose(spec *ebpf.CollectionSpec, types *btf.Spec, own bool) (chosen []chosenProbe) {
	keep := map[string]bool{resolveProgram: own}
	for _, p := range RequestTable {
		if p.Joins && !w.options.Waits || p.ID == "dirty" && w.options.NoFiles {
			continue
		}
		c := chosenProbe{p, p.Point, p.Programs[w.means]}
		if p.Until != "" && tracepointParams(types, p.Point) == nil {
			c.point, c.program = p.Until, p.Older[w.means]
		}
		if p.Optional && tracepointParams(types, c.point) == nil {
			w.notes = append(w.notes, fmt.Sprintf("%s:%s is not there: %s", p.Group, c.point, p.Without))
			continue
		}
		chosen = append(chosen, c)
		keep[c.program] = true
	}
	for name := range spec.Programs {
		if !keep[name] {
			delete(spec.Programs, name)
		}
	}
	return chosen
}

// configure writes the options into the programs' constants.
func (w *Requests) configure(spec *ebpf.CollectionSpec, types *btf.Spec) error {
	o := &w.options
	var ops uint32
	for _, op := range o.Ops {
		ops |= 1 << (op & 31)
	}
	for name, value := range map[string]any{
		"typed": w.means == TPBTF, "bio_comes_second": comesSecond(types, "block_getrq"), "rq_comes_second": comesSecond(types, "block_rq_issue"),
		"with_records": o.Records, "with_sums": o.Sums, "with_files": !o.NoFiles, "with_waits": o.Waits && o.Records, "charges_writeback": !o.UnchargedWriteback,
		"io_budget": o.Budget, "filter_dev": uint32(o.Dev), "filter_ops": ops, "filter_ns": uint64(max(o.MinTime, 0)), "filter_bytes": o.MinBytes,
		"life_slots": o.lifeSlots, "sum_slots": o.sumSlots,
		"filter_tgid": len(o.PIDs) > 0, "include_self": o.IncludeSelf, "fd_argument": o.FDArguments,
	} {
		v, ok := spec.Variables[name]
		if !ok {
			return fmt.Errorf("the kernel side has no setting %s", name)
		}
		if err := v.Set(value); err != nil {
			return fmt.Errorf("setting %s: %w", name, err)
		}
	}
	if o.Address != nil {
		if at, ok := o.Address("iomap_dio_bio_end_io"); ok {
			if err := spec.Variables["iomap_dio_bio_end_io"].Set(at); err != nil {
				return err
			}
		}
	}
	spec.Maps["records"].MaxEntries = o.RingBytes
	spec.Maps["lives"].MaxEntries, spec.Maps["spilled_lives"].MaxEntries = o.lifeSlots, o.Lives
	spec.Maps["slot_sums"].MaxEntries, spec.Maps["sums"].MaxEntries = o.sumSlots, o.SumsMax
	return nil
}

func (w *Requests) attach(chosen []chosenProbe) error {
	for _, c := range chosen {
		l, err := w.attachOne(c)
		if err != nil && !c.Optional {
			return fmt.Errorf("attaching to %s:%s: %w", c.Group, c.point, err)
		}
		if err != nil {
			w.notes = append(w.notes, fmt.Sprintf("%s:%s cannot be witnessed (%s): %s", c.Group, c.point, reason(err), c.Without))
			continue
		}
		w.links = append(w.links, l)
	}
	return nil
}

func (w *Requests) attachOne(c chosenProbe) (io.Closer, error) {
	program := w.collection.Programs[c.program]
	if w.means == TPBTF {
		return link.AttachTracing(link.TracingOptions{Program: program})
	}
	return link.AttachRawTracepoint(link.RawTracepointOptions{Name: c.point, Program: program})
}

// Means is the one in use; Notes say in sentences what cannot be told here.
func (w *Requests) Means() Means    { return w.means }
func (w *Requests) Notes() []string { return w.notes }

// Start opens the gate.
func (w *Requests) Start() error {
	w.epoch = 1
	return errors.Join(w.live(w.options.Silence, 0), w.set("epoch", w.epoch))
}

// SetRatio says that of the requests one in so many is told from now on; sums stay whole.
func (w *Requests) SetRatio(ratio uint32) error { return w.set("io_ratio", max(ratio, 1)) }

// Pause closes the gate. Requests under way are completed unseen.
func (w *Requests) Pause() error { return w.set("epoch", uint32(0)) }

// NextEpoch renews the budget of records.
func (w *Requests) NextEpoch() error {
	if w.epoch++; w.epoch == 0 {
		w.epoch = 1
	}
	var open uint32
	if err := w.collection.Variables["epoch"].Get(&open); err != nil || open == 0 {
		return err
	}
	return w.set("epoch", w.epoch)
}

// Heartbeat tells the kernel side that somebody still listens, and opens the gate again
// if it closed for want of one, which closed says.
func (w *Requests) Heartbeat() (closed bool, err error) {
	if w.options.Silence == 0 {
		return false, nil
	}
	closed, err = w.hasFallenSilent()
	err = errors.Join(err, w.live(w.options.Silence, 0))
	if closed {
		err = errors.Join(err, w.set("epoch", w.epoch))
	}
	return closed, err
}

// Drain gives *event.IO, *event.IOWait and *event.File in the order in which they
// were made, until the deadline or until it is interrupted.
func (w *Requests) Drain(deadline time.Time, tell func(any)) error {
	return w.object.Drain(deadline, func(record any) {
		if o, ok := record.(*event.IO); ok {
			o.Error = w.errno(o.Error, o.Flags)
		}
		tell(record)
	})
}

// Detach takes everything out of the kernel's way; sums and counts can still be read.
func (w *Requests) Detach() error { return w.detach() }

// Close detaches and frees everything. It may be called more than once.
func (w *Requests) Close() error { return w.close() }
