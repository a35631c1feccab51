// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/iowitness/iowitness/event"
	"github.com/iowitness/iowitness/probe"
)

// profileFlags are those of cpu, offcpu and runq alike.
type profileFlags struct {
	For      time.Duration `help:"Watch for this long, then print one report." placeholder:"10s"`
	Interval time.Duration `type:"interval" help:"Length of an interval of the live view." placeholder:"1s"`
	Pid      []uint32      `help:"Only these processes."`
	Comm     string        `help:"Only threads of this name." placeholder:"NAME"`
	Cgroup   string        `help:"Only threads in this cgroup or below." placeholder:"PATH"`
	Top      *int          `type:"rows" help:"Show this many rows of each table (0: all)." placeholder:"N"`

	Flame    string `help:"Write a flame graph of all that was seen to this file, .html or .svg." placeholder:"FILE"`
	Folded   bool   `help:"Print folded stacks, for flame graph tools, in place of the report."`
	Pprof    string `help:"Write a profile for pprof to this file." placeholder:"FILE"`
	Json     bool   `help:"Print JSON: one document for each interval."`
	Schema   bool   `help:"Print the JSON schema of the documents, and watch nothing."`
	Markdown bool   `help:"Print the page that describes the documents, and watch nothing." hidden:""`
	Output   string `short:"o" help:"Write to this file instead." placeholder:"FILE"`

	MaxCost     float64       `type:"percent" help:"Percent of one CPU that witnessing may cost before it leaves out stacks, then detaches; 0: no limit." default:"5" placeholder:"PERCENT"`
	MaxTime     time.Duration `help:"End by itself after this long, whatever happens." placeholder:"10m"`
	Btf         string        `help:"File with the kernel's BTF, where the kernel does not offer it." placeholder:"FILE"`
	IncludeSelf bool          `help:"Also show iowitness itself."`

	command []string // after "--"
}

func (f *profileFlags) take(command []string) error {
	f.command = command
	return nil
}

