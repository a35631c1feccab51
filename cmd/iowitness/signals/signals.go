// SPDX-License-Identifier: Apache-2.0

// Package signals catches the signals that end the program, from its first instant on. It needs little, so
// that the runtime makes it ready before the packages that have tables to build, which takes longer than
// one may take to press Ctrl-C.
package signals

import (
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
)

// Status is that of a program that a signal ends, less the signal's number, as shells have it.
const Status = 128

// Ended is the status of a program that a signal ends.
func Ended(sig os.Signal) int {
	number, _ := sig.(syscall.Signal)
	return Status + int(number)
}

// Endings are the signals that end a run. SIGHUP is not one if it was ignored, as nohup has it.
var Endings = endings()

func endings() []os.Signal {
	all := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		all = append(all, syscall.SIGHUP)
	}
	return all
}

var (
	caught = make(chan os.Signal, 1)
	taken  = make(chan struct{})
	take   sync.Once
)

// The programs that tests are do work of known truth, in threads that nothing moves and that end by signals
// as others do.
func init() {
	if info, ok := debug.ReadBuildInfo(); !ok || !strings.HasSuffix(info.Path, ".test") {
		catch()
	}
}

// catch ends the program by a signal until somebody takes them.
func catch() {
	signal.Notify(caught, Endings...)
	go func() {
		select {
		case sig := <-caught:
			os.Exit(Ended(sig))
		case <-taken:
		}
	}()
}

// Take hands the signals to a channel from now on, also one that has just come. The channel needs room for one.
func Take(to chan os.Signal) {
	signal.Notify(to, Endings...)
	take.Do(func() {
		signal.Stop(caught)
		close(taken)
		select {
		case sig := <-caught:
			select {
			case to <- sig:
			default: // the same one is in it
			}
		default:
		}
	})
}

// Leave gives the signals back to the kernel, which ends the program by them.
func Leave() { signal.Reset(Endings...) }
