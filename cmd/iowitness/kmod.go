// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/iowitness/iowitness/cmd/iowitness/signals"
	"github.com/iowitness/iowitness/kmod"
)

// kmodCmd builds and handles the kernel module, for kernels where BPF cannot witness waits.
type kmodCmd struct {
	Build  kmodBuildCmd  `cmd:"" help:"Build the module for a kernel, from the source in this program."`
	Load   kmodLoadCmd   `cmd:"" help:"Load the built module: from then on it counts."`
	Unload kmodUnloadCmd `cmd:"" help:"Unload the module."`
	Status kmodStatusCmd `cmd:"" help:"Say whether the module is loaded, how it is set and what it lost, or why it cannot be used."`
}

type kmodBuildCmd struct {
	Release string `help:"Of the kernel; default: the running one." placeholder:"RELEASE"`
	Headers string `help:"Directory of the kernel's build files; default: /lib/modules/RELEASE/build." placeholder:"DIR"`
	Cc      string `help:"C compiler; default: the one that built the kernel, else gcc." placeholder:"NAME"`
	Output  string `short:"o" help:"File to write; default: where load looks for it." placeholder:"FILE"`
	Source  string `help:"Only write the source into this directory." placeholder:"DIR"`
	Verbose bool   `help:"Show what make prints."`
}

// Run builds and prints the file's path.
func (c *kmodBuildCmd) Run(s *streams) error {
	if c.Source != "" {
		return kmod.WriteSource(c.Source)
	}
	ctx, stop := context.WithCancelCause(context.Background())
	defer stop(nil)
	asked := make(chan os.Signal, 1)
	signals.Take(asked)
	go func() {
		ended := exitStatus(signals.Ended(<-asked))
		signals.Leave()
		stop(ended)
	}()
	var log io.Writer
	if c.Verbose {
		log = s.err
	}
	path, err := kmod.Build(ctx, kmod.Options{Release: c.Release, Headers: c.Headers, CC: c.Cc, Out: c.Output, Log: log})
	if ended := context.Cause(ctx); ended != nil {
		return ended
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(s.out, path)
	return err
}

type kmodLoadCmd struct {
	File      string        `arg:"" optional:"" help:"The built module; default: where build puts it."`
	MaxActive uint32        `name:"maxactive" help:"Threads that may sleep in a probed function at once; default: by the number of threads and CPUs." placeholder:"N"`
	Processes uint32        `help:"Places in the table of processes; default 4096." placeholder:"N"`
	Probes    []string      `help:"Further functions to probe, such as jbd2_log_wait_commit." placeholder:"NAME"`
	Heartbeat time.Duration `help:"Do nothing unless a program reads at least this often." placeholder:"3s"`
	Ratio     uint32        `type:"ratio" help:"Take one wait in so many." placeholder:"1/16"`
	Duty      duty          `type:"duty" help:"Look for a part of the time only: time on / cycle." placeholder:"1s/5s"`
	Closed    bool          `help:"Do not look before the gate is opened."`
}

// Validate checks what the flags' types cannot say.
func (c *kmodLoadCmd) Validate() error {
	if c.Heartbeat > 0 && c.Heartbeat < 100*time.Millisecond {
		return fmt.Errorf("--heartbeat: must be at least 100ms")
	}
	return nil
}

// Run loads the module.
func (c *kmodLoadCmd) Run() error {
	if c.File == "" {
		release, err := kmod.RunningRelease()
		if err != nil {
			return err
		}
		c.File = kmod.DefaultPath(release)
	}
	return kmod.Load(c.File, kmod.Params{
		MaxActive: c.MaxActive, Processes: c.Processes, Probes: c.Probes, Heartbeat: c.Heartbeat, Ratio: c.Ratio,
		DutyOn: c.Duty.on, DutyEvery: c.Duty.every, GateClosed: c.Closed,
	})
}

type kmodUnloadCmd struct {
	Wait time.Duration `type:"wait" help:"Wait this long while a program still reads." default:"5s"`
}

// Run unloads the module.
func (c *kmodUnloadCmd) Run() error { return kmod.Unload(c.Wait) }

type kmodStatusCmd struct {
	Json bool `help:"Print a JSON document."`
}

// Run prints the status. Exit status 0: it is loaded, 1: it is not, 3: it cannot be.
func (c *kmodStatusCmd) Run(s *streams) error {
	status, err := gatherKmodStatus("/")
	if err != nil {
		return err
	}
	write := status.text
	if c.Json {
		write = status.json
	}
	if err := write(s.out); err != nil {
		return err
	}
	switch {
	case status.Loaded:
		return nil
	case len(status.Obstacles) > 0:
		return exitStatus(exitUnsupported)
	}
	return exitStatus(exitError)
}
