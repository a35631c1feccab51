// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/kmod"
)

// kmodWitness sees waits by the kernel module, which adds them up by process:
// there are no single waits, and no stacks.
type kmodWitness struct {
	options *Options
	notes   []string
	wishes  *wishes
	follow  kmodFollowed

	control *kmod.Controller // nil after Detach
	before  *kmod.Control    // how an operator had it set; nil: it was loaded by us
	base    *kmod.State      // as it was at Start
	last    *kmod.State      // as last read
	final   *kmod.State      // after Detach

	processes map[processKey]*kmodProcess
	epoch     uint32
	lapses    uint32
	interrupt chan struct{}
}

// openKmod opens the module that is loaded, or loads it if it is asked for by name.
func openKmod(o *Options) (_ Witness, err error) {
	if !seesInitialPIDs("/") {
		return nil, errors.New("the kernel module tells processes by the numbers of the initial pid namespace, which is not ours: run in it (--pid=host)")
	}
	w := &kmodWitness{
		options: o, processes: map[processKey]*kmodProcess{}, follow: newKmodFollowed("/"), interrupt: make(chan struct{}, 1),
	}
	if w.wishes, err = newWishes("/", o); err != nil {
		return nil, err
	}
	if err := w.load(); err != nil {
		return nil, err
	}
	if err := w.open(); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

// load takes the module that an operator has loaded as it is. Its gate is open
// then, and what it counts before Start is left out.
func (w *kmodWitness) load() error {
	if err := kmod.RemoveLeftover(); err != nil {
		return err
	}
	status, err := kmod.Status("/")
	if err != nil {
		return err
	}
	if !status.Loaded {
		return w.loadOwn()
	}
	if w.control, err = kmod.Open("/"); err != nil {
		return err
	}
	before, err := w.control.Control()
	if err != nil {
		return errors.Join(err, w.control.Close())
	}
	w.before = &before
	return nil
}

func (w *kmodWitness) loadOwn() error {
	if w.options.Via != Kmod {
		return errors.New("the kernel module is not loaded: \"iowitness kmod load\" does that, and so does --via kmod")
	}
	file := w.options.Module
	if file == "" {
		release, err := kmod.RunningRelease()
		if err != nil {
			return err
		}
		file = kmod.DefaultPath(release)
	}
	params := kmod.Params{
		MaxActive: uint32(w.options.MaxActive), Probes: w.extraFunctions(), GateClosed: true, Transient: true,
	}
	if err := kmod.Load(file, params); err != nil {
		return err
	}
	var err error
	if w.control, err = kmod.Open("/"); err != nil {
		return errors.Join(err, kmod.Unload(time.Second))
	}
	return nil
}

// extraFunctions are those of the table that the module does not probe unasked.
func (w *kmodWitness) extraFunctions() (names []string) {
	for _, f := range Functions {
		if w.options.wants(f) && slices.Contains(kmod.Functions(), f.Name) {
			names = append(names, f.Name)
		}
	}
	return names
}

// open reads what is there, and says what cannot be witnessed.
func (w *kmodWitness) open() error {
	s, err := kmod.Read("/")
	if err != nil {
		return err
	}
	w.base, w.last = s, s
	// Epochs go on from where they were, so that none is taken for an older one of its number.
	w.epoch = max(s.Epoch+2, 1)
	var absent []string
	for _, p := range s.Probes {
		if p.Error != 0 {
			absent = append(absent, p.Function)
		}
	}
	if len(absent) > 0 {
		w.notes = append(w.notes, "this kernel lacks, has inlined, or has not loaded: "+strings.Join(absent, ", "))
	}
	if len(w.options.Functions) > 0 || w.before != nil {
		var probed []string
		for _, p := range s.Probes {
			if p.Error == 0 {
				probed = append(probed, p.Function)
			}
		}
		w.notes = append(w.notes, "the kernel module probes "+strings.Join(probed, ", "))
	}
	w.notes = append(w.notes, "the kernel module adds up waits by process: there are no threads, stacks, files and causes")
	return nil
}

func (w *kmodWitness) Facts() Facts {
	return Facts{Means: Kmod, State: "module", Clock: "monotonic", RunQueueInside: true, OwnMeter: true, Notes: w.notes}
}

func (w *kmodWitness) Options() Options { return *w.options }

func (w *kmodWitness) Start(tell func(*event.Tally)) error {
	if err := errors.Join(
		w.control.SetMin(w.options.Min), w.control.Heartbeat(w.epoch), w.control.SetHeartbeat(w.options.Silence),
	); err != nil {
		return err
	}
	if w.before != nil {
		// Opened anew, so that what is in progress is looked at from now on only.
		if err := errors.Join(w.control.SetGate(false), w.control.SetDuty(0, 0), w.control.SetRatio(1)); err != nil {
			return err
		}
	}
	s, err := kmod.Read("/")
	if err != nil {
		return err
	}
	w.base = s
	w.lapses = s.Control.Lapses
	w.settle(s)
	return w.Resume(tell)
}

func (w *kmodWitness) Pause() error {
	if w.control == nil {
		return nil
	}
	return w.control.SetGate(false)
}

// Resume opens the gate; what was waited before is not looked at.
func (w *kmodWitness) Resume(tell func(*event.Tally)) error {
	if err := w.control.SetGate(true); err != nil {
		return err
	}
	return w.walk(tell, true)
}

func (w *kmodWitness) NextEpoch() (closed uint32, err error) {
	closed = w.epoch
	if w.epoch++; w.epoch == 0 {
		w.epoch = 1
	}
	if w.control == nil {
		return closed, nil
	}
	return closed, w.control.Heartbeat(w.epoch)
}

func (w *kmodWitness) Heartbeat() (closed bool, err error) {
	if w.control == nil || w.options.Silence == 0 {
		return false, nil
	}
	if err := w.control.Beat(); err != nil {
		return false, err
	}
	c, err := w.control.Control()
	if err != nil {
		return false, err
	}
	closed, w.lapses = c.Lapses != w.lapses, c.Lapses
	return closed, nil
}

// SetDetail: there are no stacks to leave out.
func (w *kmodWitness) SetDetail(d Detail) error {
	if w.control == nil {
		return nil
	}
	return w.control.SetRatio(max(d.Ratio, 1))
}

func (w *kmodWitness) SetAddresses(func(string) (uint64, bool)) error { return nil }

// Drain only waits: all that the module tells is told by a walk.
func (w *kmodWitness) Drain(deadline time.Time, _ func(any)) error {
	wait := time.NewTimer(time.Until(deadline))
	defer wait.Stop()
	select {
	case <-wait.C:
	case <-w.interrupt:
	}
	return nil
}

func (w *kmodWitness) Interrupt() {
	select {
	case w.interrupt <- struct{}{}:
	default:
	}
}

func (w *kmodWitness) Clock() (uint64, error) { return w.last.Now, nil }

// read is what the module tells, or told last.
func (w *kmodWitness) read() (*kmod.State, error) {
	if w.final != nil {
		return w.final, nil
	}
	return kmod.Read("/")
}

// Detach unloads the module, or gives it back as an operator had set it.
func (w *kmodWitness) Detach() error {
	if w.control == nil {
		return nil
	}
	final, readErr := kmod.Read("/")
	if readErr != nil {
		final = cmp.Or(w.last, &kmod.State{})
	}
	w.final = final
	err := errors.Join(readErr, w.giveBack(), w.control.Close())
	w.control = nil
	if w.before == nil {
		err = errors.Join(err, kmod.Unload(5*time.Second))
	}
	return err
}

func (w *kmodWitness) giveBack() error {
	was := w.before
	if was == nil {
		return w.control.SetGate(false)
	}
	return errors.Join(
		w.control.SetRatio(was.Ratio), w.control.SetMin(time.Duration(was.MinNS)), w.control.SetDuty(was.DutyOn, was.DutyEvery),
		w.control.SetHeartbeat(was.Heartbeat), w.control.SetGate(was.GateOpen),
	)
}

func (w *kmodWitness) Close() error { return w.Detach() }

// Follow watches a thread's process and all that descends from it.
func (w *kmodWitness) Follow(tid uint32) error {
	pid, err := readTgid("/", tid)
	if err != nil {
		return fmt.Errorf("there is no thread %d: %w", tid, os.ErrNotExist)
	}
	w.follow.add(pid, tid)
	return nil
}

func (w *kmodWitness) Unfollow(tid uint32) error {
	w.follow.remove(tid)
	return nil
}
