// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/features"
	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/rlimit"

	"github.com/iowitness/iowitness/kernel"
	"github.com/iowitness/iowitness/spelling"
)

// KprobeMulti witnesses entry and return of many functions by one probe.
const KprobeMulti Means = "kprobe_multi"

// callMeans are the means of witnessing calls by BPF, best first.
var callMeans = []Means{Fexit, KprobeMulti, Kretprobe}

// ParseCallMeans reads the id of a means of witnessing calls.
func ParseCallMeans(id string) (Means, error) {
	if slices.Contains(allCallMeans, Means(id)) {
		return Means(id), nil
	}
	return "", spelling.Unknown("calls of functions are not witnessed by", id, meansIDs(allCallMeans))
}

// ErrCallsUnsupported is wrapped by errors that say that this kernel, or these
// privileges, cannot witness calls of functions.
var ErrCallsUnsupported = errors.New("calls of functions cannot be witnessed here")

// CallBy is what calls are summed up by, beside the function and the fields that are keys.
type CallBy struct{ Process, Thread, CPU, Comm, Cgroup, Stack bool }

// CallOptions is what to witness. The zero value of a field means its default, or no filter.
type CallOptions struct {
	By       CallBy
	KeyWords uint32        // of the fields, those in the first so many words are keys
	Sums     bool          // sum up in the kernel
	Records  bool          // tell single calls
	Stacks   bool          // with their stacks
	Lean     func() error  // called before a means that reads no memory: it leaves out of the programs what nobody has asked for; nil: nothing
	Slower   time.Duration // only calls that took so long
	Budget   uint32        // single calls told in a second; default 1,000
	Ratio    uint32        // one call in so many is measured; default 1
	Inside   bool          // only calls within one of a root function, and that
	Returns  bool          // only returns are witnessed: no times, but less cost
	UsesComm bool          // a filter or field asks for the thread's name

	// Errors has only what fails told: system calls, with the errors that functions returned
	// within, and signals that end their receivers. Without a function that can be probed it
	// does with system calls and signals. Attaching to functions ends after Within; 0: never.
	Errors bool
	Within time.Duration

	PIDs        []uint32 // only these processes, as the caller's pid namespace numbers them
	Comm        string   // only threads of this name, up to 15 bytes
	Cgroup      Cgroup
	Follow      bool // only threads given to Follow and their descendants
	IncludeSelf bool
	Silence     time.Duration // without a heartbeat for this long the kernel side does no work; 0: never mind
	Via         Means
	MaxActive   int         // calls of a function that may be under way at once, for return probes; 0: by the number of CPUs
	Cancelled   func() bool // asked while much is attached one after the other; nil: never
	OneByOne    func(n int) // told when so many functions begin to be attached one after the other, which takes long; nil: nobody
	RingBytes   uint32      // a power of two; default 2 MiB
	hash        bool        // as on a kernel without task storage: for tests
}

// Calls witnesses calls of functions, from Start to Close. It is not safe for
// concurrent use, but for Interrupt.
type Calls struct {
	object
	via      Means
	options  CallOptions
	targets  []*CallTarget // by number; those that could not be probed are nil
	notes    []string
	programs []*ebpf.Program // copies for single functions
	missed   []func() (uint64, bool)
	resolve  *link.Iter
	epoch    uint32
	gen      uint32
	keyed    bool // sums are by more than the function
	shared   bool // of return probes one program serves all functions, by cookies
	outBytes uint32
	spec     *ebpf.CollectionSpec // of all programs, from which copies are made
}

// OpenCalls loads the witness and attaches it, with its gate still closed. Where a means cannot
// probe each of a few functions, as fexit those of more than six arguments before Linux 6.6, the one
// that can probe most of them is taken. An error that wraps ErrCallsUnsupported says what is missing.
func OpenCalls(find *CallTargets, targets []*CallTarget, o CallOptions) (*Calls, error) {
	_ = rlimit.RemoveMemlock()
	removeLeftovers()
	var refused refusals
	if o.Errors && len(targets) == 0 {
		w, err := loadCalls(find, nil, o, RawTP)
		if err != nil && !errors.As(err, new(*PIDError)) {
			refused.add(RawTP, err)
			err = fmt.Errorf("%w: %s", ErrCallsUnsupported, &refused)
		}
		return w, err
	}
	var best *Calls
	for _, via := range o.order(targets) {
		w, err := loadCalls(find, targets, o, via)
		switch pid := new(PIDError); {
		case err == nil && best == nil:
			best = w
		case err == nil && w.unprobed() < best.unprobed():
			best.Close()
			best = w
		case err == nil:
			w.Close()
		case errors.As(err, &pid) || errors.Is(err, ErrCancelled):
			if best != nil {
				best.Close()
			}
			return nil, err
		default:
			refused.add(via, err)
		}
		if best != nil && (best.unprobed() == 0 || len(targets) > oneByOne) {
			return best, nil
		}
	}
	if best != nil {
		return best, nil
	}
	unsupported := fmt.Errorf("%w: %s", ErrCallsUnsupported, &refused)
	if !o.Errors || o.Via != "" {
		return nil, unsupported
	}
	w, err := loadCalls(find, nil, o, RawTP)
	if err != nil {
		return nil, errors.Join(unsupported, err)
	}
	w.notes = append(w.notes, fmt.Sprintf("which function first returned an error is not told: no function can be probed here (%s)", &refused))
	return w, nil
}

