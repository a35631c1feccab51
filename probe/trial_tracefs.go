// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"errors"
	"fmt"
	"math"

	"github.com/iowitness/iowitness/tracefs"
)

// tryTracefs makes a return probe by the tracing file system, sees it in an
// instance of its own, and removes both.
func tryTracefs() (err error) {
	t, err := tracefs.Open("/")
	if err != nil {
		return err
	}
	defer t.Close()
	owner, err := t.NewOwner()
	if err != nil {
		return err
	}
	instance, err := t.NewInstance(owner.String()+"_trial", 64)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, instance.Close(), t.RemoveProbes(owner)) }()
	event, err := makeTrial(t, owner)
	if err != nil {
		return fmt.Errorf("making a probe: %w", err)
	}
	if err := errors.Join(instance.Enable(owner.String(), event.Name, true), instance.Trace(true)); err != nil {
		return fmt.Errorf("enabling a probe: %w", err)
	}
	trigger()
	return ranIn(t, instance, event)
}

// makeTrial takes the first of the functions that the kernel has.
func makeTrial(t *tracefs.FS, owner tracefs.Owner) (event *tracefs.Format, err error) {
	for _, function := range triggered {
		p := tracefs.Probe{Group: owner.String(), Event: tracefs.EventName(owner, function, "trial"), Symbol: function, Return: true}
		if _, err = t.AddProbe(p); err == nil {
			return t.Format(p.Group, p.Event)
		}
	}
	return nil, err
}

func ranIn(t *tracefs.FS, instance *tracefs.Instance, event *tracefs.Format) error {
	r, err := t.NewReader(instance)
	if err != nil {
		return err
	}
	defer r.Close()
	if _, err := r.Collect(); err != nil {
		return err
	}
	ran := false
	r.Read(math.MaxUint64, func(record *tracefs.Record) { ran = ran || record.ID == event.ID })
	if !ran {
		return errNeverRan
	}
	return nil
}
