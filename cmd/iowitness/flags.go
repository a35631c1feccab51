// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/iowitness/iowitness/blame"
	"github.com/iowitness/iowitness/probe"
	"github.com/iowitness/iowitness/snapshot"
)

type cli struct {
	Watch   watchCmd   `cmd:"" default:"withargs" help:"Show who waits for I/O, live or as a report; with -- COMMAND, around a command."`
	Block   blockCmd   `cmd:"" help:"List block requests, or sum them up: whose they are, for which file, how long they were queued and in the device."`
	Calls   callsCmd   `cmd:"" help:"Show calls of a kernel function with the calls that they make, as trees with arguments, results and times."`
	Causes  causesCmd  `cmd:"" help:"List the causes of waiting, what they mean and what to do next."`
	Cleanup cleanupCmd `cmd:"" help:"Remove what killed runs have left in the kernel's tracing file system."`
	Doctor  doctorCmd  `cmd:"" help:"Say which means of witnessing work on this host, and why others do not."`
	Cpu     cpuCmd     `cmd:"" help:"Show what runs, by samples of all CPUs: functions, callers, processes; and CPUs that cannot be interrupted."`
	Errors  errorsCmd  `cmd:"" help:"Show system calls that failed, which kernel function first returned the error, and who sent a fatal signal."`
	Fs      fsCmd      `cmd:"" help:"Show what calls to file systems take, by file and process, and where the time of an fsync goes."`
	Func    funcCmd    `cmd:"" help:"Measure calls of any kernel function: count, time, histogram, by arguments and results, or each call by itself."`
	List    listCmd    `cmd:"" help:"List the functions and tracepoints that can be probed here, how, with their arguments, or why not."`
	Kmod    kmodCmd    `cmd:"" help:"Build, load, unload or look at the kernel module, for kernels where BPF cannot do it."`
	Offcpu  offcpuCmd  `cmd:"" help:"Show where threads are off their CPU, for how long, and who wakes them."`
	Runq    runqCmd    `cmd:"" help:"Show how long threads that could run wait for a CPU, who woke them, and what ran meanwhile."`
	Fields  fieldsCmd  `cmd:"" help:"List the fields of all views, or print the JSON schema."`

	Version bool `short:"V" help:"Print the version."`
}

// watchCmd is the main job.
type watchCmd struct {
	For      time.Duration `help:"Watch for this long, then print one report." placeholder:"10s"`
	Interval time.Duration `type:"interval" help:"Length of an interval of the live view." placeholder:"1s"`

	By     []string      `help:"Group by: ${keys} (one or more)." placeholder:"process"`
	Pid    []uint32      `help:"Only these processes."`
	Comm   string        `help:"Only threads of this name." placeholder:"NAME"`
	Cgroup string        `help:"Only threads in this cgroup or below." placeholder:"PATH"`
	User   []string      `help:"Only processes of these users." placeholder:"NAME"`
	Cause  []string      `help:"Only waits of these causes; see: iowitness causes." placeholder:"ID"`
	Min    time.Duration `aliases:"slower" help:"Leave out waits that are shorter; also --slower." placeholder:"1ms"`
	Top    *int          `type:"rows" help:"Show this many rows (0: all)." placeholder:"N"`

	Stacks    bool     `help:"Show the kernel stacks behind each row."`
	Histogram bool     `help:"Show a histogram of each row's waits."`
	Columns   []string `help:"Show these fields too, such as exe and cwd; see: iowitness fields." placeholder:"FIELD"`
	Json      bool     `help:"Print JSON: one document for each interval."`
	Schema    bool     `help:"Print the JSON schema of the documents, and watch nothing."`
	Output    string   `short:"o" help:"Write to this file instead." placeholder:"FILE"`

	Duty    duty          `type:"duty" help:"Witness only for some of the time: on for the first of every second." placeholder:"1s/5s"`
	Ratio   uint32        `type:"ratio" help:"Measure only one in this many waits at all." default:"1" placeholder:"1/16"`
	MaxCost float64       `type:"percent" help:"Percent of one CPU that witnessing may cost before it sheds detail, then samples, then detaches; 0: no limit." default:"5" placeholder:"PERCENT"`
	MaxTime time.Duration `help:"End by itself after this long, whatever happens." placeholder:"10m"`

	Via         string        `help:"Witness only by this means: ${means}." placeholder:"MEANS"`
	Module      string        `help:"File of the kernel module, for --via kmod; default: where kmod build puts it." placeholder:"FILE"`
	Functions   []string      `help:"Of the functions by whose entry and return waits are seen, where it is done so, only these." placeholder:"NAME"`
	Slow        time.Duration `help:"Take the stack of each wait this long." default:"1ms"`
	Sample      uint32        `type:"ratio" help:"Of the shorter waits, take one stack in this many; default 1/64, of a command's 1/16." placeholder:"1/64"`
	Buffer      uint32        `type:"buffer" help:"KiB of the ring between kernel and program, a power of two." default:"2048"`
	Polls       uint32        `help:"Polls of /proc a second, where no probe may be used (taskstats); fewer where they would cost more than a fifth of --max-cost." default:"20"`
	Btf         string        `help:"File with the kernel's BTF, where the kernel does not offer it." placeholder:"FILE"`
	IncludeSelf bool          `help:"Also show iowitness's own waits."`

	command []string // after "--"
	by      []snapshot.Key
	causes  []blame.Cause
	via     probe.Means
}

