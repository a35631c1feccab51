// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// options are the flags: what to measure, for how long, and how to print it.
type options struct {
	parts     []part
	iowitness string
	dir       string
	mib       int64
	pin       bool

	rounds     int
	pairs      int
	window     time.Duration
	exact      time.Duration
	starts     int
	threads    int
	processes  int
	userWindow time.Duration

	write func(io.Writer, *report) error
}

// usageError is a mistake in the call.
type usageError struct{ error }

func parseOptions(args []string) (*options, error) {
	var o options
	var markdown, json bool
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.StringVar(&o.iowitness, "iowitness", "bin/iowitness", "the `binary` to measure")
	f.StringVar(&o.dir, "dir", "/dev/shm", "tmpfs `directory` for the loop device's file")
	f.Int64Var(&o.mib, "size", 256, "size of the loop device in `MiB`")
	f.BoolVar(&o.pin, "pin", true, "cost, overhead, start: a CPU for each job of the load")
	f.DurationVar(&o.window, "window", 1500*time.Millisecond, "cost, overhead: length of one reading")
	f.IntVar(&o.rounds, "rounds", 5, "cost: readings of each tool")
	f.IntVar(&o.pairs, "pairs", 5, "overhead: pairs of readings, without and with the tool")
	f.DurationVar(&o.exact, "exact", time.Minute, "exact: how long to count")
	f.IntVar(&o.starts, "starts", 10, "start: how often to start")
	f.IntVar(&o.threads, "threads", 10000, "memory: live threads")
	f.IntVar(&o.processes, "processes", 1000, "usercpu: active processes")
	f.DurationVar(&o.userWindow, "usercpu", 20*time.Second, "usercpu: how long to measure")
	f.BoolVar(&markdown, "markdown", false, "print Markdown")
	f.BoolVar(&json, "json", false, "print JSON, with each reading")
	f.Usage = func() { usage(f) }
	if err := f.Parse(args); err != nil {
		if err == flag.ErrHelp {
			return nil, err
		}
		return nil, usageError{err}
	}
	o.write = writer(markdown, json)
	return &o, o.check(f.Args())
}

func writer(markdown, json bool) func(io.Writer, *report) error {
	switch {
	case json:
		return writeJSON
	case markdown:
		return writeMarkdown
	}
	return writeText
}

func usage(f *flag.FlagSet) {
	fmt.Fprintln(f.Output(), "Usage: go run ./bench [flags] [part…]\n\nParts, all by default:")
	for _, p := range allParts {
		fmt.Fprintf(f.Output(), "  %-10s%s\n", p.id, p.title)
	}
	fmt.Fprintln(f.Output(), "\nFlags:")
	f.PrintDefaults()
}

func (o *options) check(parts []string) error {
	if o.rounds < 1 || o.pairs < 1 || o.starts < 1 || o.threads < 1 || o.processes < 1 || o.mib < 16 {
		return usageError{fmt.Errorf("counts must be at least 1, and -size at least 16")}
	}
	if o.window < 100*time.Millisecond || o.exact < 3*time.Second || o.userWindow < time.Second {
		return usageError{fmt.Errorf("too short: -window is at least 100ms, -exact 3s, -usercpu 1s")}
	}
	for _, id := range parts {
		p, ok := partByID(id)
		if !ok {
			return usageError{fmt.Errorf("no part %q: choose of %s", id, strings.Join(partIDs(), ", "))}
		}
		o.parts = append(o.parts, p)
	}
	if len(parts) == 0 {
		o.parts = allParts
	}
	if _, err := os.Stat(o.iowitness); err != nil {
		return fmt.Errorf("no iowitness to measure (%w): run make build, or name it with -iowitness", err)
	}
	if os.Geteuid() != 0 {
		return fmt.Errorf("needs root, for a loop device and for BPF")
	}
	return nil
}
