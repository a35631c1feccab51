// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/iowitness/iowitness/cmd/iowitness/signals"
	"github.com/iowitness/iowitness/kmod"
	"github.com/iowitness/iowitness/probe"
	"github.com/iowitness/iowitness/tracefs"
)

// Exit statuses, of all verbs alike. Around a command the status is the command's own, also
// where the report could not be written; a run that a signal ends before it has seen anything ends
// as if the signal had killed it, and one that has told what it saw is done.
const (
	exitOK          = 0
	exitError       = 1 // the run failed, or its breaker cut it short
	exitUsage       = 2 // a mistake in the call
	exitUnsupported = 3 // this kernel, or these privileges, cannot do it
	exitCannotRun   = 126
	exitNotFound    = 127
	exitSignal      = signals.Status
)

// usageError is a mistake in the call.
type usageError struct{ error }

// exitStatus ends the program with a status of which nothing needs to be said: a command's own, or a signal's.
type exitStatus int

func (e exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// endedEarly is a run that a signal ended before it saw anything.
type endedEarly struct{ signal os.Signal }

func (e endedEarly) Error() string {
	number, _ := e.signal.(syscall.Signal)
	return "ended by " + unix.SignalName(number) + " before it had begun to witness: there is nothing to tell"
}

// cannotRunError is a command that does not run, with the status a shell gives.
type cannotRunError struct {
	error
	status int
}

// unsupported are wrapped by errors that say that this kernel, or these privileges, cannot do it.
var unsupported = []error{
	probe.ErrUnsupported, probe.ErrFSUnsupported, probe.ErrCallsUnsupported, probe.ErrProfileUnsupported,
	kmod.ErrUnsupported, tracefs.ErrUnsupported,
}

// errTooCostly ends a run that its breaker has cut short: the report is out by then.
var errTooCostly = errors.New("detached before its time, as it cost more than --max-cost allows")

// fail says what went wrong, each thing once and in one sentence, and returns the exit status. A
// reader who has gone away is nobody to complain to.
func fail(w io.Writer, err error) int {
	status, given := exitOK, false
	said := map[string]bool{}
	for _, part := range parts(err) {
		own, silent := statusOf(part)
		if words := sentence(part); !silent && !said[words] {
			fmt.Fprintf(w, "iowitness: %s\n", words)
			said[words] = true
		}
		if isGiven := errors.As(part, new(exitStatus)); isGiven || !given && status == exitOK {
			status, given = own, isGiven
		}
	}
	return status
}

// statusOf is the status of one error, and whether there is nothing to say of it.
func statusOf(err error) (status int, silent bool) {
	var own exitStatus
	var early endedEarly
	var cannot cannotRunError
	switch {
	case isClosedPipe(err):
		return exitOK, true
	case errors.As(err, &own):
		return int(own), true
	case errors.As(err, &early):
		return signals.Ended(early.signal), false
	case errors.As(err, &cannot):
		return cannot.status, false
	case errors.As(err, new(usageError)):
		return exitUsage, false
	case isUnsupported(err) != nil:
		return exitUnsupported, false
	}
	return exitError, false
}

// isUnsupported gives which of unsupported an error wraps; nil: none.
func isUnsupported(err error) error {
	for _, each := range unsupported {
		if errors.Is(err, each) {
			return each
		}
	}
	return nil
}

// parts are the errors that were joined to one.
func parts(err error) []error {
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok || !isJoin(err, joined.Unwrap()) {
		return []error{err}
	}
	var all []error
	for _, e := range joined.Unwrap() {
		all = append(all, parts(e)...)
	}
	return all
}

// isJoin tells errors.Join from an error with a text of its own that wraps several.
func isJoin(err error, of []error) bool { return err.Error() == errors.Join(of...).Error() }

func isClosedPipe(err error) bool { return errors.Is(err, syscall.EPIPE) }

// sentence keeps an error on one line.
func sentence(err error) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(err.Error(), "\n", "; ")), " ")
}
