// SPDX-License-Identifier: Apache-2.0

package tracefs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Leftover is a probe or an instance that an iowitness has made and not removed.
type Leftover struct {
	Owner    Owner
	Instance string // its name; "": it is a probe
	Probe    Probe
	InUse    bool  // its owner still runs, or someone else uses it: left alone
	Err      error // why it could not be removed
}

// String names it and says what became of it.
func (l Leftover) String() string {
	what := fmt.Sprintf("probe %s/%s on %s", l.Probe.Group, l.Probe.Event, l.Probe.Symbol)
	if l.Instance != "" {
		what = "instance " + l.Instance
	}
	switch {
	case l.InUse:
		return what + ": in use, left alone"
	case l.Err != nil:
		return fmt.Sprintf("%s: not removed: %v", what, l.Err)
	}
	return what + ": removed"
}

// Removed says whether it is gone.
func (l Leftover) Removed() bool { return !l.InUse && l.Err == nil }

// Cleanup removes what runs of iowitness that have ended left behind, and
// tells all that it found, that of living runs included. What others made is not
// even looked at. Whether a run lives is asked of the kernel, which removes no
// instance of which a file is open and no probe that is enabled: a run holds its
// instances from begin to end, in whatever pid namespace it is. Probes without an
// instance, as other means make them, are left alone too while their process lives.
func (t *FS) Cleanup() (found []Leftover, err error) {
	alive := map[Owner]bool{}
	instances, err := t.ownInstances()
	if err != nil {
		return nil, err
	}
	for _, l := range instances {
		// One that has just been made is not held yet.
		if l.InUse = t.lives(l.Owner); !l.InUse {
			l.remove(t.removeInstance(l.Instance))
		}
		alive[l.Owner] = alive[l.Owner] || l.InUse
		found = append(found, l)
	}
	probes, err := t.ownProbes()
	if err != nil {
		return found, err
	}
	for _, l := range probes {
		held, known := alive[l.Owner]
		if l.InUse = held || !known && t.lives(l.Owner); !l.InUse {
			l.remove(t.RemoveProbe(l.Probe.Group, l.Probe.Event))
		}
		found = append(found, l)
	}
	return found, nil
}

// lives says whether an owner's process is there and is this program.
func (t *FS) lives(o Owner) bool {
	if boot, err := readBoot(t.system); err != nil || boot != o.Boot {
		return false
	}
	exe := func(pid string) string {
		name, _ := os.Readlink(filepath.Join(t.system, "proc", pid, "exe"))
		return filepath.Base(strings.TrimSuffix(name, " (deleted)"))
	}
	theirs := exe(strconv.Itoa(o.PID))
	return theirs != "." && theirs == exe("self")
}

func (l *Leftover) remove(err error) {
	if l.InUse = errors.Is(err, unix.EBUSY); !l.InUse {
		l.Err = err
	}
}

func (t *FS) ownInstances() (own []Leftover, err error) {
	entries, err := fs.ReadDir(t.root.FS(), instancesDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // this kernel has no instances: nothing of ours can be there
	}
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if owner, _, ok := ParseOwner(path.Base(e.Name())); ok {
			own = append(own, Leftover{Owner: owner, Instance: e.Name()})
		}
	}
	return own, nil
}

func (t *FS) ownProbes() (own []Leftover, err error) {
	probes, err := t.Probes()
	if errors.Is(err, ErrNoProbes) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, p := range probes {
		if owner, _, ok := ParseOwner(p.Group); ok {
			own = append(own, Leftover{Owner: owner, Probe: p})
		}
	}
	return own, nil
}

// RemoveProbes removes the probes of one owner, which no instance has enabled
// any more.
func (t *FS) RemoveProbes(o Owner) error {
	probes, err := t.ownProbes()
	if err != nil {
		return err
	}
	var errs []error
	for _, l := range slices.Backward(probes) {
		if l.Owner != o {
			continue
		}
		if err := t.RemoveProbe(l.Probe.Group, l.Probe.Event); err != nil {
			errs = append(errs, fmt.Errorf("removing the probe %s/%s: %w", l.Probe.Group, l.Probe.Event, err))
		}
	}
	return errors.Join(errs...)
}
