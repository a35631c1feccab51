// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/iowitness/iowitness/event"
)

// CallWitness witnesses calls of functions by whatever means, from Start to Close. It is
// not safe for concurrent use, but for Interrupt.
type CallWitness interface {
	Means() Means
	Notes() []string
	Targets() []*CallTarget // by number; nil: it could not be probed

	Start() error
	Pause() error
	Resume() error
	Detach() error
	Close() error

	Drain(deadline time.Time, tell func(any)) error
	Interrupt()
	NextEpoch() error
	Heartbeat() (closed bool, err error)
	SetDetail(Detail) error
	Follow(tid uint32) error
	Unfollow(tid uint32) error

	Sums() (map[event.CallKey]*event.CallSum, error)
	Stack(key uint64) []uint64
	Balances() ([]CallBalance, error)
	Losses() ([]Loss, error)
	Stats() (RunStats, error)
}

// allCallMeans are all means of witnessing calls, best first: the last needs no BPF.
var allCallMeans = append(slices.Clone(callMeans), Tracefs)

// OpenCallWitness opens the best means that works, or the one that is asked for, with
// its gate still closed. An error that wraps ErrCallsUnsupported says what is missing.
func OpenCallWitness(find *CallTargets, targets []*CallTarget, o CallOptions) (CallWitness, error) {
	var refused error
	if o.Via != Tracefs {
		w, err := OpenCalls(find, targets, o)
		if err == nil {
			return w, nil
		}
		if o.Via != "" || !errors.Is(err, ErrCallsUnsupported) {
			return nil, err
		}
		refused = err
	}
	if o.Lean != nil {
		if err := o.Lean(); err != nil {
			return nil, err
		}
	}
	w, err := openTracedCalls(targets, o)
	if err == nil {
		return w, nil
	}
	if pid := new(PIDError); errors.As(err, &pid) || errors.Is(err, ErrCancelled) {
		return nil, err
	}
	var last refusals
	last.add(Tracefs, err)
	if refused == nil {
		return nil, fmt.Errorf("%w: %s", ErrCallsUnsupported, &last)
	}
	return nil, fmt.Errorf("%w; %s", refused, &last)
}
