// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"path/filepath"
	"syscall"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// measureProfiles is measureCost for what sees each switch of threads.
func measureProfiles(ctx context.Context, b *bench) (*section, error) {
	const offcpu, offcputime, runqlat = nameOurs + " offcpu", "offcputime", "runqlat"
	with := func(verb string, args ...string) contender {
		c := contender{name: nameOurs + " " + verb, argv: append([]string{b.iowitness, verb, "--json", "-o", "/dev/null", "--max-cost", "0"}, args...)}
		for _, arg := range args {
			c.name += " " + arg
		}
		return c
	}
	var all []costReadings
	for _, c := range []contender{
		with("offcpu"), with("offcpu", "--kernel-only"), with("offcpu", "--slower", "1ms", "--kernel-only"), with("runq"),
		{name: offcputime, argv: []string{offcputime}},
		{name: runqlat, argv: []string{runqlat}},
		{name: nameFloor},
	} {
		all = append(all, costReadings{contender: c, time: measure{Unit: "ns"}, runs: measure{Digits: 2}})
	}
	return measureCostOf(ctx, b, all, offcpu, func(time, _ measure, by map[string]costReadings) *bar {
		peer := by[offcputime].time
		if len(peer.Readings) == 0 {
			return nil
		}
		return &bar{"below offcputime", time.median() < peer.median()}
	})
}

// measureSampling compares the CPU time of what samples all CPUs, program and kernel side together.
func measureSampling(ctx context.Context, b *bench) (*section, error) {
	s := &section{Columns: []string{"program, of one CPU", "its BPF programs", "a sample"}}
	load, err := startCPULoad(ctx, b)
	if err != nil {
		return s, err
	}
	defer load.interrupt(fioEnds)
	statistics, err := ebpf.EnableStats(unix.BPF_STATS_RUN_TIME)
	if err != nil {
		return s, fmt.Errorf("BPF statistics: %w", err)
	}
	defer statistics.Close()
	data := filepath.Join(b.scratch, "perf.data")
	for _, c := range []contender{
		{name: nameOurs + " cpu", argv: []string{b.iowitness, "cpu", "--json", "-o", "/dev/null", "--event", "cpu-clock", "--max-cost", "0"}},
		{name: "perf record -g", argv: []string{"perf", "record", "-q", "-a", "-g", "-F", "99", "-e", "cpu-clock", "-o", data}},
	} {
		if err := samplingRow(ctx, b, s, c); err != nil {
			s.note("%s: %v", c.name, err)
		}
	}
	s.note("99 samples of each CPU a second, with the stacks of kernel and program; iowitness names functions meanwhile, perf does so afterwards, and what perf does in the kernel for a sample is not in these figures")
	return s, nil
}

// samplingFor is the length of a reading of what comes 99 times a second.
const samplingFor = 10 * time.Second

func samplingRow(ctx context.Context, b *bench, s *section, c contender) error {
	p := newChild(syscall.SIGKILL, c.argv...)
	if err := p.start(); err != nil {
		return err
	}
	defer p.interrupt(toolEnds)
	if err := pause(ctx, settle); err != nil {
		return err
	}
	m, err := openMeter(heldPrograms(p.pid()))
	if err != nil {
		return err
	}
	defer m.close()
	before, err := processClock(p.pid())
	if err != nil {
		return err
	}
	_, ran, runs, err := window(ctx, b.device, m, samplingFor)
	if err != nil {
		return err
	}
	after, err := processClock(p.pid())
	if err != nil {
		return err
	}
	own := one(100*float64(after-before)/float64(samplingFor), "%", 2)
	if runs == 0 {
		s.add(c.name, nil, own)
		return nil
	}
	s.add(c.name, nil, own, one(100*float64(ran)/float64(samplingFor), "%", 2), one(float64(ran)/float64(runs), "ns", 0))
	return nil
}
