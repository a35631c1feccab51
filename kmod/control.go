// SPDX-License-Identifier: Apache-2.0

package kmod

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const controlVersion = 1

// ErrNotLoaded says that there is no module to read or steer.
var ErrNotLoaded = errors.New("the kernel module iowitness is not loaded: load it with \"iowitness kmod load\"")

// Read reads all that the module tells, from the files below root ("/" normally).
func Read(root string) (*State, error) {
	waits, err := readProc(root, "waits")
	if err != nil {
		return nil, err
	}
	control, err := readProc(root, "control")
	if err != nil {
		return nil, err
	}
	s, err := ParseWaits(waits)
	if err != nil {
		return nil, err
	}
	s.Control, err = ParseControl(control)
	return s, err
}

func readProc(root, name string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(root, "proc", Name, name))
	return text, explainOpen(err)
}

func explainOpen(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ErrNotLoaded
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w: only root may read it: run it with sudo", err)
	}
	return err
}

// ParseControl reads the text of /proc/iowitness/control.
func ParseControl(text []byte) (Control, error) {
	var c Control
	lines := strings.Split(string(text), "\n")
	if len(lines) < 2 || lines[len(lines)-1] != "" {
		return c, fmt.Errorf("/proc/iowitness/control is cut off: %w", ErrFormat)
	}
	form := []struct {
		name string
		read func(w *words, name string)
	}{
		{"iowitness-control", func(w *words, name string) {
			if version := w.u64(name); w.err == nil && version != controlVersion {
				w.err = ErrVersion
			}
		}},
		{"gate", func(w *words, name string) { c.GateOpen = w.either(name, "open", "closed") }},
		{"ratio", func(w *words, name string) { c.Ratio = w.u32(name) }},
		{"min_ns", func(w *words, name string) { c.MinNS = w.u64(name) }},
		{"duty_on_ms", func(w *words, name string) { c.DutyOn = w.milliseconds(name) }},
		{"duty_every_ms", func(w *words, name string) { c.DutyEvery = w.milliseconds(name) }},
		{"heartbeat_ms", func(w *words, name string) { c.Heartbeat = w.milliseconds(name) }},
		{"heartbeat_age_ns", func(w *words, name string) { c.HeartbeatAge = w.nanoseconds(name) }},
		{"lapses", func(w *words, name string) { c.Lapses = w.u32(name) }},
		{"looking", func(w *words, name string) { c.Looking = w.next(name) }},
		{"epoch", func(w *words, name string) { c.Epoch = w.u32(name) }},
		{"processes", func(w *words, name string) { c.Processes = w.u32(name) }},
		{"processes_used", func(w *words, name string) { c.ProcessesUsed = w.u32(name) }},
		{"loaded_ns", func(w *words, name string) { c.Loaded = w.nanoseconds(name) }},
	}
	for i, line := range lines[:len(lines)-1] {
		w := &words{rest: strings.Split(line, " ")}
		kind := w.next("word")
		if i >= len(form) || kind != form[i].name {
			w.fail("%q is not what comes here", kind)
		} else {
			form[i].read(w, kind)
		}
		if err := w.end(); errors.Is(err, ErrVersion) {
			return c, err
		} else if err != nil {
			return c, fmt.Errorf("/proc/iowitness/control, line %d: %w: %w", i+1, err, ErrFormat)
		}
	}
	if len(lines)-1 != len(form) {
		return c, fmt.Errorf("/proc/iowitness/control ends after line %d: %w", len(lines)-1, ErrFormat)
	}
	return c, nil
}

func (w *words) milliseconds(what string) time.Duration {
	return time.Duration(w.u32(what)) * time.Millisecond
}

func (w *words) nanoseconds(what string) time.Duration {
	return time.Duration(w.number(what, 63))
}

// Controller steers the loaded module. There is one at a time, and while it is open
// the module cannot be unloaded.
type Controller struct{ f *os.File }

// Open opens the control file below root.
func Open(root string) (*Controller, error) {
	f, err := os.OpenFile(filepath.Join(root, "proc", Name, "control"), os.O_RDWR, 0)
	if errors.Is(err, unix.EBUSY) {
		return nil, heldError(Holders(root))
	}
	if err != nil {
		return nil, explainOpen(err)
	}
	return &Controller{f}, nil
}

// Control reads how the module is set.
func (c *Controller) Control() (Control, error) {
	var b [4096]byte
	n, err := c.f.ReadAt(b[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return Control{}, err
	}
	return ParseControl(b[:n])
}

// Close lets go of the module.
func (c *Controller) Close() error { return c.f.Close() }

func (c *Controller) say(format string, args ...any) error {
	line := fmt.Sprintf(format, args...)
	if _, err := io.WriteString(c.f, line); err != nil {
		return fmt.Errorf("the kernel module does not take %q: %w", line, err)
	}
	return nil
}

// Heartbeat says that somebody reads, and begins an epoch, by which Counts.Epochs are told apart.
func (c *Controller) Heartbeat(epoch uint32) error { return c.say("heartbeat %d", epoch) }

// Beat says that somebody reads.
func (c *Controller) Beat() error { return c.say("heartbeat") }

// SetHeartbeat makes the module do nothing unless a heartbeat comes at least this
// often; 0: none is needed. It counts as one.
func (c *Controller) SetHeartbeat(within time.Duration) error {
	return c.say("heartbeat_ms %d", within.Milliseconds())
}

// SetGate opens or closes the gate.
func (c *Controller) SetGate(open bool) error {
	if open {
		return c.say("gate open")
	}
	return c.say("gate closed")
}

// SetRatio takes one wait in n, at random.
func (c *Controller) SetRatio(n uint32) error { return c.say("ratio %d", n) }

// SetMin leaves out waits that are shorter.
func (c *Controller) SetMin(shortest time.Duration) error {
	return c.say("min %d", shortest.Nanoseconds())
}

// SetDuty looks for a part of each cycle only; 0, 0: always.
func (c *Controller) SetDuty(on, every time.Duration) error {
	return c.say("duty %d %d", on.Milliseconds(), every.Milliseconds())
}

// Reap gives away the places of processes that have ended and were read since.
// Their counts go into State.Ended.
func (c *Controller) Reap() error { return c.say("reap") }

// Reset forgets all counts. Waits in progress are given up.
func (c *Controller) Reset() error { return c.say("reset") }
