// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/ringbuf"

	"github.com/iowitness/iowitness/event"
)

// object is a kernel side in BPF, whatever it witnesses: loaded, attached, and read by a ring.
type object struct {
	collection *ebpf.Collection
	links      []io.Closer
	ring       *ringbuf.Reader
	flushed    atomic.Pointer[ringbuf.Reader] // the ring, for whoever interrupts its reader; nil: closed
	resolve    *link.Iter                     // tells threads' ids as the caller's pid namespace numbers them; nil: they are the kernel's
	record     ringbuf.Record
	undecoded  uint64 // records that were not understood
	fellSilent uint32
	numbers    numbers
}

func (o *object) openRing() (err error) {
	if o.ring, err = ringbuf.NewReader(o.collection.Maps["records"]); err == nil {
		o.flushed.Store(o.ring)
	}
	return err
}

func (o *object) set(name string, value any) error {
	v := o.collection.Variables[name]
	if v == nil {
		return fmt.Errorf("the kernel side has no variable %s", name)
	}
	return v.Set(value)
}

// hasFallenSilent says whether the gate has closed by itself since this was last asked.
func (o *object) hasFallenSilent() (closed bool, err error) {
	var fell uint32
	if err := o.collection.Variables["fell_silent"].Get(&fell); err != nil {
		return false, err
	}
	closed, o.fellSilent = fell != o.fellSilent, fell
	return closed, nil
}

// live puts off the instant when the gate closes by itself; 0: it never does. The kernel
// side's clock is so much behind CLOCK_MONOTONIC.
func (o *object) live(silence time.Duration, behind uint64) error {
	if silence == 0 {
		return nil
	}
	now, err := monotonic()
	if err != nil {
		return err
	}
	return o.set("alive_until", now-behind+uint64(silence))
}

// looksAtClock is after how many records a busy reader looks at the clock.
const looksAtClock = 256

// Drain gives records in the order in which they were made, until the deadline or until
// it is interrupted; at a deadline that has passed it only takes what is there. It also
// ends where more comes than is read: the ring alone looks at the deadline only when it is empty.
func (o *object) Drain(deadline time.Time, tell func(any)) error {
	o.ring.SetDeadline(deadline)
	passed, taken := !time.Now().Before(deadline), 0
	for n := 1; ; n++ {
		if passed && taken > o.ring.BufferSize() || !passed && n%looksAtClock == 0 && time.Now().After(deadline) {
			return nil
		}
		err := o.ring.ReadInto(&o.record)
		if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, ringbuf.ErrFlushed) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading the ring of records: %w", err)
		}
		taken += len(o.record.RawSample)
		decoded, _, err := event.Decode(o.record.RawSample)
		if err != nil {
			o.undecoded++
			continue
		}
		tell(decoded)
	}
}

// Interrupt makes Drain return early. It may be called by any goroutine.
func (o *object) Interrupt() {
	if ring := o.flushed.Load(); ring != nil {
		_ = ring.Flush()
	}
}

// detach takes everything out of the kernel's way; what was counted can still be read.
func (o *object) detach() error {
	var errs []error
	for _, l := range o.links {
		errs = append(errs, l.Close())
	}
	o.links = nil
	return errors.Join(errs...)
}

// close detaches and frees everything. It may be called more than once.
func (o *object) close() error {
	errs := []error{o.detach()}
	if o.ring != nil {
		o.flushed.Store(nil)
		errs = append(errs, o.ring.Close())
		o.ring = nil
	}
	if o.resolve != nil {
		errs = append(errs, o.resolve.Close())
		o.resolve = nil
	}
	if o.collection != nil {
		o.collection.Close()
		o.collection = nil
	}
	return errors.Join(errs...)
}
