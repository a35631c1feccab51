// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/iowitness/iowitness/tracefs"
)

// tracePump is what all witnesses by the tracing file system share: instances of our own
// with the events of entries and returns, which it empties and hands on in the order of
// time, and what went missing on the way.
type tracePump struct {
	notes   []string
	fs      *tracefs.FS
	owner   tracefs.Owner
	entries *tracefs.Instance // entries, with or without stacks
	returns *tracefs.Instance // returns, and what else tells of threads
	reader  *tracefs.Reader
	queue   []any  // records not yet told
	open    bool   // the gate
	ahead   uint64 // ns: up to here all events have been taken

	each      func(*tracefs.Record)
	settle    func() // after events were taken
	giveUpAll func() // of calls that are open nothing more can be said

	tick       time.Duration
	wakeup     *os.File // an eventfd
	wakeFD     int
	lostEvents uint64         // that the kernel's buffers did not take
	discarded  uint64         // events read after a loss, which could not be paired
	read       tracefs.Counts // as of the last look
}

// slack is how long an event may take from its stamp to its place in the buffer.
const slack = 2 * time.Millisecond

// openPump opens the tracing file system and removes what killed runs have left there.
func (w *tracePump) openPump() (err error) {
	if !seesInitialPIDs("/") {
		return errors.New("the tracing file system tells threads by the numbers of the initial pid namespace, which is not ours: run in it (--pid=host)")
	}
	w.tick = firstTick
	if w.wakeFD, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return os.NewSyscallError("eventfd", err)
	}
	w.wakeup = os.NewFile(uintptr(w.wakeFD), "eventfd")
	if w.fs, err = tracefs.Open("/"); err != nil {
		return err
	}
	if err := w.fs.CheckSwitches(); err != nil {
		return err
	}
	if _, err := w.fs.Probes(); err != nil {
		return err
	}
	if w.owner, err = w.fs.NewOwner(); err != nil {
		return err
	}
	w.clean()
	return nil
}

// clean removes what killed runs have left behind. That something cannot be
// removed is no reason not to begin.
func (w *tracePump) clean() {
	found, err := w.fs.Cleanup()
	if err != nil {
		w.note("what killed runs left behind cannot be looked for: %v", err)
	}
	for _, l := range found {
		if l.Err != nil {
			w.note("%v", l)
		}
	}
	w.notes = append(w.notes, w.fs.Others()...)
}

func (w *tracePump) note(format string, a ...any) {
	w.notes = append(w.notes, fmt.Sprintf(format, a...))
}

func (w *tracePump) noteOnce(note string) { w.notes = addOnce(w.notes, note) }

func (w *tracePump) group(role string) string { return w.owner.String() + "_" + role }

// Bounds of the buffers. An entry with its stack takes some 250 bytes, a return 28,
// a switch 68.
const (
	leastBuffer = 256 << 10
	allBuffers  = 64 << 20
)

// newInstances makes one for entries and one for returns, since stacks are switched
// for a whole instance and a return has nothing to tell by its stack.
func (w *tracePump) newInstances(bytes int) (err error) {
	size := min(bytes, max(leastBuffer, allBuffers/runtime.NumCPU()))
	if w.entries, err = w.fs.NewInstance(w.owner.String()+"_in", size>>10); err != nil {
		return err
	}
	w.returns, err = w.fs.NewInstance(w.owner.String()+"_out", size>>11)
	return err
}

func (w *tracePump) openReader() (err error) {
	w.reader, err = w.fs.NewReader(w.entries, w.returns)
	return err
}

func (w *tracePump) instances() []*tracefs.Instance {
	return []*tracefs.Instance{w.entries, w.returns}
}

// addThread lets one more thread's events pass.
func (w *tracePump) addThread(tid uint32) error {
	for _, i := range w.instances() {
		if err := i.AddThreads([]uint32{tid}); err != nil {
			return fmt.Errorf("following thread %d: %w", tid, err)
		}
	}
	return nil
}

// filterThreads lets only some processes' events pass, and those of threads that are
// followed; follow is told each of their threads.
func (w *tracePump) filterThreads(pids []uint32, follow func(tid uint32) error) error {
	for _, i := range w.instances() {
		if err := i.OnlyThreads([]uint32{0}, true); err != nil {
			return fmt.Errorf("this kernel cannot limit a trace to some threads: %w", err)
		}
	}
	// Threads that are made while we look are children of threads that pass already.
	added := map[uint32]bool{}
	for again := true; again; {
		again = false
		for _, pid := range pids {
			tids, _ := threadsOf("/", pid)
			for _, tid := range tids {
				if !added[tid] {
					again, added[tid] = true, true
					if err := follow(tid); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

// remove ends the tracing and removes instances and probes.
func (w *tracePump) remove() error {
	var errs []error
	if w.reader != nil {
		w.read = w.reader.Counts()
		errs = append(errs, w.reader.Close())
		w.reader = nil
	}
	for _, i := range []**tracefs.Instance{&w.entries, &w.returns} {
		if *i != nil {
			errs = append(errs, (*i).Close())
			*i = nil
		}
	}
	w.open = false
	return errors.Join(append(errs, w.fs.RemoveProbes(w.owner))...)
}

// closePump closes what openPump has opened. It may be called more than once.
func (w *tracePump) closePump() (err error) {
	if w.fs != nil {
		err = w.fs.Close()
		w.fs = nil
	}
	if w.wakeup != nil {
		w.wakeup.Close() // Interrupt may still be called: it finds it closed
	}
	return err
}

// Interrupt makes Drain return.
func (w *tracePump) Interrupt() { _, _ = w.wakeup.Write([]byte{1, 0, 0, 0, 0, 0, 0, 0}) }