// writable makes a file that is to be written at the end, so that what hinders that is said at once.
func writable(file string) error {
	if file == "" {
		return nil
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	return f.Close()
}

// validate checks what the flags' types cannot say.
func (f *profileFlags) validate() error {
	switch {
	case f.Folded && f.Json:
		return errors.New("--folded and --json: choose one")
	case f.Pprof == "-":
		return errors.New("--pprof: name a file")
	case f.Flame != "" && !slices.Contains([]string{".html", ".svg"}, filepath.Ext(f.Flame)):
		return fmt.Errorf("--flame: %q ends neither in .html nor in .svg", f.Flame)
	}
	return f.differ()
}

// differ says whether each output has a file of its own.
func (f *profileFlags) differ() error {
	by := map[string]string{}
	for _, output := range []struct{ flag, file string }{{"--output", f.Output}, {"--flame", f.Flame}, {"--pprof", f.Pprof}} {
		if output.file == "" {
			continue
		}
		file := filepath.Clean(output.file)
		if other := by[file]; other != "" {
			return fmt.Errorf("%s and %s: both would write to %q", other, output.flag, output.file)
		}
		by[file] = output.flag
	}
	return nil
}

// options are what the kernel side filters, in words too, and what there is to say of it.
func (f *profileFlags) options() (o probe.ProfileOptions, scope string, notes []string, err error) {
	o = probe.ProfileOptions{
		PIDs: f.Pid, Comm: f.Comm, IncludeSelf: f.IncludeSelf, Silence: defaultSilent, BTF: f.Btf, Follow: f.command != nil,
	}
	var scopes []string
	if f.command != nil {
		scopes = append(scopes, fmt.Sprintf("the command %s and its children", f.command[0]))
	}
	if o.Cgroup, err = findCgroup("/", f.Cgroup); err != nil {
		return o, "", nil, err
	}
	scopes = append(scopes, whose(f.Pid, f.Comm, f.Cgroup, false)...)
	return o, strings.Join(scopes, ", "), cutName(f.Comm), nil
}

// cpuCmd samples what runs.
type cpuCmd struct {
	profileFlags
	Frequency  uint32 `short:"F" help:"Samples of each CPU a second, from 1 to 1000. Odd numbers do not keep step with what happens in round ones." default:"99" placeholder:"HZ"`
	Event      string `help:"What samples come by: cpu-clock, a timer; or cycles, the CPU's own counter. Default: cycles where the CPU has it." placeholder:"EVENT"`
	KernelOnly bool   `help:"Take no stacks of programs."`
}

// Validate checks what the flags' types cannot say.
func (c *cpuCmd) Validate() error {
	if c.Frequency < 1 || c.Frequency > 1000 {
		return fmt.Errorf("--frequency: must be from 1 to 1000 samples a second, not %d", c.Frequency)
	}
	if c.Event != "" {
		if err := oneOf("--event", c.Event, "cpu-clock", "cycles"); err != nil {
			return err
		}
	}
	return c.validate()
}

// Run samples until it is told to end.
func (c *cpuCmd) Run(s *streams) error {
	return c.run(s, probe.ProfileCPU, func(o *probe.ProfileOptions) {
		o.Frequency, o.Event, o.KernelOnly = c.Frequency, c.Event, c.KernelOnly
	})
}

// offcpuCmd tells time off the CPU.
type offcpuCmd struct {
	profileFlags
	Slower        time.Duration `aliases:"min" help:"Leave out times that are shorter; also --min. Their stacks need not be taken, which saves most of the cost." placeholder:"1ms"`
	State         []string      `help:"Only threads that left their CPU so: sleeping (can be interrupted), blocked (cannot), stopped, idle, preempted." placeholder:"STATE"`
	KernelThreads bool          `help:"Also kernel threads that sleep for want of work."`
	KernelOnly    bool          `help:"Take no stacks of programs."`
	Via           string        `help:"Witness only by this means: tp_btf, raw_tp or tp." placeholder:"MEANS"`

	via    probe.Means
	states uint32
}

// Validate checks what the flags' types cannot say.
func (c *offcpuCmd) Validate() (err error) {
	c.states = 0
	for _, name := range c.State {
		state, err := choose("--state: no state", name, event.OffSleeps, event.OffStates-1)
		if err != nil {
			return err
		}
		c.states |= 1 << state
	}
	if c.via, err = parseVia(c.Via, probe.ParseMeans); err != nil {
		return err
	}
	return c.validate()
}

// Run watches until it is told to end.
func (c *offcpuCmd) Run(s *streams) error {
	return c.run(s, probe.ProfileOffCPU, func(o *probe.ProfileOptions) {
		o.Least, o.States, o.Threads, o.KernelOnly, o.Via = c.Slower, c.states, c.KernelThreads, c.KernelOnly, c.via
	})
}

// runqCmd tells waits for a CPU.
type runqCmd struct {
	profileFlags
	Slower time.Duration `aliases:"min" help:"Tell waits this long one by one, with what ran meanwhile; also --min." default:"10ms"`
	Via    string        `help:"Witness only by this means: tp_btf, raw_tp or tp." placeholder:"MEANS"`

	via probe.Means
}

// Validate checks what the flags' types cannot say.
func (c *runqCmd) Validate() (err error) {
	if c.via, err = parseVia(c.Via, probe.ParseMeans); err != nil {
		return err
	}
	return c.validate()
}

// Run watches until it is told to end.
func (c *runqCmd) Run(s *streams) error {
	return c.run(s, probe.ProfileRunQ, func(o *probe.ProfileOptions) { o.Long, o.Via = c.Slower, c.via })
}

// profileMemory takes the place of memoryLimit: symbols and stacks need more.
const profileMemory = 128 << 20

// run profiles until it is told to end.
func (f *profileFlags) run(s *streams, kind probe.ProfileKind, more func(*probe.ProfileOptions)) error {
	debug.SetMemoryLimit(profileMemory)
	if done, err := f.describe(s, kind); done {
		return err
	}
	o, scope, notes, err := f.options()
	if err != nil {
		return err
	}
	more(&o)
	var view profileView
	return runSession(s, f.Output, f.command != nil, func(out *os.File, _ *ending) (*profileSession, error) {
		for _, file := range []string{f.Flame, f.Pprof} {
			if err := writable(file); err != nil {
				return nil, err
			}
		}
		session, err := openProfile(kind, o, f.MaxCost)
		if err != nil {
			return nil, err
		}
		session.scope, session.notes, session.aside = scope, notes, s.err
		view = f.newView(out, session)
		return session, nil
	}, func(session *profileSession, s *streams, end *ending) error {
		if f.command != nil {
			return f.follow(s, session, view, end)
		}
		return f.watch(session, view, end)
	})
}