func (c *watchCmd) take(command []string) error {
	c.command = command
	if c.Duty.every > 0 {
		return errors.New("--duty: a command is witnessed all of its time")
	}
	return nil
}

// helpShown stands for the end of the program that kong asks for after a help text.
type helpShown struct{}

func (helpShown) Error() string { return "help shown" }

func kongOptions(s streams) []kong.Option {
	return append(quantities(),
		kong.Name("iowitness"),
		kong.Description("Shows who waits for I/O, for how long, on what, and why.\n\n"+
			"  iowitness                    live table\n"+
			"  iowitness --for 10s          one report\n"+
			"  iowitness -- COMMAND ARG…    run a command and tell what it waited for\n"+
			"  iowitness fs /mnt            what reads, writes and fsyncs there take\n"+
			"  iowitness cpu --for 10s      where the CPU goes; offcpu: where it is waited, runq: for it\n"+
			"  iowitness doctor             which means work here, and why others do not\n"+
			"  iowitness causes             list the causes of waiting\n"+
			"  iowitness fields             describe the output; --schema: of --json"),
		kong.Writers(s.out, s.err),
		kong.Exit(func(int) { panic(helpShown{}) }),
		kong.Vars{"means": probe.MeansNames(), "keys": strings.Join(snapshot.KeyNames(), ", ")},
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, FlagsLast: true}),
	)
}

// release is set by the build.
var release string

// version is the release, or the module's version.
func version() string {
	if release != "" {
		return release
	}
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "development"
	}
	return info.Main.Version
}

// Validate checks what the flags' types cannot say, and reads names.
func (c *watchCmd) Validate() error {
	if c.Duty.every > 0 && c.Interval != 0 {
		return errors.New("--duty: each cycle is an interval of its own, so it does not go with --interval")
	}
	for _, name := range c.Functions {
		if err := probe.CheckFunction(name); err != nil {
			return fmt.Errorf("--functions: %w", err)
		}
	}
	if c.Polls < 1 || c.Polls > 1000 {
		return fmt.Errorf("--polls: must be from 1 to 1000")
	}
	if c.Buffer < 64 {
		return fmt.Errorf("--buffer: must be a power of two from 64K on")
	}
	return c.parseNames()
}

func (c *watchCmd) parseNames() (err error) {
	for _, name := range c.By {
		key, err := snapshot.ParseKey(name)
		if err != nil {
			return fmt.Errorf("--by: %w", err)
		}
		c.by = append(c.by, key)
	}
	for _, id := range c.Cause {
		cause, err := blame.ParseCause(id)
		if err != nil {
			return fmt.Errorf("--cause: %w", err)
		}
		c.causes = append(c.causes, cause)
	}
	c.via, err = parseVia(c.Via, probe.ParseMeans)
	return err
}
