// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// contender is a tool to measure.
type contender struct {
	name    string
	argv    []string // none: the empty programs
	tracefs bool     // it needs a mounted tracefs
}

const (
	nameOurs       = "iowitness"
	nameBiolatency = "biolatency"
	nameFloor      = "empty programs"
	toolEnds       = 30 * time.Second
	maxFailures    = 2 // then a contender is skipped
)

func ours(binary string) contender { return contender{name: nameOurs, argv: []string{binary}} }

// peers are what a user would run instead.
func peers() []contender {
	return []contender{
		{name: nameBiolatency, argv: []string{"biolatency"}},
		{name: "runqlat", argv: []string{"runqlat"}},
		{name: "offcputime", argv: []string{"offcputime"}},
		{
			name: "bpftrace kstack", tracefs: true,
			argv: []string{"bpftrace", "-e", "tracepoint:sched:sched_switch { @[kstack] = count(); }"},
		},
	}
}

// running is a contender that is attached.
type running struct {
	programs []ebpf.ProgramID
	held     func() []ebpf.ProgramID // now
	stop     func() error
}

// start starts a contender and waits until it is attached.
func (c contender) start(ctx context.Context) (*running, error) {
	if c.argv == nil {
		return startFloor()
	}
	if _, err := exec.LookPath(c.argv[0]); err != nil {
		return nil, errors.New("not installed")
	}
	p, err := c.command()
	if err != nil {
		return nil, err
	}
	if err := p.start(); err != nil {
		return nil, err
	}
	programs, err := awaitPrograms(ctx, p)
	if err != nil {
		p.interrupt(toolEnds)
		return nil, err
	}
	held := func() []ebpf.ProgramID { return heldPrograms(p.pid()) }
	return &running{programs, held, func() error {
		if err := p.alive(); err != nil {
			return fmt.Errorf("too early: %w", err)
		}
		return errors.Join(p.interrupt(toolEnds), awaitGone(programs))
	}}, nil
}

func (c contender) command() (*child, error) {
	if !c.tracefs || tracefsMounted() {
		return newChild(syscall.SIGKILL, c.argv...), nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := newChild(syscall.SIGKILL, append([]string{self, tracefsCommand}, c.argv...)...)
	p.name = c.argv[0]
	p.cmd.SysProcAttr.Unshareflags = unix.CLONE_NEWNS
	return p, nil
}

const (
	tracefsCommand = "with-tracefs"
	tracefsDir     = "/sys/kernel/tracing"
)

func tracefsMounted() bool {
	var fs unix.Statfs_t
	return unix.Statfs(tracefsDir, &fs) == nil && fs.Type == unix.TRACEFS_MAGIC
}

// runWithTracefs mounts tracefs in the mount namespace it was started in, which
// nobody else sees, and becomes the command.
func runWithTracefs(argv []string) error {
	if len(argv) == 0 {
		return usageError{errors.New("no command")}
	}
	if err := unix.Mount("tracefs", tracefsDir, "tracefs", 0, ""); err != nil {
		return fmt.Errorf("mounting tracefs: %w", err)
	}
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return err
	}
	return syscall.Exec(path, argv, os.Environ())
}
