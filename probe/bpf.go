// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"

	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/tracefs"
)

// bpfWitness is the kernel side in BPF, loaded and attached.
type bpfWitness struct {
	object
	means          Means
	byHash         bool // the threads' state is in a hash by thread id, not in task storage
	schedulerClock bool // instants are by the scheduler's clock, not CLOCK_MONOTONIC
	notes          []string

	options    *Options
	tracefs    *tracefs.FS
	calls      calls
	walk       *link.Iter
	epoch      uint32
	generation uint32
	buf        []byte
}

// openBPF loads the kernel side by one means and attaches it.
func openBPF(o *Options, via Means, types *btf.Spec, own bool) (Witness, error) {
	w, err := loadBy(o, via, types, own)
	if err != nil {
		return nil, err
	}
	if err := w.openRing(); err != nil {
		w.Close()
		return nil, err
	}
	if err := wantPIDs(w.collection.Maps["wanted_tgids"], w.resolve, o.PIDs); err != nil {
		w.Close()
		return nil, err
	}
	return w, nil
}

func (w *bpfWitness) Options() Options { return *w.options }

func (w *bpfWitness) Facts() Facts {
	f := Facts{Means: w.means, State: "task_storage", Clock: "monotonic", Notes: w.notes}
	f.Joins = slices.Contains(byTracepoints, w.means)
	f.RunQueueInside = w.means == Fexit || w.means == Kretprobe
	if w.byHash {
		f.State = "hash"
	}
	if w.schedulerClock {
		f.Clock = "scheduler"
	}
	return f
}

func (w *bpfWitness) Start(tell func(*event.Tally)) error {
	w.epoch = 1
	return w.Resume(tell)
}

// Resume opens the gate. What is known of waits under way is from before, and void.
func (w *bpfWitness) Resume(tell func(*event.Tally)) error {
	w.generation++
	if err := errors.Join(w.set("generation", w.generation), w.set("hints", make([]uint32, hints)), w.set("walk_mode", walkAdopts), w.live()); err != nil {
		return err
	}
	if err := w.set("epoch", w.epoch); err != nil {
		return err
	}
	_, err := w.walkAll(tell)
	return errors.Join(err, w.set("walk_mode", uint32(0)), w.live())
}

func (w *bpfWitness) Pause() error {
	var open uint64
	if err := w.collection.Variables["walk_open"].Get(&open); err != nil {
		return err
	}
	w.calls.givenUp += open
	return w.set("epoch", uint32(0))
}

func (w *bpfWitness) Heartbeat() (closed bool, err error) {
	if w.options.Silence == 0 {
		return false, nil
	}
	if closed, err = w.hasFallenSilent(); err != nil {
		return false, err
	}
	return closed, w.live()
}

// live puts off the instant when the gate closes by itself.
func (w *bpfWitness) live() error {
	if w.options.Silence == 0 {
		return nil
	}
	var offset uint64
	if w.schedulerClock {
		if err := w.collection.Variables["walk_offset"].Get(&offset); err != nil {
			return err
		}
		if offset == 0 {
			return nil // no walk has compared the clocks yet
		}
	}
	return w.object.live(w.options.Silence, offset)
}

func (w *bpfWitness) SetDetail(d Detail) error {
	return errors.Join(w.set("with_sites", d.Stacks), w.set("ratio", max(d.Ratio, 1)))
}

func (w *bpfWitness) NextEpoch() (closed uint32, err error) {
	closed = w.epoch
	if w.epoch++; w.epoch == 0 {
		w.epoch = 1
	}
	return closed, w.set("epoch", w.epoch)
}

// As in bpf/state.h and bpf/walk.h.
const (
	hints      = 4096
	walkAdopts = uint32(1)
)

// addresses are the kernel symbols that the kernel side makes use of: the
// function by which it finds the folio that a thread waits for, and the bounds of
// the scheduler's functions.
var addresses = []string{"wake_page_function", "__sched_text_start", "__sched_text_end"}

func (w *bpfWitness) SetAddresses(address func(symbol string) (uint64, bool)) error {
	for _, symbol := range addresses {
		if value, ok := address(symbol); ok {
			if err := w.set(strings.TrimPrefix(symbol, "__"), value); err != nil {
				return err
			}
		}
	}
	var functions [64]uint64
	for i, f := range Functions {
		if names := symbols()[f.Name]; len(names) > 0 {
			functions[i], _ = address(names[0])
		}
	}
	return w.set("function_address", functions)
}

func (w *bpfWitness) Clock() (uint64, error) {
	if w.walk == nil {
		return monotonic()
	}
	var now uint64
	return now, w.collection.Variables["walk_now"].Get(&now)
}

func monotonic() (uint64, error) {
	var now unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now)
	return uint64(now.Nano()), err
}

func (w *bpfWitness) Walk(tell func(*event.Tally)) error {
	_, err := w.walkAll(tell)
	return err
}

func (w *bpfWitness) walkAll(tell func(*event.Tally)) (n int, err error) {
	if w.walk == nil {
		return w.walkHash(tell)
	}
	// The walk takes the scheduler's clock from this CPU's run queue: let it be read now.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	unix.Syscall(unix.SYS_SCHED_YIELD, 0, 0, 0)
	if w.buf == nil {
		w.buf = make([]byte, walkBuffer)
	}
	err = readIter(w.walk, w.buf, func(b []byte) (int, error) {
		record, size, err := event.Decode(b)
		if err != nil {
			return 0, err
		}
		if t, ok := record.(*event.Tally); ok {
			n++
			tell(t)
		}
		return size, nil
	})
	return n, err
}

const walkBuffer = 64 << 10

// readIter runs an iterator and cuts what it writes into records; each returns its size.
func readIter(iter *link.Iter, buf []byte, record func([]byte) (int, error)) error {
	r, err := iter.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	rest := 0
	for {
		n, err := r.Read(buf[rest:])
		if n == 0 && (err == nil || errors.Is(err, io.EOF)) {
			break
		}
		if err != nil {
			return fmt.Errorf("walking over threads: %w", err)
		}
		b := buf[:rest+n]
		for len(b) > 0 {
			size, err := record(b)
			if err != nil {
				break // cut by the buffer's end: the rest follows
			}
			b = b[size:]
		}
		rest = copy(buf, b)
		if rest == len(buf) {
			return fmt.Errorf("walking over threads: %w", event.ErrRecord)
		}
	}
	if rest > 0 {
		return fmt.Errorf("walking over threads: %d bytes left: %w", rest, event.ErrRecord)
	}
	return nil
}

// walkHash reads the threads' states from user space, where no iterator can be had.
func (w *bpfWitness) walkHash(tell func(*event.Tally)) (n int, err error) {
	now, err := monotonic()
	if err != nil {
		return 0, err
	}
	var tid uint32
	var value []byte
	states := w.collection.Maps["thread_hash"].Iterate()
	for states.Next(&tid, &value) {
		t, err := event.DecodeThreadWait(value, now)
		if err != nil {
			return n, err
		}
		if t.TID != 0 {
			n++
			tell(t)
		}
	}
	return n, states.Err()
}

func (w *bpfWitness) Detach() error {
	return errors.Join(w.calls.detach(), w.detach())
}

func (w *bpfWitness) Close() error {
	errs := []error{w.Detach(), w.calls.close()}
	if w.walk != nil {
		errs = append(errs, w.walk.Close())
		w.walk = nil
	}
	errs = append(errs, w.close())
	if w.tracefs != nil {
		w.tracefs.Close()
		w.tracefs = nil
	}
	return errors.Join(errs...)
}