// hasCookies says whether a program can be told for which probe it runs (from 5.15).
func hasCookies() bool { return features.HaveProgramHelper(ebpf.Kprobe, asm.FnGetAttachCookie) == nil }

// unprobed is how many functions could not be probed.
func (w *Calls) unprobed() (n int) {
	for _, t := range w.targets {
		if t == nil {
			n++
		}
	}
	return n
}

// oneByOne is how many functions are probed each with programs of its own where one
// probe could serve all.
const oneByOne = 24

// order is in which order the means are tried: of many functions by what they take to attach. A kernel that may be preempted within a
// program of fexit leaves out runs, so that a call may be taken for the next one: it goes last.
func (o *CallOptions) order(targets []*CallTarget) []Means {
	if o.Via != "" {
		return []Means{o.Via}
	}
	if o.Errors { // of functions of which there are two of one name return probes have neither
		return []Means{KprobeMulti, Fexit, Kretprobe}
	}
	means := slices.Clone(callMeans)
	if kernel.Preemption("/") != kernel.Off {
		means = []Means{Kretprobe, KprobeMulti, Fexit}
	}
	if len(targets) > oneByOne {
		return []Means{KprobeMulti, Kretprobe, Fexit}
	}
	return means
}

func haveOwnCode(targets []*CallTarget) bool {
	return slices.ContainsFunc(targets, func(t *CallTarget) bool { return t.Program != nil })
}

func loadCalls(find *CallTargets, targets []*CallTarget, o CallOptions, via Means) (_ *Calls, err error) {
	w := &Calls{via: via, options: o, targets: slices.Clone(targets), gen: 1}
	w.shared = via == Kretprobe && len(targets) > oneByOne && hasCookies()
	if o.Errors && via != Kretprobe {
		w.targets = traceable(w.targets)
	}
	if w.spec, err = loadCall(); err != nil {
		return nil, err
	}
	if find.types == nil {
		return nil, errors.New("the kernel has no BTF type information (CONFIG_DEBUG_INFO_BTF): give a file with it by --btf")
	}
	defer func() {
		if err != nil {
			w.Close()
		}
	}()
	if err := w.configure(find.types); err != nil {
		return nil, err
	}
	if err := w.loadBase(find); err != nil {
		return nil, err
	}
	if via == Fexit && !o.Returns && !o.Errors && kernel.Preemption("/") != kernel.Off {
		w.notes = append(w.notes, "this kernel may leave out single runs of these programs, being preemptible: a call whose entry was left out may then be taken for the one before it (missed_run counts them); --via kretprobe does not have that")
	}
	switch via {
	case RawTP:
		return w, nil
	case KprobeMulti:
		return w, w.attachMulti()
	}
	return w, w.attachEach(find)
}

