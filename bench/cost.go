// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

const costBar = 800 // ns per I/O

// costReadings are those of one contender.
type costReadings struct {
	contender
	time, runs measure
	failures   int
}

// measureCost reads the kernel's own statistics of each contender's programs
// under the same load, round after round.
func measureCost(ctx context.Context, b *bench) (*section, error) {
	return measureCostOf(ctx, b, costContenders(b.iowitness), nameOurs, costPromise)
}

// measureCostOf compares contenders with one of them, which has something promised.
func measureCostOf(ctx context.Context, b *bench, all []costReadings, own string, promise func(time, perRun measure, all map[string]costReadings) *bar) (*section, error) {
	s := &section{Columns: []string{"in-kernel time per I/O", "runs per I/O", "against iowitness", "less the meter's share"}}
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

	for round := range b.rounds {
		for i := range all {
			c := &all[(i+round)%len(all)] // nobody is always first
			if c.failures == maxFailures {
				continue
			}
			progress("  round %d of %d: %s", round+1, b.rounds, c.name)
			if err := c.measure(ctx, b); err != nil {
				if ctx.Err() != nil {
					return costTable(s, all, b, own, promise), context.Cause(ctx)
				}
				c.failures++
				s.note("%s, a reading failed: %v", c.name, err)
			}
			if err := load.alive(); err != nil {
				return costTable(s, all, b, own, promise), err
			}
		}
	}
	return costTable(s, all, b, own, promise), nil
}

func costContenders(binary string) (all []costReadings) {
	with := func(means string) contender {
		return contender{name: nameOurs + " --via " + means, argv: []string{binary, "--via", means}}
	}
	for _, c := range slices.Concat([]contender{ours(binary), with("raw_tp"), with("tp")}, peers(), []contender{{name: nameFloor}}) {
		all = append(all, costReadings{contender: c, time: measure{Unit: "ns"}, runs: measure{Digits: 2}})
	}
	return all
}

func (c *costReadings) measure(ctx context.Context, b *bench) (err error) {
	r, err := c.start(ctx)
	if err != nil {
		return err
	}
	defer func() {
		if stopped := r.stop(); err == nil {
			err = stopped
		}
	}()
	m, err := openMeter(r.programs)
	if err != nil {
		return err
	}
	defer m.close()
	reads, ran, runs, err := window(ctx, b.device, m, b.window)
	if err != nil {
		return err
	}
	if !slices.Equal(r.held(), r.programs) {
		return fmt.Errorf("its programs were not all there when the reading began")
	}
	if reads == 0 || runs == 0 {
		return fmt.Errorf("%d reads, %d runs of its programs: nothing to measure", reads, runs)
	}
	c.time.add(float64(ran.Nanoseconds()) / float64(reads))
	c.runs.add(float64(runs) / float64(reads))
	return nil
}

// window is what happened in a while.
func window(ctx context.Context, d *loopDevice, m meter, length time.Duration) (reads uint64, ran time.Duration, runs uint64, err error) {
	ran0, runs0, err := m.read()
	if err != nil {
		return 0, 0, 0, err
	}
	reads0, err := d.reads()
	if err != nil {
		return 0, 0, 0, err
	}
	if err := pause(ctx, length); err != nil {
		return 0, 0, 0, err
	}
	if ran, runs, err = m.read(); err != nil {
		return 0, 0, 0, err
	}
	reads, err = d.reads()
	return reads - reads0, ran - ran0, runs - runs0, err
}

func costTable(s *section, all []costReadings, b *bench, own string, promise func(time, perRun measure, all map[string]costReadings) *bar) *section {
	by := map[string]costReadings{}
	for _, c := range all {
		by[c.name] = c
	}
	ours, floor := by[own].time.median(), by[nameFloor]
	perRun := floor.time.median() / floor.runs.median()
	for _, c := range all {
		if len(c.time.Readings) == 0 {
			continue
		}
		var promised *bar
		if c.name == own {
			promised = promise(c.time, one(c.time.median()-c.runs.median()*perRun, "ns", 0), by)
		}
		s.add(c.name, promised, c.time, c.runs, one(c.time.median()/ours, "×", 2), one(c.time.median()-c.runs.median()*perRun, "ns", 0))
	}
	if len(floor.time.Readings) > 0 {
		s.note("the meter adds about %.0f ns to each run, as programs that do nothing show", perRun)
	}
	s.note("fio psync randread, 4 KiB, O_DIRECT, %d jobs, loop device over tmpfs; run time by the kernel's BPF statistics, reads by its disk statistics; "+
		"median (smallest…largest) of %d rounds of %v each", loadJobs, b.rounds, b.window)
	return s
}

func costPromise(time, _ measure, all map[string]costReadings) *bar {
	ours, biolatency := time.median(), all[nameBiolatency].time
	if len(biolatency.Readings) == 0 {
		return &bar{fmt.Sprintf("≤ %d ns (biolatency not measured)", costBar), ours <= costBar}
	}
	return &bar{fmt.Sprintf("≤ %d ns and below biolatency", costBar), ours <= costBar && ours < biolatency.median()}
}
