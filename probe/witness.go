// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/ringbuf"
	"golang.org/x/sys/unix"

	"github.com/iowitness/iowitness/event"
)

// Witness is the loaded and attached kernel side. It is not safe for concurrent use.
type Witness struct {
	Means  Means
	ByHash bool // the threads' state is in a hash by thread id, not in task storage
	// SchedulerClock says that instants are by the scheduler's clock, not CLOCK_MONOTONIC.
	SchedulerClock bool
	Notes          []string // what cannot be witnessed here, in sentences

	options    *Options
	collection *ebpf.Collection
	tracefs    *tracefs
	links      []io.Closer
	walk       *link.Iter
	resolve    *link.Iter
	ring       *ringbuf.Reader
	epoch      uint32
	record     ringbuf.Record
	buf        []byte
	undecoded  uint64
}

// Open loads the kernel side and attaches it, with its gate still closed: nothing
// is witnessed before Start. An error that wraps ErrUnsupported says what is missing.
func Open(o Options) (*Witness, error) {
	o.fill()
	w, err := load(&o)
	if err != nil {
		return nil, err
	}
	if w.ring, err = ringbuf.NewReader(w.collection.Maps["records"]); err != nil {
		w.Close()
		return nil, err
	}
	if err := w.wantPIDs(o.PIDs); err != nil {
		w.Close()
		return nil, err
	}
	return w, nil
}

// Options are those in force, defaults filled in.
func (w *Witness) Options() Options { return *w.options }

// Start opens the gate, and tells the waits that are already in progress.
func (w *Witness) Start(tell func(*event.Tally)) error {
	w.epoch = 1
	if err := w.set("walk_mode", uint32(1)); err != nil {
		return err
	}
	if err := w.set("epoch", w.epoch); err != nil {
		return err
	}
	_, err := w.walkAll(tell)
	return errors.Join(err, w.set("walk_mode", uint32(0)))
}

// NextEpoch closes an interval and returns its number, by which event.Max tells
// the longest wait of an interval.
func (w *Witness) NextEpoch() (closed uint32, err error) {
	closed = w.epoch
	if w.epoch++; w.epoch == 0 {
		w.epoch = 1
	}
	return closed, w.set("epoch", w.epoch)
}

// addresses are the kernel symbols that the kernel side makes use of: the
// function by which it finds the folio that a thread waits for, and the bounds of
// the scheduler's functions.
var addresses = []string{"wake_page_function", "__sched_text_start", "__sched_text_end"}

// SetAddresses tells the kernel side the addresses of some kernel symbols.
// Without them, fewer files and causes are found.
func (w *Witness) SetAddresses(address func(symbol string) (uint64, bool)) error {
	for _, symbol := range addresses {
		if value, ok := address(symbol); ok {
			if err := w.set(strings.TrimPrefix(symbol, "__"), value); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *Witness) set(name string, value any) error {
	v := w.collection.Variables[name]
	if v == nil {
		return fmt.Errorf("the kernel side has no variable %s", name)
	}
	return v.Set(value)
}

// Clock is the instant of the last walk, by the clock of all events, in ns.
func (w *Witness) Clock() (uint64, error) {
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

// Walk gives the tally of every thread that waits or has waited since the last walk.
func (w *Witness) Walk(tell func(*event.Tally)) error {
	_, err := w.walkAll(tell)
	return err
}

func (w *Witness) walkAll(tell func(*event.Tally)) (n int, err error) {
	if w.walk == nil {
		return w.walkHash(tell)
	}
	// The walk takes the scheduler's clock from this CPU's run queue: let it be read now.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	unix.Syscall(unix.SYS_SCHED_YIELD, 0, 0, 0)
	err = w.readIter(w.walk, func(b []byte) (int, error) {
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

// readIter runs an iterator and cuts what it writes into records; each returns its size.
func (w *Witness) readIter(iter *link.Iter, record func([]byte) (int, error)) error {
	r, err := iter.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	if w.buf == nil {
		w.buf = make([]byte, 64<<10)
	}
	rest := 0
	for {
		n, err := r.Read(w.buf[rest:])
		if n == 0 && (err == nil || errors.Is(err, io.EOF)) {
			break
		}
		if err != nil {
			return fmt.Errorf("walking over threads: %w", err)
		}
		b := w.buf[:rest+n]
		for len(b) > 0 {
			size, err := record(b)
			if err != nil {
				break // cut by the buffer's end: the rest follows
			}
			b = b[size:]
		}
		rest = copy(w.buf, b)
		if rest == len(w.buf) {
			return fmt.Errorf("walking over threads: %w", event.ErrRecord)
		}
	}
	if rest > 0 {
		return fmt.Errorf("walking over threads: %d bytes left: %w", rest, event.ErrRecord)
	}
	return nil
}

// walkHash reads the threads' states from user space, where no iterator can be had.
func (w *Witness) walkHash(tell func(*event.Tally)) (n int, err error) {
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

// Drain gives the records of the ring in the order in which they were made:
// *event.Wait, *event.Identity, and *event.Tally of threads that have ended. It
// returns at the deadline or when interrupted; at a deadline that has passed it
// only empties the ring.
func (w *Witness) Drain(deadline time.Time, tell func(any)) error {
	w.ring.SetDeadline(deadline)
	for {
		err := w.ring.ReadInto(&w.record)
		if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, ringbuf.ErrFlushed) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading the ring of records: %w", err)
		}
		decoded, _, err := event.Decode(w.record.RawSample)
		if err != nil {
			w.undecoded++
			continue
		}
		tell(decoded)
	}
}

// Interrupt makes Drain return early. It may be called by any goroutine.
func (w *Witness) Interrupt() { _ = w.ring.Flush() }

// Close detaches and frees everything. It may be called more than once.
func (w *Witness) Close() error {
	var errs []error
	for _, l := range w.links {
		errs = append(errs, l.Close())
	}
	w.links = nil
	for _, iter := range []**link.Iter{&w.walk, &w.resolve} {
		if *iter != nil {
			errs = append(errs, (*iter).Close())
			*iter = nil
		}
	}
	if w.ring != nil {
		errs = append(errs, w.ring.Close())
		w.ring = nil
	}
	if w.collection != nil {
		w.collection.Close()
		w.collection = nil
	}
	if w.tracefs != nil {
		w.tracefs.close()
		w.tracefs = nil
	}
	return errors.Join(errs...)
}
