// SPDX-License-Identifier: Apache-2.0

// Command run runs packages' tests on real kernels in virtual machines:
//
//	go run ./lab/run [--kernel LINE]... [--require LINE]... [--run REGEXP] [--short] [--facts FILE] PACKAGE...
//
// It ends with a list of what was run on which kernel, and what was not.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/iowitness/iowitness/lab/kernels"
	"github.com/iowitness/iowitness/lab/vm"
)

type list []string

func (l *list) String() string { return strings.Join(*l, ",") }

func (l *list) Set(s string) error {
	*l = append(*l, strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' })...)
	return nil
}

type options struct {
	kernels, require, packages, cmdline list
	tools                               list
	run, skip, logs, facts              string
	timeout                             time.Duration
	quiet, short, instructions          bool
}

func main() {
	var o options
	flag.Var(&o.kernels, "kernel", "line of kernels, such as 6.1; all lines if none is named")
	flag.Var(&o.require, "require", "line that must be served: fail without it")
	flag.Var(&o.cmdline, "cmdline", "words for the kernel's command line")
	flag.Var(&o.tools, "tool", "program of this machine that tests run, beside those that guests always have")
	flag.BoolVar(&o.instructions, "instructions", false, "emulate, with a clock that counts the guest's instructions: 1 ns each")
	flag.StringVar(&o.run, "run", "", "only tests that match, as of go test")
	flag.StringVar(&o.skip, "skip", "", "not the tests that match, as of go test")
	flag.BoolVar(&o.short, "short", false, "smaller workloads, as of go test")
	flag.StringVar(&o.facts, "facts", "", "file to write what the tests measured to")
	flag.DurationVar(&o.timeout, "timeout", 15*time.Minute, "of one guest")
	flag.StringVar(&o.logs, "logs", "", "directory in which to keep the kernels' messages")
	flag.BoolVar(&o.quiet, "quiet", false, "show the output of failed guests only")
	flag.Parse()
	o.packages = flag.Args()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ok, err := run(ctx, &o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "lab:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

func run(ctx context.Context, o *options) (ok bool, err error) {
	if len(o.packages) == 0 {
		o.packages = list{"./..."}
	}
	work, err := os.MkdirTemp("", "iowitness-lab")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(work)
	built, err := build(ctx, work, o)
	if err != nil {
		return false, err
	}
	lines := kernels.Lines
	if len(o.kernels) > 0 {
		lines = nil
		for _, k := range o.kernels {
			lines = append(lines, kernels.Line(k))
		}
	}
	found, missing, err := fetch(lines)
	if err != nil {
		return false, err
	}
	accel := ""
	ok = true
	var outcomes []outcome
	for _, k := range found {
		if o.instructions {
			accel = "icount"
		}
		if accel == "" {
			accel = vm.Accelerator(ctx, *built.machine(k, "", nil, nil))
		}
		r := built.boot(ctx, o, k, accel)
		ok = ok && r.ok()
		outcomes = append(outcomes, r)
	}
	for line, err := range missing {
		required := slices.Contains(o.require, string(line))
		ok = ok && !required
		outcomes = append(outcomes, outcome{line: line, err: err, skipped: !required})
	}
	summary(os.Stdout, outcomes, accel)
	if o.facts != "" {
		err = writeFacts(o.facts, outcomes, accel)
	}
	return ok, err
}

// fetch unpacks kernels; those that the mirror does not serve are told apart.
func fetch(lines []kernels.Line) (found []*kernels.Kernel, missing map[kernels.Line]error, err error) {
	dir, err := kernels.DefaultDir()
	if err != nil {
		return nil, nil, err
	}
	store, err := kernels.Open(dir)
	if err != nil {
		return nil, nil, err
	}
	defer store.Close()
	missing = map[kernels.Line]error{}
	for _, line := range lines {
		k, err := store.Fetch(line)
		if err != nil {
			missing[line] = err
			continue
		}
		found = append(found, k)
	}
	return found, missing, nil
}

// boot runs the tests on a kernel; a guest that does not come up is tried once more.
func (b *built) boot(ctx context.Context, o *options, k *kernels.Kernel, accel string) outcome {
	r := outcome{line: k.Line, kernel: k}
	module, others, err := buildModules(ctx, k)
	if err != nil {
		r.err = err
		return r
	}
	began := time.Now()
	for try := 0; try < 2; try++ {
		m := b.machine(k, module, others, o.cmdline)
		m.Accel, m.Tools = accel, o.tools
		if o.instructions {
			m.Accel, m.Counted, m.CPUs = "tcg", true, 1 // a second one never starts by that clock
		}
		if len(o.tools) > 0 {
			m.MemMiB += 1024 // they may come with a compiler
		}
		ctx, cancel := context.WithTimeout(ctx, o.timeout)
		out := &prefixed{line: string(k.Line), to: os.Stdout, hold: o.quiet}
		r.outcome, r.err = m.Run(ctx, out)
		cancel()
		if r.err == nil || !errors.Is(r.err, vm.ErrBoot) {
			if !r.ok() {
				out.release()
			}
			break
		}
		fmt.Printf("%s: %v: once more\n", k.Line, r.err)
	}
	r.seconds = time.Since(began).Seconds()
	if o.logs != "" && r.outcome != nil {
		r.err = errors.Join(r.err, os.WriteFile(filepath.Join(o.logs, string(k.Line)+".log"), r.outcome.Log, 0o644))
	}
	return r
}