func (w *Calls) configure(types *btf.Spec) error {
	o := &w.options
	w.outBytes = 8
	for _, t := range w.targets {
		if t.Program != nil {
			w.outBytes = max(w.outBytes, uint32(t.Program.Size+7)&^7)
		}
	}
	w.keyed = o.By != (CallBy{}) || o.KeyWords > 0
	var layout *btf.Struct
	if err := w.spec.Types.TypeByName("call_record", &layout); err != nil {
		return err
	}
	record := layout.Size + w.outBytes // then fields, then a stack
	if o.Stacks {
		record += 48 * 8
	}
	if o.Budget == 0 {
		o.Budget = 1000
	}
	subsystems := subsystemIDs(types)
	subsystem, known := subsystems[o.Cgroup.Controller]
	if !known && o.Cgroup.Controller != "" {
		return fmt.Errorf("the kernel does not tell threads' cgroups in the hierarchy of the controller %s", o.Cgroup.Controller)
	}
	if err := setAll(w.spec, map[string]any{
		"storage_by_hash": o.hash || !hasTaskStorage(types), "out_bytes": w.outBytes, "record_bytes": record, "key_words": o.KeyWords,
		"serves_all": w.shared, "has_code": haveOwnCode(w.targets), "has_keys": w.keyed,
		"wants_comm": o.UsesComm, "by_process": o.By.Process, "by_thread": o.By.Thread, "by_cpu": o.By.CPU, "by_comm": o.By.Comm,
		"by_cgroup": o.By.Cgroup, "by_stack": o.By.Stack, "sums_up": o.Sums, "tells_calls": o.Records, "tells_stacks": o.Stacks,
		"slower_ns": uint64(max(o.Slower, 0)), "budget": o.Budget, "only_inside": o.Inside,
		"include_self": o.IncludeSelf, "filter_tgid": len(o.PIDs) > 0, "filter_follow": o.Follow, "filter_comm": o.Comm != "",
		"path_arguments": pathArguments(o.Errors), "wanted_comm": commBytes(o.Comm), "filter_cgroup": o.Cgroup.ID, "filter_subsystem": subsystem, "v1_subsystems": v1Hierarchies(subsystems),
	}); err != nil {
		return err
	}
	w.spec.Maps["balances"].MaxEntries = uint32(max(len(w.targets), 1))
	w.spec.Maps["roots"].MaxEntries = uint32(max(len(w.targets), 1))
	if !w.keyed {
		w.spec.Maps["function_sums"].MaxEntries = uint32(max(len(w.targets), 1))
	}
	w.spec.Maps["outs"].ValueSize, w.spec.Maps["empty_out"].ValueSize = w.outBytes, w.outBytes
	if w.outBytes < frameBytes {
		w.spec.Maps["outs"].ValueSize, w.spec.Maps["empty_out"].ValueSize = frameBytes, frameBytes
	}
	if o.RingBytes > 0 {
		w.spec.Maps["records"].MaxEntries = o.RingBytes
	}
	if o.hash || !hasTaskStorage(types) {
		replaceTaskStorage(w.spec)
	}
	return nil
}

// frameBytes of fields have room in a call's frame: FRAME_WORDS of bpf/call.h.
const frameBytes = 72

// returnProgram is the one at functions' returns.
func (o *CallOptions) returnProgram(via Means) string {
	switch {
	case o.Errors:
		return map[Means]string{Fexit: "error_fexit", Kretprobe: "error_kretprobe", KprobeMulti: "error_multi"}[via]
	case o.Returns:
		return map[Means]string{Fexit: "return_fexit", Kretprobe: "return_kretprobe", KprobeMulti: "return_multi"}[via]
	}
	return map[Means]string{Fexit: "call_fexit", Kretprobe: "call_kretprobe", KprobeMulti: "call_ret_multi"}[via]
}

// entryProgram is "" where entries are not witnessed.
func (o *CallOptions) entryProgram(via Means) string {
	if o.Returns || o.Errors {
		return ""
	}
	return map[Means]string{Fexit: "call_fentry", Kretprobe: "call_kprobe", KprobeMulti: "call_multi"}[via]
}

// followPoints are the tracepoints of threads of a command, by program.
var followPoints = map[string]string{"call_fork": "sched_process_fork", "call_exec": "sched_process_exec", "call_exit": "sched_process_exit"}

// errorPoints are the tracepoints of what fails, by program.
var errorPoints = map[string]string{"error_signal": "signal_generate", "error_death": "sched_process_exit"}

