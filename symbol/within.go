// SPDX-License-Identifier: Apache-2.0

package symbol

import (
	"errors"
	"time"
)

// The limits of what a file system, or a process that does not let go of its memory map, may make
// us wait for. What is late goes on beside, and is taken when it comes.
const (
	lookFor  = time.Second
	loadFor  = 2 * time.Second
	maxWaits = 64 // that are under way
)

var (
	errSlow = errors.New("it takes too long to look at the process")
	errBusy = errors.New("too many processes that take long to look at")
)

// within does something that may hang, for so long. What comes later is undone.
func within[T any](slots chan struct{}, limit time.Duration, do func() (T, error), undo func(T)) (v T, err error) {
	type result struct {
		v   T
		err error
	}
	select {
	case slots <- struct{}{}:
	default:
		return v, errBusy
	}
	done := make(chan result, 1)
	go func() {
		v, err := do()
		<-slots
		done <- result{v, err}
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case got := <-done:
		return got.v, got.err
	case <-timer.C:
		go func() {
			if late := <-done; late.err == nil {
				undo(late.v)
			}
		}()
		return v, errSlow
	}
}
