// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// The buffers are emptied as often as they fill to a quarter, within bounds.
const (
	firstTick = 50 * time.Millisecond
	leastTick = 5 * time.Millisecond
	mostTick  = 200 * time.Millisecond
	wantFull  = 0.25
)

// Drain takes events until the deadline, and tells the records made of them.
func (w *tracePump) Drain(deadline time.Time, tell func(any)) error {
	for {
		left := time.Until(deadline)
		if left > 0 {
			interrupted, err := w.sleep(min(left, w.tick))
			if err != nil {
				return err
			}
			if err := w.pump(); err != nil {
				return err
			}
			if interrupted {
				left = 0
			}
		}
		for _, record := range w.queue {
			tell(record)
		}
		w.queue = w.queue[:0]
		if left <= 0 {
			return nil
		}
	}
}

// sleep waits so long, or until it is interrupted.
func (w *tracePump) sleep(d time.Duration) (interrupted bool, err error) {
	fds := []unix.PollFd{{Fd: int32(w.wakeFD), Events: unix.POLLIN}}
	n, err := unix.Poll(fds, int(max(d.Milliseconds(), 1)))
	if errors.Is(err, unix.EINTR) {
		return false, nil
	}
	if err != nil {
		return false, os.NewSyscallError("poll", err)
	}
	if n > 0 {
		var b [8]byte
		_, _ = unix.Read(w.wakeFD, b[:])
	}
	return n > 0, nil
}

// pump takes the events that are sure to be complete.
func (w *tracePump) pump() error {
	now, err := monotonic()
	if err != nil || !w.open {
		return err
	}
	return w.take(now, now-uint64(slack))
}

// pumpNow takes all events up to now.
func (w *tracePump) pumpNow() error {
	until, err := monotonic()
	if err != nil || !w.open {
		return err
	}
	time.Sleep(slack)
	now, err := monotonic()
	if err != nil {
		return err
	}
	return w.take(now, until)
}

// take collects what is in the buffers now, and takes the events up to an instant.
func (w *tracePump) take(now, until uint64) error {
	full, err := w.reader.Collect()
	if err != nil {
		return err
	}
	w.adapt(full)
	lost, whole, err := w.reader.Lost(now)
	if err != nil {
		return fmt.Errorf("asking for lost events: %w", err)
	}
	if lost > 0 {
		return w.afterLoss(lost, min(whole, until))
	}
	w.reader.Read(until, w.each)
	w.ahead = max(w.ahead, until)
	w.settle()
	return nil
}

func (w *tracePump) adapt(full float64) {
	next := mostTick
	if full > 0 {
		next = time.Duration(float64(w.tick) * wantFull / full)
	}
	w.tick = min(max(next, leastTick), mostTick)
}

// afterLoss begins anew: of calls that were open when events went missing, and of
// what came after, nobody knows which return belongs to which entry. The gate
// is closed meanwhile, so that all that the buffers hold is from before.
func (w *tracePump) afterLoss(lost, whole uint64) error {
	w.reader.Read(whole, w.each)
	if err := w.gate(false); err != nil {
		return err
	}
	dropped, more, err := w.reader.Restart()
	if err != nil {
		return err
	}
	w.lostEvents += lost + more
	w.discarded += dropped
	w.giveUpAll()
	now, err := monotonic()
	w.ahead = max(w.ahead, now)
	return errors.Join(err, w.gate(true))
}

// gate opens or closes the gate of probes that stay armed.
func (w *tracePump) gate(open bool) error {
	if open {
		return errors.Join(w.returns.Trace(true), w.entries.Trace(true))
	}
	return errors.Join(w.entries.Trace(false), w.returns.Trace(false))
}