// loadBase loads the maps and what serves all functions.
func (w *Calls) loadBase(find *CallTargets) (err error) {
	base := w.spec.Copy()
	keep := map[string]bool{resolveProgram: true, "call_free": true}
	if w.via == KprobeMulti {
		keep[w.options.returnProgram(w.via)], keep[w.options.entryProgram(w.via)] = true, true
	}
	for name := range followPoints {
		keep[name] = w.options.Follow
	}
	for name := range errorPoints {
		keep[name] = w.options.Errors
	}
	for _, via := range w.syscallMeans() {
		for _, p := range syscallPoints {
			keep[p.Programs[via]] = true
		}
	}
	for name, program := range base.Programs {
		switch {
		case !keep[name]:
			delete(base.Programs, name)
		case w.via == KprobeMulti:
			if err := serveAll(program, w.targets); err != nil {
				return err
			}
		}
	}
	options := find.collectionOptions(nil)
	if w.collection, err = ebpf.NewCollectionWithOptions(base, options); err != nil {
		return err
	}
	for number, t := range w.targets {
		if t.Root {
			if err := w.collection.Maps["roots"].Put(uint32(number), uint8(1)); err != nil {
				return err
			}
		}
	}
	if w.resolve, err = link.AttachIter(link.IterOptions{Program: w.collection.Programs[resolveProgram]}); err != nil {
		return fmt.Errorf("iterating over threads: %w", err)
	}
	if err := wantPIDs(w.collection.Maps["wanted_tgids"], w.resolve, w.options.PIDs); err != nil {
		return err
	}
	seen, err := resolveIDs(w.resolve)
	if err != nil {
		return err
	}
	self := uint32(os.Getpid())
	if global, ok := seen.tgid[self]; ok {
		self = global
	}
	if err := errors.Join(w.set("self_tgid", self), w.openRing()); err != nil {
		return err
	}
	return w.attachThreads()
}

func (w *Calls) attachThreads() error {
	points := map[string]string{"call_free": "sched_process_free"}
	maps.Copy(points, followPoints)
	maps.Copy(points, errorPoints)
	for program, point := range points {
		if p := w.collection.Programs[program]; p != nil {
			l, err := link.AttachRawTracepoint(link.RawTracepointOptions{Name: point, Program: p})
			if err != nil {
				return fmt.Errorf("attaching to the tracepoint %s: %w", point, err)
			}
			w.links = append(w.links, l)
		}
	}
	return w.attachSyscalls()
}

// Means is the one in use; Notes say in sentences what cannot be told here.
func (w *Calls) Means() Means    { return w.via }
func (w *Calls) Notes() []string { return w.notes }

// Targets are the functions by their number; nil: it could not be probed.
func (w *Calls) Targets() []*CallTarget { return w.targets }

// Start opens the gate.
func (w *Calls) Start() error {
	w.epoch = 1
	return errors.Join(w.set("generation", w.gen), w.set("ratio", max(w.options.Ratio, 1)),
		w.live(w.options.Silence, 0), w.set("epoch", w.epoch))
}

// Pause closes the gate: calls under way are given up.
func (w *Calls) Pause() error { return w.set("epoch", uint32(0)) }

// Resume opens the gate again; what was under way is void.
func (w *Calls) Resume() error {
	w.gen++
	return errors.Join(w.set("generation", w.gen), w.set("epoch", w.epoch))
}

// NextEpoch renews the budget of records.
func (w *Calls) NextEpoch() error {
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
func (w *Calls) Heartbeat() (closed bool, err error) {
	if w.options.Silence == 0 {
		return false, nil
	}
	closed, err = w.hasFallenSilent()
	err = errors.Join(err, w.live(w.options.Silence, 0))
	if closed {
		err = errors.Join(err, w.Resume())
	}
	return closed, err
}

// SetDetail says how finely to witness from now on.
func (w *Calls) SetDetail(d Detail) error {
	return errors.Join(w.set("with_stacks", d.Stacks), w.set("ratio", max(d.Ratio, 1)))
}

// Follow has a thread and its descendants witnessed; Unfollow takes it out again.
func (w *Calls) Follow(tid uint32) error   { return w.follow(tid, true) }
func (w *Calls) Unfollow(tid uint32) error { return w.follow(tid, false) }

func (w *Calls) follow(tid uint32, on bool) error {
	r, err := resolveIDs(w.resolve)
	if err != nil {
		return err
	}
	global, ok := r.tid[tid]
	switch {
	case !ok:
		return fmt.Errorf("there is no thread with id %d", tid)
	case on:
		return w.collection.Maps["followed"].Put(global, uint8(1))
	}
	return w.collection.Maps["followed"].Delete(global)
}

// Detach takes everything out of the kernel's way; sums and counts can still be read.
func (w *Calls) Detach() error { return w.detach() }

// Stats is what the programs cost in the kernel, since they were loaded.
func (w *Calls) Stats() (RunStats, error) {
	return statsOf(w.allPrograms())
}

// Close detaches and frees everything. It may be called more than once.
func (w *Calls) Close() error {
	var errs []error
	closers := []io.Closer{}
	if w.resolve != nil {
		closers = append(closers, w.resolve)
		w.resolve = nil
	}
	errs = append(errs, w.close())
	for _, p := range w.programs {
		closers = append(closers, p)
	}
	w.programs = nil
	for _, c := range closers {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}
