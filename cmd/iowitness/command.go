// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/iowitness/iowitness/snapshot"
)

// passedOn are the signals that are meant for the command. Job control is left to
// the kernel: a stop from the terminal stops the command and us alike.
var passedOn = []os.Signal{
	syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGALRM,
}

// child is the command that is run and followed.
type child struct {
	cmd     *exec.Cmd
	started time.Time
	ended   chan struct{}
	signals chan os.Signal
	usage   snapshot.Usage
}

// follower witnesses threads that it is given, and their descendants.
type follower interface {
	Follow(tid uint32) error
	Unfollow(tid uint32) error
}

// startChild runs a command with our own streams, followed from its first instruction on.
// From then on it is the command that signals are for.
func startChild(witness follower, argv []string, io streams, end *ending) (*child, error) {
	c := &child{cmd: exec.Command(argv[0], argv[1:]...), ended: make(chan struct{})}
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = io.in, io.out, io.err
	c.usage.Command = argv
	// From before it starts, so that none ends us and leaves it alone.
	c.signals = make(chan os.Signal, 16)
	signal.Notify(c.signals, slices.DeleteFunc(slices.Clone(passedOn), signal.Ignored)...) // which the command ignores too
	end.leave()
	if end.asked.Load() {
		return nil, end.early()
	}
	// The library tries once, by a child of its own, how children are waited for: that is not the command's.
	_, _ = os.FindProcess(os.Getpid())
	// The child inherits its place from the thread that makes it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	tid := uint32(unix.Gettid())
	if err := witness.Follow(tid); err != nil {
		return nil, err
	}
	c.started = time.Now()
	err := c.cmd.Start()
	if err := witness.Unfollow(tid); err != nil {
		return nil, err
	}
	if err != nil {
		signal.Stop(c.signals)
		return nil, cannotRun(argv[0], err)
	}
	return c, nil
}

// comm is the name that the kernel gives the command's first thread.
func (c *child) comm() string {
	name := filepath.Base(c.cmd.Path)
	return name[:min(len(name), commBytes)]
}

func cannotRun(name string, err error) error {
	if name == "" || errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return cannotRunError{fmt.Errorf("%q: command not found", name), exitNotFound}
	}
	return cannotRunError{fmt.Errorf("%q cannot be run: %w", name, errors.Unwrap(err)), exitCannotRun}
}

// ends makes a run end with the command, and gives what waits for its status.
func (c *child) ends(end *ending) func() error {
	go c.wait(func() { end.ask(nil) })
	return func() error { return c.outlive(nil) }
}

// wait waits for the end, passing on signals meanwhile, and then calls done.
func (c *child) wait(done func()) {
	defer signal.Stop(c.signals)
	waited := make(chan error, 1)
	go func() { waited <- c.cmd.Wait() }()
	for {
		select {
		case <-waited:
			c.measure()
			close(c.ended)
			done()
			return
		case sig := <-c.signals:
			c.pass(sig)
		}
	}
}

// pass hands a signal on. What the terminal sends for a key it has sent to the
// command too.
func (c *child) pass(sig os.Signal) {
	if (sig == syscall.SIGINT || sig == syscall.SIGQUIT) && inForeground() {
		return
	}
	_ = c.cmd.Process.Signal(sig)
}

// inForeground says whether a terminal's keys reach our process group.
func inForeground() bool {
	tty, err := os.OpenFile("/dev/tty", os.O_RDONLY|unix.O_NOCTTY, 0)
	if err != nil {
		return false
	}
	defer tty.Close()
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && term.IsTerminal(int(tty.Fd())) && group == unix.Getpgrp()
}

func (c *child) measure() {
	state := c.cmd.ProcessState
	c.usage.Real = time.Since(c.started)
	c.usage.User, c.usage.Sys = state.UserTime(), state.SystemTime()
	if u, ok := state.SysUsage().(*syscall.Rusage); ok {
		c.usage.MinorFaults, c.usage.MajorFaults = uint64(u.Minflt), uint64(u.Majflt)
	}
	c.usage.ExitCode = state.ExitCode()
	if status := state.Sys().(syscall.WaitStatus); status.Signaled() {
		c.usage.ExitCode = exitSignal + int(status.Signal())
		c.usage.Signal = unix.SignalName(status.Signal())
	}
}

// outlive lets the command end by itself, also where we have failed: it gives its status, and says why we did.
func (c *child) outlive(err error) error {
	<-c.ended
	return errors.Join(err, exitStatus(c.usage.ExitCode))
}
